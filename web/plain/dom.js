/** Helpers that make and update elements. Text is always set as text, never as markup. */

/**
 * @param {string} tag with classes, as `p.soft.small`
 * @param {Record<string, any>} [attributes] `on…` are listeners; null and false are ignored
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length > 0) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/**
 * Returns the address of a trip's page, as crates/lineside-pages/src/trips.rs does. A departure's id ends with
 * `:<start_date>:<start_time>:<stop_sequence>`.
 * @param {string} feed @param {string} trip @param {string} departure
 */
export function tripAddress(feed, trip, departure) {
  const [, date, start] = /:(\d{8}):((?:\d+:\d\d:\d\d)?):\d+$/.exec(departure) ?? [];
  return runAddress(feed, trip, date, start);
}

/**
 * Returns the address of a trip's page on a service date.
 * @param {string} feed @param {string} trip @param {string} [date] `YYYYMMDD` @param {string} [start] start time of a frequency-based trip
 */
export function runAddress(feed, trip, date, start) {
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(date ?? "") ?? [];
  const query = new URLSearchParams();
  if (year) query.set("date", `${year}-${month}-${day}`);
  if (start) query.set("start", start);
  return `/trips/${encodeURIComponent(feed)}/${encodeURIComponent(trip)}${query.size > 0 ? `?${query}` : ""}`;
}

/** Parses the JSON that the server embedded in the page. @param {string} id */
export const island = (id) => JSON.parse(byId(id).textContent ?? "null");

/**
 * Encodes an id as a segment of a channel: `/ + # % : ,`, space and control characters are percent-encoded,
 * everything else is unchanged.
 * @param {string} id
 */
export const encodeSegment = (id) =>
  id.replace(/[\u0000-\u0020/+#%:,\u007f-\u009f]/g, (character) =>
    [...new TextEncoder().encode(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );

/** Replaces content if it differs, and restores the focus. @param {HTMLElement} into @param {Node[]} content */
export function replaceContent(into, content) {
  const made = document.createElement(into.tagName);
  made.append(...content);
  if (made.innerHTML === into.innerHTML) return;
  const nameOf = (/** @type {Element} */ of) => of.id || of.getAttribute("aria-label") || of.getAttribute("href");
  const focused = document.activeElement && into.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  into.replaceChildren(...made.childNodes);
  if (!focused) return;
  const again = [.../** @type {NodeListOf<HTMLElement>} */ (into.querySelectorAll("[id], [aria-label], [href]"))].find((each) => nameOf(each) === focused);
  again?.focus({ preventScroll: true });
}

/** Copies these parameters of the page's address to links. @param {string} selector @param {string[]} names */
export function carryParameters(selector, names) {
  const now = new URL(location.href).searchParams;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(selector))) {
    const to = new URL(link.href);
    for (const name of names) {
      const value = now.get(name);
      if (value) to.searchParams.set(name, value);
      else to.searchParams.delete(name);
    }
    link.href = to.pathname + to.search;
  }
}
