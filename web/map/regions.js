/**
 * The networks that the map can jump to: selects the initial one, those in view, and those near a place.
 *
 * @typedef {[number, number, number, number]} Bounds  west, south, east, north in degrees
 * @typedef {{id: string, name: string, feeds: string[], live: string[], states: import("./trouble.js").FeedState[], bounds: Bounds, frame: Bounds, ended: string|null, vehicles: number, rentals: number, only_bikes: boolean, stations: number, unplaced: number, old: number, idle: number, route_types: number[], by_type: VehiclesByType, only_rentals: boolean, recording: boolean}} Region
 * @typedef {Record<string, [number, number, number]>} VehiclesByType  numbers with a reliable position, without one, and with an old one by GTFS route type; of an unknown line, under ""
 * @typedef {{longitude: number, latitude: number}} Place
 */
import { countWords, numberWords } from "../plain/words.js";
import { modeOf } from "./view.js";

/** Maximum zoom for showing a network. */
export const REGION_ZOOM_MAX = 13;
/** A network farther away than this from the reader, in meters, is not near. */
const NEAR_M_MAX = 100_000;
const EARTH_RADIUS_M = 6_371_009;

/** @param {number} degrees */
const radians = (degrees) => (degrees * Math.PI) / 180;

/** Returns the meters between two places. @param {Place} a @param {Place} b */
export function metersBetween(a, b) {
  const half = (/** @type {number} */ angle) => Math.sin(radians(angle) / 2) ** 2;
  const share = half(b.latitude - a.latitude) + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * half(b.longitude - a.longitude);
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(Math.sqrt(share), 1));
}

/** Shifts a longitude by multiples of 360 degrees to be nearest to the middle of a box, whose east may exceed 180. @param {number} longitude @param {Bounds} bounds */
function turnedTo(longitude, [west, , east]) {
  return longitude + 360 * Math.round(((west + east) / 2 - longitude) / 360);
}

/** Returns the meters from a place to the nearest point of a box; 0 inside. @param {Place} place @param {Bounds} bounds */
function metersToBounds(place, bounds) {
  const [west, south, east, north] = bounds;
  const longitude = Math.min(Math.max(turnedTo(place.longitude, bounds), west), east);
  const latitude = Math.min(Math.max(place.latitude, south), north);
  return metersBetween(place, { longitude, latitude });
}

/** Returns the box around boxes. @param {Bounds[]} all @returns {Bounds} */
export const union = (all) => /** @type {Bounds} */ ([Math.min(...all.map(([west]) => west)), Math.min(...all.map(([, south]) => south)), Math.max(...all.map(([, , east]) => east)), Math.max(...all.map(([, , , north]) => north))]);

/**
 * Returns the box around as many networks as the map can show at once; of equally large sets, the first.
 * @param {Region[]} regions @param {number} span degrees of longitude that the map can show @returns {Bounds}
 */
export function boundsOfMost(regions, span) {
  const frames = regions.map(({ frame }) => frame);
  const from = (/** @type {Bounds} */ [start]) =>
    frames.flatMap(([west, south, east, north]) => {
      const turn = Math.ceil((start - west) / 360) * 360;
      return east + turn <= start + span ? [/** @type {Bounds} */ ([west + turn, south, east + turn, north])] : [];
    });
  const [most] = frames.map(from).sort((a, b) => b.length - a.length);
  return union(most.length > 0 ? most : frames);
}

/**
 * Returns the network at which the map opens: the one in the address, else the last visited one, else
 * the nearest, else the first.
 * @param {Region[]} regions
 * @param {{named?: string|null, lastVisited?: string|null, place?: Place|null}} hints
 * @returns {Region|null}
 */
export function chooseRegion(regions, { named = null, lastVisited = null, place = null }) {
  const byId = (/** @type {string|null} */ id) => regions.find((region) => region.id === id);
  const nearest = place && [...withoutRentals(regions)].sort((a, b) => metersToBounds(place, a.bounds) - metersToBounds(place, b.bounds))[0];
  return byId(named) ?? byId(lastVisited) ?? nearest ?? regions[0] ?? null;
}

