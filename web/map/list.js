/** The vehicles and rentals in view as a table: for keyboards, screen readers, and browsers that cannot draw the map. */
import { badge } from "../plain/badge.js";
import { element } from "../plain/dom.js";
import { ageWords, delayWords } from "../plain/words.js";
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

/**
 * @param {HTMLElement} body  the table's body
 * @param {import("./vehicles.js").Vehicle[]} vehicles
 * @param {import("./bikes.js").Rental[]} rentals  stations and free vehicles, listed after the vehicles
 * @param {Options} options
 */
export function showList(body, vehicles, rentals, options) {
  const headsign = (/** @type {import("./vehicles.js").Vehicle} */ { record }) => record.lineside?.headsign ?? "";
  const sorted = [...vehicles].sort((a, b) => order.compare(a.label, b.label) || order.compare(headsign(a), headsign(b)) || order.compare(a.id, b.id)).slice(0, ROWS_MAX);
  const rows = [...sorted.map((vehicle) => row(vehicle, options)), ...rentalRows(rentals, options)];
  const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  body.replaceChildren(...rows);
  // The server's note counts the rows that were just replaced.
  document.getElementById("list-more")?.remove();
  if (focused) /** @type {HTMLElement|null} */ (body.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
}

/** Sets the titles of the list and of its columns. @param {HTMLElement} list @param {boolean} hasRentals */
export function nameTitle(list, hasRentals) {
  const title = (/** @type {string} */ which, /** @type {string} */ words) => (/** @type {HTMLElement} */ (list.querySelector(which)).textContent = words);
  // The server's title may name a single network, but this list follows the map.
  title("#list-title", hasRentals ? "Vehicles and stations in view" : "Vehicles in view");
  if (!hasRentals) return;
  const columns = { 2: "Destination or station", 3: "Delay or availability", 4: "Next stop or status", 5: "Last report" };
  for (const [at, words] of Object.entries(columns)) title(`th:nth-child(${at})`, words);
}

/**
 * Returns a text such as "34 vehicles, 12 stations in view, 5 more with old positions", or the number of vehicles without a
 * position if none is in view.
 * @param {{feed: string}[]} vehicles @param {{kind: string}[]} rentals
 * @param {object} context
 * @param {boolean} context.hasNetworks true if vehicles are expected: then zero vehicles are mentioned, too
 * @param {number} [context.unplaced] number of vehicles without a position, in the networks in view
 * @param {(feed: string) => boolean} [context.isOld] returns true if a feed's positions may be out of date
 */
export function countWords(vehicles, rentals, { hasNetworks, unplaced = 0, isOld = () => false }) {
  const count = (/** @type {number} */ n, /** @type {string} */ what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const stations = rentals.filter(({ kind }) => kind === "station").length;
  const old = vehicles.filter(({ feed }) => isOld(feed)).length;
  const others = vehicles.length - old + rentals.length - stations;
  if (others + old === 0 && unplaced > 0) {
    const reports = `${count(unplaced, "vehicle")} ${unplaced === 1 ? "reports" : "report"} no position`;
    return stations > 0 ? `${count(stations, "station")} in view, ${reports}` : reports;
  }
  const words = [others > 0 || stations === 0 || hasNetworks ? count(others, "vehicle") : null, stations > 0 ? count(stations, "station") : null];
  const oldWords = old > 0 ? `, ${old}${others > 0 ? " more" : ""} with ${old === 1 ? "an old position" : "old positions"}` : "";
  return `${words.filter(Boolean).join(", ")} in view${oldWords}`;
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
