/** Texts and cards of the stations and free vehicles of GBFS systems. */
import { element } from "../plain/dom.js";
import { ageWords, numberWords, seconds } from "../plain/words.js";
import { head } from "./detail.js";

/** Names of the form factors of GBFS, singular and plural. */
const FORMS = new Map([
  ["bicycle", ["bike", "bikes"]],
  ["cargo_bicycle", ["cargo bike", "cargo bikes"]],
  ["scooter", ["scooter", "scooters"]],
  ["scooter_standing", ["scooter", "scooters"]],
  ["scooter_seated", ["seated scooter", "seated scooters"]],
  ["moped", ["moped", "mopeds"]],
  ["car", ["car", "cars"]],
]);
const ANY_FORM = ["vehicle", "vehicles"];

/** @typedef {Map<string, any>} Types  a system's vehicle types by id */

/** Pause before vehicle types are requested again after a failure, in milliseconds. */
const AGAIN_MS = 30_000;

/** The vehicle types of the systems. They are fetched on first use. */
export class VehicleTypes {
  /** @param {() => void} changed called when types have arrived, or may be requested again */
  constructor(changed) {
    this.changed = changed;
    /** @type {Map<string, Types>} */
    this.known = new Map();
  }

  /** @param {string} feed @returns {Types} empty until they have arrived, and if the system has none */
  of(feed) {
    const known = this.known.get(feed);
    if (known) return known;
    this.known.set(feed, new Map());
    // Until then a type is shown by its id.
    this.#ask(feed).catch(() => this.#askLater(feed));
    return new Map();
  }

  /** @param {string} feed */
  #askLater(feed) {
    setTimeout(() => {
      this.known.delete(feed);
      // The page is redrawn, which requests the types if they are still needed.
      this.changed();
    }, AGAIN_MS);
  }

  /** @param {string} feed */
  async #ask(feed) {
    const reply = await fetch(`/gbfs/${encodeURIComponent(feed)}/3/vehicle_types`);
    // GBFS: all vehicles of a system without this file are bicycles.
    if (reply.status === 404) {
      this.known.set(feed, new Map([["", { form_factor: "bicycle" }]]));
      return this.changed();
    }
    if (!reply.ok) throw new Error(`the server answered ${reply.status} for the vehicle types of ${feed}`);
    const { data } = await reply.json();
    this.known.set(feed, new Map(data.vehicle_types.map((/** @type {any} */ type) => [type.vehicle_type_id, type])));
    this.changed();
  }
}

/** Returns a localized text in the page's language, else in its first language. @param {any} texts @returns {string|null} */
function textOf(texts) {
  if (!Array.isArray(texts)) return typeof texts === "string" ? texts : null;
  const best = texts.find(({ language }) => /^en\b/i.test(language ?? "")) ?? texts[0];
  return best?.text || null;
}

/** Returns the number of vehicles that can be rented at a station; null if unknown. @param {any} record @returns {number|null} */
export const vehiclesAt = (record) => record.num_vehicles_available ?? null;

/** @param {any} record */
export const isTakingOut = (record) => record.is_renting !== false && record.is_installed !== false;

/** @param {import("./bikes.js").Rental} station */
export const stationName = ({ record, id }) => textOf(record.name) ?? `Station ${id}`;

/** Returns the common form of these types, or a generic one. @param {Types} types @param {string[]} ids */
function formOf(types, ids) {
  const asked = ids.length > 0 ? ids : [...types.keys()];
  const forms = new Set(asked.map((id) => types.get(id)?.form_factor));
  const [form] = forms;
  return (forms.size === 1 && FORMS.get(form)) || ANY_FORM;
}

/** @param {number} n @param {string[]} form singular and plural */
const count = (n, [one, several]) => `${numberWords(n)} ${n === 1 ? one : several}`;

/** Returns a text such as "7 bikes, 3 docks". @param {any} record @param {Types} types */
export function stationWords(record, types) {
  const vehicles = vehiclesAt(record);
  const kinds = /** @type {any[]} */ (record.vehicle_types_available ?? []);
  const there = kinds.some(({ count }) => count > 0) ? kinds.filter(({ count }) => count > 0) : kinds;
  const ids = there.map(({ vehicle_type_id: id }) => id);
  const docks = record.num_docks_available;
  const words = [vehicles === null ? null : count(vehicles, formOf(types, ids)), docks === undefined ? null : count(docks, ["dock", "docks"])];
  return words.filter((each) => each !== null).join(", ") || "Availability unknown";
}

/** Returns a station's status, and a shorter text for the list if everything is possible. @param {any} record @returns {{words: string, brief?: string, tone: string}} */
export function serviceWords(record) {
  if (record.is_installed === false) return { words: "Not installed", tone: "cancelled" };
  const [rents, returns] = [record.is_renting, record.is_returning];
  if (rents === undefined && returns === undefined) return { words: "Status unknown", tone: "scheduled" };
  if (rents === false && returns === false) return { words: "Closed", tone: "cancelled" };
  if (rents === false) return { words: "Returns only", tone: "late" };
  if (returns === false) return { words: "Rentals only, no returns", tone: "late" };
  return { words: "Open: you can rent and return here", brief: "Open", tone: "on-time" };
}

