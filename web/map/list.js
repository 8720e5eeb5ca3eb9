/** The vehicles and rentals in view as a table: for keyboards, screen readers, and browsers that cannot draw the map. */
import { badge } from "../plain/badge.js";
import { element } from "../plain/dom.js";
import { ageOrDateWords, countWords, delayWords } from "../plain/words.js";
import { NO_VALUE, groupByNetwork, groupedRows, hideEmptyColumns, replaceRows } from "./list_groups.js";
import { oldWords, rentalCountWords, unplacedWords } from "./regions.js";
import { freeWords, rangeWords, rentalSign, reportedWords, serviceWords, stationName, stationWords, vehicleName } from "./rental.js";
import { vehicleTitle } from "./vehicle_title.js";
import { routeAddress } from "./view.js";

const order = new Intl.Collator("en", { numeric: true });

/**
 * @typedef {object} Options
 * @property {(feed: string) => number} nowOf  returns the time of a feed's data, in seconds
 * @property {(feed: string) => string|undefined} networkOf  returns the id of a feed's network
 * @property {(feed: string) => import("./regions.js").Region|undefined} regionOf  returns a feed's network with its name, undefined if the map does not have it
 * @property {(feed: string) => string} timezoneOf  returns the timezone of a feed's network
 * @property {(feed: string) => import("./rental.js").Types} typesOf  returns the vehicle types of a GBFS system
 * @property {(feed: string) => boolean} isOld  returns true if a feed's data may be out of date
 * @property {(vehicle: import("./vehicles.js").Vehicle) => boolean} isStale  returns true if a vehicle's position is old
 * @property {(key: string) => void} pick
 */

/** Places of the destination, the delay and the next stop in a row of vehicles, and the number of its cells. */
const DESTINATION_CELL = 1;
const DELAY_CELL = 2;
const NEXT_STOP_CELL = 3;
const VEHICLE_CELLS = 5;
const UNPLACED_CELLS = 4;
const RENTAL_CELLS = 5;

/** @param {HTMLElement} body  the table's body @param {import("./vehicles.js").Vehicle[]} vehicles @param {Options} options */
export function showList(body, vehicles, options) {
  const sorted = sortVehicles(vehicles);
  const isTwin = findTwins(sorted);
  const groups = groupByNetwork(sorted, ({ feed }) => options.regionOf(feed));
  showVehicleRows(body, groupedRows(groups, (vehicle) => row(vehicle, isTwin(vehicle), options), VEHICLE_CELLS));
  // The server's note counts the rows that were just replaced.
  document.getElementById("list-more")?.remove();
}

/** @param {HTMLElement} body @param {any[]} rows */
function showVehicleRows(body, rows) {
  const head = /** @type {HTMLTableElement} */ (body.parentElement).rows[0];
  head.cells[0].textContent = rows.some((each) => each.classList.contains("is-unnamed")) ? "Line or vehicle" : "Line";
  replaceRows(body, hideEmptyColumns(body, rows, [DESTINATION_CELL, DELAY_CELL, NEXT_STOP_CELL]));
}

/** @param {HTMLElement} body  the table's body @param {import("./bikes.js").Rental[]} rentals @param {Options} options */
export const showRentals = (body, rentals, options) => replaceRows(body, rentalRows(rentals, options));

/** @typedef {import("./vehicles.js").Vehicle} Vehicle */

/** @param {Vehicle} vehicle @returns {string} */
const headsignOf = ({ record }) => record.lineside?.headsign ?? "";

/** @param {Vehicle[]} vehicles */
const sortVehicles = (vehicles) => [...vehicles].sort((a, b) => order.compare(a.label, b.label) || order.compare(headsignOf(a), headsignOf(b)) || order.compare(a.id, b.id));

/** Returns a test for vehicles whose line, destination and next stop another vehicle of the same feed has, too. @param {Vehicle[]} vehicles @returns {(vehicle: Vehicle) => boolean} */
export function findTwins(vehicles) {
  const look = (/** @type {Vehicle} */ vehicle) => [vehicle.feed, vehicle.label, headsignOf(vehicle), vehicle.record.lineside?.next_stop_name ?? ""].join("\n");
  const counts = new Map();
  for (const vehicle of vehicles) counts.set(look(vehicle), (counts.get(look(vehicle)) ?? 0) + 1);
  return (vehicle) => (counts.get(look(vehicle)) ?? 0) > 1;
}

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
 * @param {{feed: string}[]} vehicles @param {{feed: string, kind: string}[]} rentals
 * @param {object} context
 * @param {boolean} context.hasNetworks true if vehicles are expected: then zero vehicles are mentioned, too
 * @param {boolean} [context.hasLive] true unless no network in view has live data
 * @param {boolean} [context.onlyRentals] true if the filter shows nothing but rentals: then vehicles are never mentioned
 * @param {number} [context.unplaced] number of vehicles without a position, in the networks in view
 * @param {boolean} [context.onlyBikes] true if all rental vehicles are bicycles
 * @param {(feed: string) => boolean} [context.isOld] returns true if a feed's positions may be out of date
 */
