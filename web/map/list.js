/** The vehicles in view as a table: for the keyboard, for screen readers, and where no map can be drawn. */
import { badge } from "../plain/badge.js";
import { element } from "../plain/dom.js";
import { ageWords, delayWords } from "../plain/words.js";

/** The most rows: a longer table helps nobody. */
const ROWS_MAX = 300;

/**
 * @param {HTMLElement} body  the table's body
 * @param {import("./vehicles.js").Vehicle[]} vehicles
 * @param {(feed: string) => number} nowOf  the time of a feed's data, in seconds
 * @param {(key: string) => void} pick
 * @returns {number} how many are shown
 */
export function showList(body, vehicles, nowOf, pick) {
  const order = new Intl.Collator("en", { numeric: true });
  const headsign = (/** @type {import("./vehicles.js").Vehicle} */ { record }) => record.lineside?.headsign ?? "";
  const sorted = [...vehicles].sort((a, b) => order.compare(a.label, b.label) || order.compare(headsign(a), headsign(b)) || order.compare(a.id, b.id)).slice(0, ROWS_MAX);
  const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  body.replaceChildren(...sorted.map((vehicle) => row(vehicle, nowOf(vehicle.feed), pick)));
  if (focused) /** @type {HTMLElement|null} */ (body.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
  return sorted.length;
}

/** @param {import("./vehicles.js").Vehicle} vehicle @param {number} now @param {(key: string) => void} pick */
function row({ key, id, label, color, record }, now, pick) {
  const join = record.lineside ?? {};
  const { words, tone } = delayWords(join.delay === undefined || join.delay === null ? "scheduled" : "realtime", join.delay);
  return element(
    "tr",
    {},
    element("td", {}, badge(label || "–", color)),
    element("td", {}, element("button.link", { type: "button", "data-key": key, onclick: () => pick(key) }, join.headsign ?? `Vehicle ${record.vehicle?.label ?? id}`)),
    element("td", {}, element(`span.tone-${tone}`, {}, words)),
    element("td", {}, join.next_stop_name ?? ""),
    element("td.end", {}, record.timestamp ? ageWords(now - Number(record.timestamp)) : ""),
  );
}