/** Returns the counts by type, if there are several types. @param {any} record @param {Types} types @returns {Node|null} */
function kindsList(record, types) {
  const kinds = (record.vehicle_types_available ?? []).filter((/** @type {any} */ each) => each.count > 0);
  if (kinds.length === 0 || (types.size < 2 && kinds.length < 2)) return null;
  const row = (/** @type {any} */ { vehicle_type_id: id, count }) => element("li", {}, element("span", {}, typeName(types, id)), element("strong", {}, numberWords(count)));
  return element("ul.rental-kinds", { "aria-label": "By vehicle type" }, ...kinds.map(row));
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {Types} types @param {string|undefined} id */
function typeName(types, id) {
  const type = types.get(id ?? "");
  const form = FORMS.get(type?.form_factor)?.[0];
  return textOf(type?.name) ?? (form ? capital(form) : (id ?? "Vehicle"));
}

/** @param {import("./bikes.js").Rental} vehicle @param {Types} types */
export const vehicleName = ({ record }, types) => typeName(types, record.vehicle_type_id);

/** @param {any} record @returns {{words: string, tone: string}} */
export function freeWords(record) {
  if (record.is_disabled) return { words: "Out of use", tone: "cancelled" };
  if (record.is_reserved) return { words: "Reserved", tone: "late" };
  return { words: "Free to rent", tone: "on-time" };
}

/** Returns a vehicle's range or charge in words; empty if unknown. @param {any} record */
export function rangeWords({ current_range_meters: meters, current_fuel_percent: share }) {
  const far = meters >= 1_000 ? `${numberWords(Math.floor(meters / 1_000))} km` : `${meters} m`;
  const words = [Number.isFinite(meters) ? `${far} of range` : null, Number.isFinite(share) ? `${Math.round(share * 100)} % charged` : null];
  return words.filter((each) => each !== null).join(", ");
}

/** @param {any} record @param {number} now seconds */
export function reportedWords(record, now) {
  const at = seconds(record.last_reported);
  return at === null ? "" : ageWords(Math.max(now - at, 0));
}

/** Returns a dot in the colour of stations and free vehicles on the map. */
export const rentalSign = () => element("span.rental-sign", { "aria-hidden": "true" });

/** Returns words that are true only of the past if the feed's data are out of date. @param {string} words @param {any} record @param {import("./detail.js").Surroundings} around */
function lastKnown(words, record, around) {
  const when = reportedWords(record, around.now());
  return element("span", { "data-status": "last_known" }, `Last known${when ? `, ${when}` : ""}: ${words}`);
}

/** @param {any} record @param {import("./detail.js").Surroundings} around */
function reported(record, around) {
  const words = reportedWords(record, around.now());
  return element("p.soft.small", {}, words ? `reported ${words}` : "time of the report unknown");
}

/** @param {string} feed @param {import("./detail.js").Surroundings} around */
const source = (feed, around) => element("p.detail-foot", {}, "Reported by ", element("a", { href: `/feeds/${feed}` }, around.nameOf(feed)));

/** @param {{words: string, tone: string}} text */
const toned = ({ words, tone }) => element(`span.tone-${tone}`, {}, words);

/**
 * @param {import("./bikes.js").Rental} station @param {Types} types @param {import("./detail.js").Surroundings} around
 * @returns {Node[]}
 */
export function stationCard(station, types, around) {
  const { record, feed } = station;
  const words = stationWords(record, types);
  const meta = around.isStale
    ? [element("p.rental-count.soft", {}, lastKnown(words, record, around))]
    : [element("p.rental-count", {}, words), element("p", {}, toned(serviceWords(record))), reported(record, around)];
  const kinds = kindsList(record, types);
  return [head([rentalSign(), element("span", {}, stationName(station))], meta, around.close), ...(kinds ? [kinds] : []), source(feed, around)];
}

/**
 * @param {import("./bikes.js").Rental} vehicle @param {boolean} isThere false if the vehicle is gone
 * @param {Types} types @param {import("./detail.js").Surroundings} around
 * @returns {Node[]}
 */
export function freeCard(vehicle, isThere, types, around) {
  const { record, feed } = vehicle;
  const range = rangeWords(record);
  const most = types.get(record.vehicle_type_id)?.max_range_meters;
  const full = !range && most ? `${numberWords(Math.floor(most / 1_000))} km of range when full` : range;
  const now = isThere ? toned(freeWords(record)) : element("span.tone-cancelled", {}, "No longer here");
  const meta = around.isStale && isThere
    ? [element("p.soft", {}, lastKnown(freeWords(record).words.toLowerCase(), record, around))]
    : [element("p", {}, element("strong", {}, now), full ? ` · ${full}` : ""), reported(record, around)];
  return [head([rentalSign(), element("span", {}, vehicleName(vehicle, types))], meta, around.close), source(feed, around)];
}