export function countInView(vehicles, rentals, { hasNetworks, hasLive = true, onlyRentals = false, unplaced = 0, onlyBikes = false, isOld = () => false }) {
  const reliable = rentals.filter(({ feed }) => !isOld(feed));
  const stations = reliable.filter(({ kind }) => kind === "station").length;
  const free = reliable.length - stations;
  const old = vehicles.filter(({ feed }) => isOld(feed)).length;
  const current = vehicles.length - old;
  const rentalWords = [free > 0 ? rentalCountWords(free, onlyBikes) : null, stations > 0 ? countWords(stations, "station", "stations") : null].filter(Boolean);
  if (vehicles.length === 0 && unplaced > 0) {
    return rentalWords.length > 0 ? `${rentalWords.join(", ")} in view, ${unplacedWords(unplaced)}` : unplacedWords(unplaced);
  }
  if (!hasLive && vehicles.length + rentals.length === 0) return "No live data";
  if (onlyRentals && vehicles.length === 0) return `${rentalWords.join(", ") || rentalCountWords(0, onlyBikes)} in view`;
  const isCounted = current > 0 || (old === 0 && (rentals.length === 0 || hasNetworks));
  const words = isCounted ? [countWords(current, "vehicle", "vehicles"), ...rentalWords] : rentalWords;
  return [words.length > 0 ? `${words.join(", ")} in view` : null, old > 0 ? oldWords(old) : null].filter(Boolean).join(", ");
}

/** @param {string} key @param {string} name @param {Options} options */
const button = (key, name, { pick }) => element("button.link", { type: "button", "data-key": key, onclick: () => pick(key) }, name);

/** Returns a cell, which a phone leaves out if it has no value. @param {Node|string|null} value */
const cell = (value) => element(value === null ? "td.no-value" : "td", {}, value ?? NO_VALUE);

/** @param {string} title of a vehicle */
const smallTitle = (title) => element("div.soft.small", { "data-name": "" }, title);

/** @param {Vehicle} vehicle @param {boolean} isTwin true if only its name tells it from another vehicle @param {Options} options */
function row(vehicle, isTwin, options) {
  const { key, feed, id, label, color, record } = vehicle;
  const join = record.lineside ?? {};
  const title = vehicleTitle(vehicle);
  const classes = [options.isStale(vehicle) ? ".is-stale" : "", join.headsign ? "" : ".is-unnamed"].join("");
  // A vehicle without a delay is not on time: its delay is unknown.
  return element(
    `tr${classes}`,
    { "data-vehicle": id },
    element("td", {}, label || join.headsign ? badge(label || "–", color) : null, join.headsign ? null : " ", join.headsign ? null : button(key, title, options)),
    element("td", {}, join.headsign ? button(key, join.headsign, options) : NO_VALUE, join.headsign && isTwin ? smallTitle(title) : null),
    cell(Number.isFinite(join.delay) ? delaySpan(join.delay) : null),
    cell(nextStop(options.networkOf(feed), join)),
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

/** @param {HTMLElement} body  the table's body @param {import("./unplaced.js").UnplacedVehicle[]} unplaced @param {Options} options */
export function showUnplaced(body, unplaced, options) {
  const rows = new Map(unplaced.map((each) => [each.vehicle, each]));
  const sorted = sortVehicles([...rows.keys()]);
  const isTwin = findTwins(sorted);
  const groups = groupByNetwork(sorted, ({ feed }) => options.regionOf(feed));
  showVehicleRows(body, groupedRows(groups, (vehicle) => unplacedRow(/** @type {any} */ (rows.get(vehicle)), isTwin(vehicle)), UNPLACED_CELLS));
}

/** @param {import("./unplaced.js").UnplacedVehicle} vehicle @param {boolean} isTwin @returns {any} a row */
function unplacedRow({ network, trip_address: address, vehicle }, isTwin) {
  const { label, color, record, id } = vehicle;
  const join = record.lineside ?? {};
  const [title, headsign] = [vehicleTitle(vehicle), join.headsign];
  const link = (/** @type {string} */ words) => (address ? element("a.target", { href: address }, words) : words);
  const badgeOfLine = label || headsign ? badge(label || "–", color) : null;
  return element(
    headsign ? "tr" : "tr.is-unnamed",
    { "data-vehicle": id },
    element("td", {}, badgeOfLine && join.route_id && label ? element("a.line-link", { href: routeAddress({ feed: network, id: join.route_id }) }, badgeOfLine) : badgeOfLine, headsign ? null : " ", headsign ? null : link(title)),
    element("td", {}, headsign ? link(headsign) : NO_VALUE, headsign && isTwin ? smallTitle(title) : null),
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
  const groups = groupByNetwork(named, ({ rental }) => options.regionOf(rental.feed));
  return groupedRows(groups, ({ rental, name }) => rentalRow(rental, name, options), RENTAL_CELLS);
}

/** The status of a rental whose data are out of date. */
const OUTDATED = { words: "Data out of date", tone: "scheduled" };

/** @param {import("./bikes.js").Rental} rental @param {string} name @param {Options} options */
function rentalRow({ key, kind, feed, record }, name, options) {
  const isStation = kind === "station";
  const { words, brief = words, tone } = /** @type {{words: string, brief?: string, tone: string}} */ (options.isOld(feed) ? OUTDATED : isStation ? serviceWords(record) : freeWords(record));
  return element(
    "tr",
    {},
    element("td", {}, rentalSign(), element("span.visually-hidden", {}, isStation ? "Station" : "Free vehicle")),
    element("td", {}, button(key, name, options)),
    element("td", {}, isStation ? stationWords(record, options.typesOf(feed)) : element(`span.tone-${tone}`, {}, words)),
    element("td", {}, isStation ? element(`span.tone-${tone}`, {}, brief) : rangeWords(record)),
    element("td.end", {}, reportedWords(record, options.nowOf(feed))),
  );
}
