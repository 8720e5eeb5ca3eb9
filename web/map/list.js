/** The vehicles and rentals in view as a table: for keyboards, screen readers, and browsers that cannot draw the map. */
import { badge } from "../plain/badge.js";
import { element } from "../plain/dom.js";
import { ageOrDateWords, countWords, delayWords } from "../plain/words.js";
import { oldWords, rentalCountWords, unplacedWords } from "./regions.js";
import { freeWords, rangeWords, rentalSign, reportedWords, serviceWords, stationName, stationWords, vehicleName } from "./rental.js";
import { routeAddress } from "./view.js";

/** Maximum number of rows of vehicles, and of rentals. */
const ROWS_MAX = 300;
const order = new Intl.Collator("en", { numeric: true });

/**
 * @typedef {object} Options
 * @property {(feed: string) => number} nowOf  returns the time of a feed's data, in seconds
 * @property {(feed: string) => string|undefined} networkOf  returns the id of a feed's network
 * @property {(feed: string) => string} timezoneOf  returns the timezone of a feed's network
 * @property {(feed: string) => import("./rental.js").Types} typesOf  returns the vehicle types of a GBFS system
 * @property {(vehicle: import("./vehicles.js").Vehicle) => boolean} isStale  returns true if a vehicle's position is old
 * @property {(key: string) => void} pick
 */

/** @param {HTMLElement} body  the table's body @param {import("./vehicles.js").Vehicle[]} vehicles @param {Options} options */
export function showList(body, vehicles, options) {
  const headsign = (/** @type {import("./vehicles.js").Vehicle} */ { record }) => record.lineside?.headsign ?? "";
  const sorted = [...vehicles].sort((a, b) => order.compare(a.label, b.label) || order.compare(headsign(a), headsign(b)) || order.compare(a.id, b.id)).slice(0, ROWS_MAX);
  replaceRows(body, hideEmptyColumns(body, sorted.map((vehicle) => row(vehicle, options)), [DELAY_CELL, NEXT_STOP_CELL]));
  // The server's note counts the rows that were just replaced.
  document.getElementById("list-more")?.remove();
}

/** @param {HTMLElement} body  the table's body @param {import("./bikes.js").Rental[]} rentals @param {Options} options */
export const showRentals = (body, rentals, options) => replaceRows(body, rentalRows(rentals, options));

