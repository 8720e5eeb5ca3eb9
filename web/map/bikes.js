/**
 * Rentals: the stations and free vehicles of GBFS systems, from their channels. They do not move, so
 * the map's style draws them (style.js), and a moving bus does not redraw them.
 */
import { keyOf } from "../plain/state.js";
import { isTakingOut, vehiclesAt } from "./rental.js";
import { RENTALS, RENTAL_LAYERS } from "./style.js";

/** Time for which a rental of an unfollowed cell stays visible, in milliseconds: another cell may send it. */
const GRACE_MS = 4_000;
/** Time over which changes are collected before they are drawn, in milliseconds: a system changes in many messages. */
const DRAWING_MS = 200;

/**
 * @typedef {{key: string, feed: string, kind: "station"|"vehicle", id: string, record: any, place: [number, number], leavesAt: number|null}} Rental
 *   `place` is longitude and latitude
 */

/** Returns true for a record of a GBFS system. Its vehicles have a top-level `vehicle_id`. @param {{kind: string, record: any}} held */
export const isRental = ({ kind, record }) => kind === "station" || (kind === "vehicle" && record?.vehicle_id !== undefined);

/**
 * Separates the GBFS systems from the page's other GeoJSON: a system's stations and vehicles have addresses of their own.
 * @param {{url: string, name: string}[]} raw
 * @returns {{systems: string[], others: {url: string, name: string}[]}}
 */
export function systemsAmong(raw) {
  const systemOf = (/** @type {string} */ url) => url.match(/^\/geojson\/([^/]+)\/(?:stations|vehicles)\.geojson$/)?.[1];
  const systems = new Set(raw.map(({ url }) => systemOf(url)).filter((id) => id !== undefined));
  return { systems: /** @type {string[]} */ ([...systems]), others: raw.filter(({ url }) => !systemOf(url)) };
}

/** @param {any} record @returns {[number, number]|null} */
function placeOf({ lon, lat }) {
  const valid = Number.isFinite(lon) && Number.isFinite(lat) && (lon !== 0 || lat !== 0);
  return valid ? [lon, lat] : null;
}

/** Converts a record of a system; null if it has no position. @param {import("../plain/state.js").StoredRecord} held @returns {Rental|null} */
export function rentalOf({ feed, kind, id, record }) {
  const place = placeOf(record);
  return place && { key: keyOf({ feed, kind, id }), feed, kind: /** @type {"station"} */ (kind), id, record, place, leavesAt: null };
}

export class Bikes {
  constructor() {
    /** @type {Map<string, Rental>} */
    this.all = new Map();
    /** True if the map does not show the latest changes. */
    this.isDirty = false;
    this.drawing = 0;
  }

  /** Applies the changes of a message. @param {import("../plain/state.js").Applied} applied @param {import("../plain/state.js").Store} store */
  apply(applied, store) {
    for (const held of applied.upserts) if (isRental(held) && store.find(held)?.at === held.at) this.#put(held);
    for (const held of applied.removes) {
      if (!isRental(held) || store.find(held)) continue;
      // A rental that is missing in a full state is gone.
      if (applied.replaced || held.why !== "moved") this.#remove(keyOf(held));
      else this.#expire(keyOf(held));
    }
  }

  /** Lets these records expire, because their cells are no longer followed. @param {import("../plain/state.js").StoredRecord[]} dropped @param {import("../plain/state.js").Store} store */
  drop(dropped, store) {
    for (const held of dropped) if (isRental(held) && !store.find(held)) this.#expire(keyOf(held));
  }

  /** Removes expired rentals, except for the selected one. @param {string|undefined} selected its key */
  sweep(selected) {
    const now = performance.now();
    for (const { key, leavesAt } of this.all.values()) if (leavesAt !== null && leavesAt <= now && key !== selected) this.#remove(key);
  }

  /** @param {import("../plain/state.js").StoredRecord} held */
  #put(held) {
    const rental = rentalOf(held);
    if (!rental) return this.#remove(keyOf(held));
    this.all.set(rental.key, rental);
    this.isDirty = true;
  }

  /** @param {string} key */
  #expire(key) {
    const rental = this.all.get(key);
    if (rental) rental.leavesAt ??= performance.now() + GRACE_MS;
  }

  /** @param {string} key */
  #remove(key) {
    if (this.all.delete(key)) this.isDirty = true;
  }

  /**
   * Returns the GeoJSON that the map draws.
   * @param {boolean} areShown @param {string|null} selected the key of the rental that is always shown
   * @param {(feed: string) => boolean} isOld returns true if a feed's data may be out of date
   * @returns {import("geojson").FeatureCollection}
   */
  features(areShown, selected, isOld) {
    const shown = [...this.all.values()].filter(({ key }) => areShown || key === selected);
    return { type: "FeatureCollection", features: shown.map((rental) => feature(rental, isOld(rental.feed))) };
  }

  /** @param {import("maplibre-gl").Map|null} map @param {() => import("geojson").FeatureCollection} features returns the GeoJSON to draw */
  drawSoon(map, features) {
    if (!map || !this.isDirty || this.drawing) return;
    this.drawing = /** @type {any} */ (setTimeout(() => {
      this.drawing = 0;
      const source = /** @type {import("maplibre-gl").GeoJSONSource|undefined} */ (map.getSource(RENTALS));
      if (!source) return; // the style is not loaded yet; the next tick draws
      this.isDirty = false;
      source.setData(features());
    }, DRAWING_MS));
  }

  /** Returns the rental at a point on the screen, or within `near` pixels of it. @param {import("maplibre-gl").Map} map @param {{x: number, y: number}} point @param {number} near */
  pick(map, { x, y }, near) {
    const layers = RENTAL_LAYERS.filter((id) => map.getLayer(id));
    if (layers.length === 0) return null;
    const [feature] = map.queryRenderedFeatures([[x - near, y - near], [x + near, y + near]], { layers });
    return (feature && this.all.get(feature.properties.key)) ?? null;
  }

  /** Returns the rentals in view, or all without a map. @param {import("maplibre-gl").LngLatBounds|null} bounds @returns {Rental[]} */
  inView(bounds) {
    const all = [...this.all.values()];
    return bounds ? all.filter(({ place }) => bounds.contains(place)) : all;
  }
}

/** @param {Rental} rental @param {boolean} isOld @returns {import("geojson").Feature} */
function feature({ key, kind, record, place }, isOld) {
  const vehicles = isOld ? null : vehiclesAt(record);
  const isOpen = isOld ? false : kind === "station" ? isTakingOut(record) && vehicles !== 0 : !record.is_reserved && !record.is_disabled;
  const sign = kind === "vehicle" ? "" : !isTakingOut(record) ? "×" : vehicles === null ? "" : String(vehicles);
  return { type: "Feature", properties: { key, kind, isOpen, sign }, geometry: { type: "Point", coordinates: place } };
}
