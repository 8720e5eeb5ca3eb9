/**
 * The networks that the map can jump to: at which one it opens, which are in view, and which are
 * drawn as a bubble with their number because they are too small on the screen.
 *
 * @typedef {[number, number, number, number]} Bounds  west, south, east, north in degrees
 * @typedef {{id: string, name: string, feeds: string[], live: string[], bounds: Bounds, frame: Bounds, ended: string|null, vehicles: number, stations: number, unplaced: number, recording: boolean}} Region
 * @typedef {{longitude: number, latitude: number}} Place
 * @typedef {{regions: Region[], center: [number, number], bounds: Bounds}} Cluster
 */
import { project, unproject } from "./motion.js";

/** How near the map goes to a network. */
export const REGION_ZOOM_MAX = 13;
/** A network that is smaller than this on the screen, in pixels, is a bubble. */
const DRAWN_PX_MIN = 72;
/** The most room that a bubble takes with its label of two lines, in pixels, as in the style sheet. */
export const BUBBLE_PX = { width: 120, height: 84 };
/** The width of the world at zoom 0, in MapLibre. */
const WORLD_PX = 512;
const EARTH_RADIUS_M = 6_371_009;

/** @param {number} degrees */
const radians = (degrees) => (degrees * Math.PI) / 180;

/** Meters between two places. @param {Place} a @param {Place} b */
export function metersBetween(a, b) {
  const half = (/** @type {number} */ angle) => Math.sin(radians(angle) / 2) ** 2;
  const share = half(b.latitude - a.latitude) + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * half(b.longitude - a.longitude);
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(Math.sqrt(share), 1));
}

/** A longitude after as many turns around the earth as bring it nearest to the middle of a box, whose east may pass 180. @param {number} longitude @param {Bounds} bounds */
function turnedTo(longitude, [west, , east]) {
  return longitude + 360 * Math.round(((west + east) / 2 - longitude) / 360);
}

/** Meters from a place to the nearest point of a box; 0 inside. @param {Place} place @param {Bounds} bounds */
function metersToBounds(place, bounds) {
  const [west, south, east, north] = bounds;
  const longitude = Math.min(Math.max(turnedTo(place.longitude, bounds), west), east);
  const latitude = Math.min(Math.max(place.latitude, south), north);
  return metersBetween(place, { longitude, latitude });
}

/** The box around boxes. @param {Bounds[]} all @returns {Bounds} */
export const union = (all) => /** @type {Bounds} */ ([Math.min(...all.map(([west]) => west)), Math.min(...all.map(([, south]) => south)), Math.max(...all.map(([, , east]) => east)), Math.max(...all.map(([, , , north]) => north))]);

/**
 * The network at which the map opens: the one that the address names, else the one visited last,
 * else the nearest, else the first.
 * @param {Region[]} regions
 * @param {{named?: string|null, lastVisited?: string|null, place?: Place|null}} hints
 * @returns {Region|null}
 */
export function chooseRegion(regions, { named = null, lastVisited = null, place = null }) {
  const byId = (/** @type {string|null} */ id) => regions.find((region) => region.id === id);
  const nearest = place && [...regions].sort((a, b) => metersToBounds(place, a.bounds) - metersToBounds(place, b.bounds))[0];
  return byId(named) ?? byId(lastVisited) ?? nearest ?? regions[0] ?? null;
}

/** The smallest network around a place. @param {Region[]} regions @param {Place} place @returns {Region|null} */
export function regionAt(regions, { longitude, latitude }) {
  const around = regions.filter(({ bounds }) => {
    const [west, south, east, north] = bounds;
    const turned = turnedTo(longitude, bounds);
    return west <= turned && turned <= east && south <= latitude && latitude <= north;
  });
  const size = (/** @type {Region} */ { bounds: [west, south, east, north] }) => (east - west) * (north - south);
  return around.sort((a, b) => size(a) - size(b))[0] ?? null;
}

/** Whether two boxes share a point; the first may pass 180 degrees. @param {Bounds} view @param {Bounds} bounds */
export function overlaps([west, south, east, north], bounds) {
  if (bounds[1] > north || bounds[3] < south) return false;
  return [-360, 0, 360].some((turn) => bounds[0] + turn <= east && bounds[2] + turn >= west);
}

/** The networks in a view, in their order. @param {Region[]} regions @param {Bounds|null} view all where there is none */
export const regionsInView = (regions, view) => (view ? regions.filter(({ bounds }) => overlaps(view, bounds)) : regions);

/** @param {Bounds} bounds @param {number} zoom */
function boxOnScreen([west, south, east, north], zoom) {
  const world = WORLD_PX * 2 ** zoom;
  const [topLeft, bottomRight] = [project(west, north), project(east, south)];
  return { x: ((topLeft.x + bottomRight.x) / 2) * world, y: ((topLeft.y + bottomRight.y) / 2) * world, size: Math.max(bottomRight.x - topLeft.x, bottomRight.y - topLeft.y) * world };
}

/** Whether the bubbles of two places on the screen would cover each other; the world goes on at its edges. @param {{x: number, y: number}} a @param {{x: number, y: number}} b @param {number} world its width */
function collide(a, b, world) {
  const aside = Math.abs(a.x - b.x) % world;
  return Math.min(aside, world - aside) < BUBBLE_PX.width && Math.abs(a.y - b.y) < BUBBLE_PX.height;
}

/**
 * The networks that are too small to be drawn at a zoom, in groups whose labels do not cover each other. From the zoom on to which the
 * map goes for a network there are none: one of a single stop is small at every zoom, and would cover it.
 * @param {Region[]} regions  a group lies where its first lies @param {number} zoom
 * @returns {Cluster[]}
 */
export function clusterRegions(regions, zoom) {
  if (zoom >= REGION_ZOOM_MAX) return [];
  const world = WORLD_PX * 2 ** zoom;
  /** @type {{x: number, y: number, regions: Region[]}[]} */
  const groups = [];
  for (const region of regions) {
    const { x, y, size } = boxOnScreen(region.frame, zoom);
    if (size >= DRAWN_PX_MIN) continue;
    const near = groups.find((group) => collide(group, { x, y }, world));
    if (near) near.regions.push(region);
    else groups.push({ x, y, regions: [region] });
  }
  return groups.map(({ x, y, regions: all }) => ({ regions: all, center: unproject({ x: x / world, y: y / world }), bounds: union(all.map(({ frame }) => frame)) }));
}

/** Where the last visited network is kept between visits. */
const STORAGE_KEY = "lineside.map.network";

/** @returns {string|null} the id of the network visited last; none where the browser keeps nothing */
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
    // Without storage the map opens at the nearest or the largest network.
  }
}