/** @param {HTMLElement} body @param {HTMLElement[]} rows */
function replaceRows(body, rows) {
  // Unchanged rows are not replaced, so that a click never misses them.
  if (body.innerHTML === rows.map(({ outerHTML }) => outerHTML).join("")) return;
  const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  body.replaceChildren(...rows);
  if (focused) /** @type {HTMLElement|null} */ (body.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
}

/** Places of the delay and the next stop in a row of vehicles. */
const DELAY_CELL = 2;
const NEXT_STOP_CELL = 3;

/**
 * Hides the columns in which no row has a value.
 * @param {HTMLElement} body the table's body @param {any[]} rows @param {number[]} columns
 */
function hideEmptyColumns(body, rows, columns) {
  const table = /** @type {HTMLTableElement} */ (body.parentElement);
  for (const column of columns) {
    const isEmpty = rows.every((row) => ["", NO_VALUE].includes(row.cells[column].textContent));
    for (const row of [...table.rows, ...rows]) row.cells[column].hidden = isEmpty;
  }
  return rows;
}

/** The text of a cell without a value in a column that has values. */
const NO_VALUE = "–";

/** Makes the table of stations and free vehicles. */
export function rentalTable() {
  const columns = ["", "Station or vehicle", "Availability", "Status"].map((words) => element("th", { scope: "col" }, words || element("span.visually-hidden", {}, "Kind")));
  const head = element("thead", {}, element("tr", {}, ...columns, element("th.end", { scope: "col" }, "Last report")));
  const table = element("table.list-table.vehicle-list", {}, head, element("tbody"));
  return element("section.rental-list", { id: "rental-list", "aria-labelledby": "rental-title", hidden: true }, element("h2", { id: "rental-title" }, "Stations and free vehicles in view"), element("div.card.scroll", { tabindex: "0", role: "region", "aria-label": "Table of stations and free vehicles" }, table));
}

/**
 * Returns a text such as "34 vehicles, 7 bikes, 12 stations in view, 5 vehicles with old positions", or the number of vehicles
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
    return rentalWords.length > 0 ? `${rentalWords.join(", ")} in view, ${unplacedWords(unplaced)}` : unplacedWords(unplaced);
  }
  const isCounted = current > 0 || (old === 0 && (rentals.length === 0 || hasNetworks));
  const words = isCounted ? [countWords(current, "vehicle", "vehicles"), ...rentalWords] : rentalWords;
  return [words.length > 0 ? `${words.join(", ")} in view` : null, old > 0 ? oldWords(old) : null].filter(Boolean).join(", ");
}

/** @param {string} key @param {string} name @param {Options} options */
const button = (key, name, { pick }) => element("button.link", { type: "button", "data-key": key, onclick: () => pick(key) }, name);

/** @param {import("./vehicles.js").Vehicle} vehicle @param {Options} options */
function row(vehicle, options) {
  const { key, feed, id, label, color, record } = vehicle;
  const join = record.lineside ?? {};
  // A vehicle without a delay is not on time: its delay is unknown.
  return element(
    options.isStale(vehicle) ? "tr.is-stale" : "tr",
    {},
    element("td", {}, badge(label || "–", color)),
    element("td", {}, button(key, join.headsign ?? `Vehicle ${record.vehicle?.label ?? id}`, options)),
    element("td", {}, Number.isFinite(join.delay) ? delaySpan(join.delay) : NO_VALUE),
    element("td", {}, nextStop(options.networkOf(feed), join) ?? NO_VALUE),
    element("td.end", {}, record.timestamp ? ageOrDateWords(Number(record.timestamp), options.nowOf(feed), options.timezoneOf(feed)) : ""),
  );
}

/**
 * Makes the table of vehicles without a position, which the map cannot show: their lines and stops are known from their trips.
 */
export function unplacedTable() {
  const columns = ["Line", "Destination", "Delay", "Next stop"].map((words) => element("th", { scope: "col" }, words));
  const table = element("table.list-table.unplaced-list", {}, element("thead", {}, element("tr", {}, ...columns)), element("tbody"));
  return element("section.rental-list", { id: "unplaced-list", "aria-labelledby": "unplaced-title", hidden: true }, element("h2", { id: "unplaced-title" }, "Without position"), element("div.card.scroll", { tabindex: "0", role: "region", "aria-label": "Table of vehicles without position" }, table));
}

/** @param {HTMLElement} body  the table's body @param {import("./unplaced.js").UnplacedVehicle[]} unplaced */
export function showUnplaced(body, unplaced) {
  const headsign = (/** @type {import("./unplaced.js").UnplacedVehicle} */ { vehicle }) => vehicle.record.lineside?.headsign ?? "";
  const sorted = [...unplaced].sort((a, b) => order.compare(a.vehicle.label, b.vehicle.label) || order.compare(headsign(a), headsign(b)) || order.compare(a.vehicle.id, b.vehicle.id)).slice(0, ROWS_MAX);
  replaceRows(body, hideEmptyColumns(body, sorted.map(unplacedRow), [DELAY_CELL, NEXT_STOP_CELL]));
}

/** @param {import("./unplaced.js").UnplacedVehicle} vehicle @returns {any} a row */
function unplacedRow({ network, trip_address: address, vehicle: { label, color, record, id } }) {
  const join = record.lineside ?? {};
  const title = join.headsign ?? (record.vehicle?.label ? `Vehicle ${record.vehicle.label}` : "Destination not known");
  const badgeOfLine = badge(label || "–", color);
  return element(
    "tr",
    { "data-vehicle": id },
    element("td", {}, join.route_id && label ? element("a.line-link", { href: routeAddress({ feed: network, id: join.route_id }) }, badgeOfLine) : badgeOfLine),
    element("td", {}, address ? element("a.target", { href: address }, title) : title),
    element("td", {}, Number.isFinite(join.delay) ? delaySpan(join.delay) : ""),
    element("td", {}, nextStop(network, join) ?? ""),
  );
}

/** Returns a vehicle's next stop as a link to its departures; null if it is not known. @param {string|undefined} network @param {any} join */
function nextStop(network, { next_stop_id: id, next_stop_name: name }) {
  if (!id || !network) return name ?? null;
  return element("a.target", { href: `/stops/${network}/${encodeURIComponent(id)}` }, name ?? id);
}

/** @param {number} delay */
function delaySpan(delay) {
  const { words, tone } = delayWords("realtime", delay);
  return element(`span.tone-${tone}`, {}, words);
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
