/** The catalog: updates states and ages, and applies filters as they change. */
import { DataClock } from "./clock.js";
import { island, replaceContent } from "./dom.js";
import { Events } from "./events.js";
import { connectionSign, pollFeeds, showState } from "./states.js";

/** @type {{now: number, channels: string[], feeds: string[]}} */
const page = island("catalog-data");
const clock = new DataClock(page.now);

/** Delay before the summary is fetched after a state change, and interval without one, in milliseconds. */
const SUMMARY_SOON_MS = 300;
const SUMMARY_MS = 30_000;

/** The state of each feed on the page when the summary was read. @type {Map<string, string>} */
const summarized = new Map();
for (const shown of document.querySelectorAll("[data-state-of]")) summarized.set(shown.getAttribute("data-state-of") ?? "", shown.getAttribute("data-state") ?? "");
/** @type {ReturnType<typeof setTimeout>|undefined} */
let soon;

/** Returns the listed feeds in order, as a string to compare. @param {Document} of */
const listed = (of) => [...of.querySelectorAll("#feeds .feed-name")].map((link) => link.getAttribute("href")).join();

/** Replaces the list if its feeds have changed: with a filter, a feed's state decides whether it is listed. @param {Document} drawn */
function replaceList(drawn) {
  const [list, newList] = [document, drawn].map((it) => it.getElementById("feeds"));
  if (!list || !newList || listed(document) === listed(drawn)) return;
  replaceContent(list, [...newList.childNodes]);
  const { channels, feeds } = JSON.parse(drawn.getElementById("catalog-data")?.textContent ?? "null") ?? page;
  page.feeds.splice(0, page.feeds.length, ...feeds);
  events.follow(channels);
}

/** Fetches the headline, the list and the states to filter by. They depend on all feeds, including those on other pages. */
async function fetchSummary() {
  const reply = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!reply.ok) return;
  const drawn = new DOMParser().parseFromString(await reply.text(), "text/html");
  const [headline, newHeadline] = [document, drawn].map((it) => it.getElementById("feeds-headline"));
  if (headline && newHeadline && headline.innerHTML !== newHeadline.innerHTML) headline.replaceChildren(...newHeadline.childNodes);
  replaceList(drawn);
  const [select, newSelect] = [document, drawn].map((it) => it.querySelector("select#state"));
  if (!(select instanceof HTMLSelectElement) || !newSelect) return;
  const [offered, wanted] = [select, newSelect].map((it) => [...it.querySelectorAll("option")].map((option) => option.value));
  if (offered.join() === wanted.join()) return;
  const chosen = select.value;
  select.replaceChildren(...newSelect.children);
  if (wanted.includes(chosen)) select.value = chosen;
}

/** @param {string} feed @param {string} state */
function noteState(feed, state) {
  if (summarized.get(feed) === state) return;
  summarized.set(feed, state);
  clearTimeout(soon);
  soon = setTimeout(() => fetchSummary().catch(() => {}), SUMMARY_SOON_MS); // the server is unreachable; the status above shows it
}

const events = new Events({
  // The results of a search have no sign of the connection.
  onStatus: document.getElementById("live") ? connectionSign("live") : () => {},
  onChange({ upserts }, message) {
    clock.observe(message.data.at);
    for (const { kind, feed, record } of upserts) {
      if (kind !== "feed") continue;
      showState(feed, record);
      noteState(feed, record.state);
    }
  },
});
events.follow(page.channels);
pollFeeds(page.feeds, clock, noteState);
setInterval(() => {
  if (!document.hidden) fetchSummary().catch(() => {}); // as above
}, SUMMARY_MS);

const form = document.querySelector("form.search");
if (form instanceof HTMLFormElement) {
  for (const field of form.elements) if (field instanceof HTMLSelectElement) field.addEventListener("change", () => form.requestSubmit());
  // Keeps empty parameters out of the address: ?q=tram instead of ?q=tram&format=&theme=…
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field instanceof HTMLSelectElement || field instanceof HTMLInputElement) field.disabled = field.value === "";
  });
  globalThis.addEventListener("pageshow", () => {
    for (const field of form.elements) {
      if (field instanceof HTMLSelectElement || field instanceof HTMLInputElement) field.disabled = false;
      // After Back, the browser restores the choice that led away from this page; the list follows the address.
      if (field instanceof HTMLSelectElement) field.value = [...field.options].find(({ defaultSelected }) => defaultSelected)?.value ?? field.options[0]?.value ?? "";
    }
  });
}