/**
 * Returns the network nearest to a place, its distance in meters, and whether it is near enough to have stops around the place; null without networks.
 * @param {Region[]} regions @param {Place} place
 */
export function nearestRegion(regions, place) {
  const [nearest] = regions.map((region) => ({ region, meters: metersToBounds(place, region.bounds) })).sort((a, b) => a.meters - b.meters);
  return nearest ? { ...nearest, isNear: nearest.meters <= NEAR_M_MAX } : null;
}

/** Returns the networks of which no part of the frame is in a view. @param {Region[]} regions @param {Bounds|null} view */
export const regionsOutside = (regions, view) => (view ? regions.filter(({ frame }) => !overlaps(view, frame)) : []);

/** Formats a number of rental vehicles. @param {number} count @param {boolean} onlyBikes true if they are bicycles */
export const rentalCountWords = (count, onlyBikes) => (onlyBikes ? countWords(count, "bike", "bikes") : `${numberWords(count)} to rent`);

/** Formats a network's number of vehicles, else of rental vehicles, else of stations; empty if there are none. @param {Pick<Region, "vehicles"|"rentals"|"only_bikes"|"stations">} region */
export function regionCountWords({ vehicles, rentals, only_bikes: onlyBikes, stations }) {
  if (vehicles > 0) return countWords(vehicles, "vehicle", "vehicles");
  if (rentals > 0) return rentalCountWords(rentals, onlyBikes);
  return stations > 0 ? countWords(stations, "station", "stations") : "";
}

/** Formats a number of vehicles whose positions are old. @param {number} count */
export const oldWords = (count) => `${countWords(count, "vehicle", "vehicles")} with ${count === 1 ? "an old position" : "old positions"}`;

/** Formats a number of vehicles without a position. Those whose trips have not begun or have ended are not counted. @param {number} count */
export const unplacedWords = (count) => `${countWords(count, "vehicle under way reports", "vehicles under way report")} no position`;

/** @typedef {Pick<Region, "vehicles"|"rentals"|"only_bikes"|"stations"|"old"|"unplaced">} Counts */

/** Returns the counts of several networks. @param {Counts[]} regions @returns {Counts} */
export function sumCounts(regions) {
  const sum = { vehicles: 0, rentals: 0, stations: 0, old: 0, unplaced: 0 };
  for (const name of /** @type {(keyof typeof sum)[]} */ (Object.keys(sum))) for (const region of regions) sum[name] += region[name];
  return { ...sum, only_bikes: regions.every((region) => region.only_bikes) };
}

/** Formats the counts of networks in the words of the panel. @param {Counts} counts */
export function summaryWords(counts) {
  const words = [regionCountWords(counts), counts.old > 0 ? oldWords(counts.old) : ""].filter(Boolean).join(", ");
  return words || (counts.unplaced > 0 ? unplacedWords(counts.unplaced) : countWords(0, "vehicle", "vehicles"));
}

/**
 * Returns a network with the counts of these modes only; null if it has neither lines nor vehicles of them.
 * @param {Region} region @param {Set<string>} modes empty means all @returns {Region|null}
 */
export function filterRegion(region, modes) {
  if (modes.size === 0) return region;
  const isShown = (/** @type {number|null} */ type) => modes.has(modeOf(type));
  const counts = { vehicles: 0, unplaced: 0, old: 0, rentals: modes.has("bike") ? region.rentals : 0, stations: modes.has("bike") ? region.stations : 0 };
  for (const [type, [placed, unplaced, old]] of Object.entries(region.by_type ?? {})) {
    if (!isShown(type === "" ? null : Number(type))) continue;
    counts.vehicles += placed;
    counts.unplaced += unplaced;
    counts.old += old;
  }
  const hasMode = (region.route_types ?? []).some(isShown) || Object.values(counts).some((count) => count > 0);
  return hasMode ? { ...region, ...counts } : null;
}

