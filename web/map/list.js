/** The vehicles and rentals in view as a table: for keyboards, screen readers, and browsers that cannot draw the map. */
import { badge } from "../plain/badge.js";
import { element } from "../plain/dom.js";
import { ageWords, countWords, delayWords } from "../plain/words.js";
import { rentalCountWords } from "./regions.js";
import { freeWords, rangeWords, rentalSign, reportedWords, serviceWords, stationName, stationWords, vehicleName } from "./rental.js";

/** Maximum number of rows of vehicles, and of rentals. */
const ROWS_MAX = 300;
const order = new Intl.Collator("en", { numeric: true });

/**
 * @typedef {object} Options
 * @property {(feed: string) => number} nowOf  returns the time of a feed's data, in seconds
 * @property {(feed: string) => import("./rental.js").Types} typesOf  returns the vehicle types of a GBFS system
 * @property {(vehicle: import("./vehicles.js").Vehicle) => boolean} isStale  returns true if a vehicle's position is old
 * @property {(key: string) => void} pick
 */

/** @param {HTMLElement} body  the table's body @param {import("./vehicles.js").Vehicle[]} vehicles @param {Options} options */
export function showList(body, vehicles, options) {
  const headsign = (/** @type {import("./vehicles.js").Vehicle} */ { record }) => record.lineside?.headsign ?? "";
  const sorted = [...vehicles].sort((a, b) => order.compare(a.label, b.label) || order.compare(headsign(a), headsign(b)) || order.compare(a.id, b.id)).slice(0, ROWS_MAX);
  replaceRows(body, sorted.map((vehicle) => row(vehicle, options)));
  // The server's note counts the rows that were just replaced.
  document.getElementById("list-more")?.remove();
}

/** @param {HTMLElement} body  the table's body @param {import("./bikes.js").Rental[]} rentals @param {Options} options */
export const showRentals = (body, rentals, options) => replaceRows(body, rentalRows(rentals, options));

/** @param {HTMLElement} body @param {HTMLElement[]} rows */
function replaceRows(body, rows) {
  const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  body.replaceChildren(...rows);
  if (focused) /** @type {HTMLElement|null} */ (body.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
}

/** Makes the table of stations and free vehicles. */
export function rentalTable() {
  const columns = ["", "Station or vehicle", "Availability", "Status"].map((words) => element("th", { scope: "col" }, words || element("span.visually-hidden", {}, "Kind")));
  const head = element("thead", {}, element("tr", {}, ...columns, element("th.end", { scope: "col" }, "Last report")));
  const table = element("table.list-table.vehicle-list", {}, head, element("tbody"));
  return element("section.rental-list", { id: "rental-list", "aria-labelledby": "rental-title", hidden: true }, element("h2", { id: "rental-title" }, "Stations and free vehicles in view"), element("div.card.scroll", { tabindex: "0", role: "region", "aria-label": "Table of stations and free vehicles" }, table));
}

/**
 * Returns a text such as "34 vehicles, 7 bikes, 12 stations in view, 5 more with old positions", or the number of vehicles
 * without a position if none is in view.
 * @param {{feed: string}[]} vehicles @param {{kind: string}[]} rentals
 * @param {object} context
 * @param {boolean} context.hasNetworks true if vehicles are expected: then zero vehicles are mentioned, too
 * @param {number} [context.unplaced] number of vehicles without a position, in the networks in view
 * @param {boolean} [context.onlyBikes] true if all rental vehicles are bicycles
 * @param {(feed: string) => boolean} [context.isOld] returns true if a feed's positions may be out of date
 */
export function countInView(vehicles, rentals, { hasNetworks, unplaced = 0, onlyBikes = false, isOld = () => false }) {
  const stations = rentals.filter(({ kind }) => kind === "station").length;
  const free = rentals.length - stations;
  const old = vehicles.filter(({ feed }) => isOld(feed)).length;
  const current = vehicles.length - old;
  const rentalWords = [free > 0 ? rentalCountWords(free, onlyBikes) : null, stations > 0 ? countWords(stations, "station", "stations") : null].filter(Boolean);
  if (vehicles.length === 0 && unplaced > 0) {
    const reports = `${countWords(unplaced, "vehicle reports", "vehicles report")} no position`;
    return rentalWords.length > 0 ? `${rentalWords.join(", ")} in view, ${reports}` : reports;
  }
  const isCounted = current > 0 || rentals.length === 0 || hasNetworks;
  const words = isCounted ? [countWords(current, "vehicle", "vehicles"), ...rentalWords] : rentalWords;
  const oldWords = old > 0 ? `, ${old}${current > 0 ? " more" : ""} with ${old === 1 ? "an old position" : "old positions"}` : "";
  return `${words.join(", ")} in view${oldWords}`;
}

/** @param {string} key @param {string} name @param {Options} options */
const button = (key, name, { pick }) => element("button.link", { type: "button", "data-key": key, onclick: () => pick(key) }, name);

/** @param {import("./vehicles.js").Vehicle} vehicle @param {Options} options */
function row(vehicle, options) {
  const { key, feed, id, label, color, record } = vehicle;
  const join = record.lineside ?? {};
  // A vehicle without a delay is not on time: its delay is unknown.
  const { words, tone } = Number.isFinite(join.delay) ? delayWords("realtime", join.delay) : { words: "–", tone: "scheduled" };
  return element(
    options.isStale(vehicle) ? "tr.is-stale" : "tr",
    {},
    element("td", {}, badge(label || "–", color)),
    element("td", {}, button(key, join.headsign ?? `Vehicle ${record.vehicle?.label ?? id}`, options)),
    element("td", {}, element(`span.tone-${tone}`, {}, words)),
    element("td", {}, join.next_stop_name ?? ""),
    element("td.end", {}, record.timestamp ? ageWords(options.nowOf(feed) - Number(record.timestamp)) : ""),
  );
}

/** Returns the rows of stations, sorted by name, and then of free vehicles, sorted by type. @param {import("./bikes.js").Rental[]} rentals @param {Options} options */
function rentalRows(rentals, options) {
  const named = rentals.map((rental) => ({ rental, name: rental.kind === "station" ? stationName(rental) : vehicleName(rental, options.typesOf(rental.feed)) }));
  named.sort((a, b) => order.compare(a.rental.kind, b.rental.kind) || order.compare(a.name, b.name) || order.compare(a.rental.id, b.rental.id));
  return named.slice(0, ROWS_MAX).map(({ rental, name }) => rentalRow(rental, name, options));
}

/** @param {import("./bikes.js").Rental} rental @param {string} name @param {Options} options */
function rentalRow({ key, kind, feed, record }, name, options) {
  const isStation = kind === "station";
  const { words, tone } = isStation ? serviceWords(record) : freeWords(record);
  return element(
    "tr",
    {},
    element("td", {}, rentalSign(), element("span.visually-hidden", {}, isStation ? "Station" : "Free vehicle")),
    element("td", {}, button(key, name, options)),
    element("td", {}, isStation ? stationWords(record, options.typesOf(feed)) : element(`span.tone-${tone}`, {}, words)),
    element("td", {}, isStation ? element(`span.tone-${tone}`, {}, words) : rangeWords(record)),
    element("td.end", {}, reportedWords(record, options.nowOf(feed))),
  );
}