/** Counts vehicles with a position again. @param {VehiclesByType} known @param {{record: any}[]} reliable @param {{record: any}[]} old @returns {VehiclesByType} */
export function recountByType(known, reliable, old) {
  /** @type {VehiclesByType} */
  const counted = Object.fromEntries(Object.entries(known ?? {}).map(([type, [, unplaced]]) => [type, [0, unplaced, 0]]));
  const of = (/** @type {{record: any}} */ { record }) => (counted[String(record.lineside?.route_type ?? "")] ??= [0, 0, 0]);
  for (const vehicle of reliable) of(vehicle)[0] += 1;
  for (const vehicle of old) of(vehicle)[2] += 1;
  return counted;
}

/** Returns the networks, without systems that only rent vehicles; these if there is nothing else. @param {Region[]} regions */
function withoutRentals(regions) {
  const networks = regions.filter(({ only_rentals: onlyRentals }) => !onlyRentals);
  return networks.length > 0 ? networks : regions;
}

/** Returns the smallest network around a place. @param {Region[]} regions @param {Place} place @returns {Region|null} */
export function regionAt(regions, { longitude, latitude }) {
  const around = regions.filter(({ bounds }) => {
    const [west, south, east, north] = bounds;
    const turned = turnedTo(longitude, bounds);
    return west <= turned && turned <= east && south <= latitude && latitude <= north;
  });
  const size = (/** @type {Region} */ { bounds: [west, south, east, north] }) => (east - west) * (north - south);
  return withoutRentals(around).sort((a, b) => size(a) - size(b))[0] ?? null;
}

/**
 * Returns the current network: the chosen one while it overlaps the middle of the map, else the smallest network there.
 * @param {Region[]} regions @param {Bounds} middle a box @param {string|null} chosen its id @returns {Region|null}
 */
export function currentRegion(regions, middle, chosen) {
  const [west, south, east, north] = middle;
  const isShown = (/** @type {Region} */ { id, bounds }) => id === chosen && overlaps(middle, bounds);
  return regions.find(isShown) ?? regionAt(regions, { longitude: (west + east) / 2, latitude: (south + north) / 2 });
}

/** Returns true if two boxes overlap; the first may exceed 180 degrees. @param {Bounds} view @param {Bounds} bounds */
export function overlaps([west, south, east, north], bounds) {
  if (bounds[1] > north || bounds[3] < south) return false;
  return [-360, 0, 360].some((turn) => bounds[0] + turn <= east && bounds[2] + turn >= west);
}

/** The edge of a box, as a share of its size. */
const EDGE_SHARE = 0.1;

/** @param {Bounds} bounds @returns {Bounds} */
export function withoutEdges([west, south, east, north]) {
  const [aside, up] = [(east - west) * EDGE_SHARE, (north - south) * EDGE_SHARE];
  return [west + aside, south + up, east - aside, north - up];
}

/** Returns true if a view contains a box; the view may exceed 180 degrees. @param {Bounds} view @param {Bounds} bounds */
export function contains([west, south, east, north], bounds) {
  return bounds[1] >= south && bounds[3] <= north && [-360, 0, 360].some((turn) => bounds[0] + turn >= west && bounds[2] + turn <= east);
}

/** Returns the networks in a view, in their order. @param {Region[]} regions @param {Bounds|null} view null selects all */
export const regionsInView = (regions, view) => (view ? regions.filter(({ bounds }) => overlaps(view, bounds)) : regions);

/** Key of the last visited network in local storage. */
const STORAGE_KEY = "lineside.map.network";

/** @returns {string|null} the id of the last visited network; null without storage */
export function lastVisited() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** @param {string} id */
export function rememberVisited(id) {
  try {
    localStorage.setItem(STORAGE_KEY, id);
  } catch {
    // Without storage the map opens at the nearest or the first network.
  }
}
