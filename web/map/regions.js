/**
 * The networks that the map can jump to: selects the initial one, those in view, and those that are
 * so small on the screen that a bubble with their count represents them.
 *
 * @typedef {[number, number, number, number]} Bounds  west, south, east, north in degrees
 * @typedef {{id: string, name: string, feeds: string[], live: string[], bounds: Bounds, frame: Bounds, ended: string|null, vehicles: number, stations: number, unplaced: number, recording: boolean}} Region
 * @typedef {{longitude: number, latitude: number}} Place
 * @typedef {{regions: Region[], center: [number, number], bounds: Bounds, dots: {id: string, center: [number, number]}[]}} Cluster
 */
import { numberWords } from "../plain/words.js";
import { project, unproject } from "./motion.js";

/** Maximum zoom for showing a network. */
export const REGION_ZOOM_MAX = 13;
/** A network smaller than this on the screen, in pixels, is shown as a bubble. */
const DRAWN_PX_MIN = 72;
/** Dimensions of a bubble in pixels, as in the style sheet. Widths of letters and figures are upper estimates. */
const BUBBLE_PX = { dot: 24, figures: 44, figure: 9, padding: 24, letter: 8, labelPadding: 12, labelMax: 120, line: 17, gap: 4 };
/** Minimum distance between the dots of one bubble, in pixels; nearer networks share a dot. */
const DOT_PX_MIN = 14;
/** The width of the world at zoom 0, in MapLibre. */
const WORLD_PX = 512;
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
  const nearest = place && [...regions].sort((a, b) => metersToBounds(place, a.bounds) - metersToBounds(place, b.bounds))[0];
  return byId(named) ?? byId(lastVisited) ?? nearest ?? regions[0] ?? null;
}

/** Returns the smallest network around a place. @param {Region[]} regions @param {Place} place @returns {Region|null} */
export function regionAt(regions, { longitude, latitude }) {
  const around = regions.filter(({ bounds }) => {
    const [west, south, east, north] = bounds;
    const turned = turnedTo(longitude, bounds);
    return west <= turned && turned <= east && south <= latitude && latitude <= north;
  });
  const size = (/** @type {Region} */ { bounds: [west, south, east, north] }) => (east - west) * (north - south);
  return around.sort((a, b) => size(a) - size(b))[0] ?? null;
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

/** Returns the networks in a view, in their order. @param {Region[]} regions @param {Bounds|null} view null selects all */
export const regionsInView = (regions, view) => (view ? regions.filter(({ bounds }) => overlaps(view, bounds)) : regions);

/** @param {Bounds} bounds @param {number} zoom */
function boxOnScreen([west, south, east, north], zoom) {
  const world = WORLD_PX * 2 ** zoom;
  const [topLeft, bottomRight] = [project(west, north), project(east, south)];
  return { x: ((topLeft.x + bottomRight.x) / 2) * world, y: ((topLeft.y + bottomRight.y) / 2) * world, size: Math.max(bottomRight.x - topLeft.x, bottomRight.y - topLeft.y) * world };
}

/** Returns the label of a bubble. @param {Region[]} regions */
export const bubbleName = (regions) => (regions.length === 1 ? regions[0].name : `${regions.length} networks`);

/** Returns the count of a bubble: vehicles, else stations; 0 if there are none. @param {Region[]} regions */
export function bubbleCount(regions) {
  const sum = (/** @type {"vehicles"|"stations"} */ what) => regions.reduce((all, region) => all + region[what], 0);
  return sum("vehicles") || sum("stations");
}

/** Returns the extents of a bubble from its place: to each side, up, and down including its label, in pixels. @param {Region[]} regions */
export function bubbleExtents(regions) {
  const count = bubbleCount(regions);
  const sign = count > 0 ? Math.max(BUBBLE_PX.figures, numberWords(count).length * BUBBLE_PX.figure + BUBBLE_PX.padding) : BUBBLE_PX.dot;
  const label = bubbleName(regions).length * BUBBLE_PX.letter + BUBBLE_PX.labelPadding;
  const up = (count > 0 ? BUBBLE_PX.figures : BUBBLE_PX.dot) / 2;
  const lines = label > BUBBLE_PX.labelMax ? 2 : 1;
  return { aside: Math.max(sign, Math.min(label, BUBBLE_PX.labelMax)) / 2 + BUBBLE_PX.gap / 2, up, down: up + lines * BUBBLE_PX.line + BUBBLE_PX.gap };
}

/** @typedef {{x: number, y: number, regions: Region[]}} Group */

/** Returns true if the bubbles of two groups overlap; the world wraps around at its edges. @param {Group} a @param {Group} b @param {number} world its width */
function collide(a, b, world) {
  const [sizeA, sizeB] = [bubbleExtents(a.regions), bubbleExtents(b.regions)];
  const aside = Math.abs(a.x - b.x) % world;
  if (Math.min(aside, world - aside) >= sizeA.aside + sizeB.aside) return false;
  return a.y - sizeA.up < b.y + sizeB.down && b.y - sizeB.up < a.y + sizeA.down;
}

/**
 * Groups the networks that are too small to be drawn at a zoom, so that their bubbles do not overlap. A group's bubble is at the
 * place of its first network, with dots at the places of its other networks. From `REGION_ZOOM_MAX` on there are no bubbles: a
 * network of a single stop is small at every zoom, and a bubble would cover it.
 * @param {Region[]} regions @param {number} zoom
 * @returns {Cluster[]}
 */
export function clusterRegions(regions, zoom) {
  if (zoom >= REGION_ZOOM_MAX) return [];
  const world = WORLD_PX * 2 ** zoom;
  /** @type {Group[]} */
  const groups = [];
  const place = (/** @type {Region} */ { frame }) => boxOnScreen(frame, zoom);
  const add = (/** @type {Group} */ group) => {
    const at = groups.findIndex((other) => collide(other, group, world));
    if (at < 0) return void groups.push(group);
    // The merged group has a new label, which may overlap a third bubble.
    const [{ x, y, regions: known }] = groups.splice(at, 1);
    add({ x, y, regions: [...known, ...group.regions] });
  };
  for (const region of regions) {
    const { x, y, size } = place(region);
    if (size < DRAWN_PX_MIN) add({ x, y, regions: [region] });
  }
  const onEarth = (/** @type {{x: number, y: number}} */ { x, y }) => unproject({ x: x / world, y: y / world });
  return groups.map((group) => ({ regions: group.regions, center: onEarth(group), bounds: union(group.regions.map(({ frame }) => frame)), dots: dotsOf(group, groups, place).map(({ id, x, y }) => ({ id, center: onEarth({ x, y }) })) }));
}

/**
 * Returns the dots of a group: one for each network away from every bubble and from the other dots.
 * @param {Group} group @param {Group[]} groups all groups @param {(region: Region) => {x: number, y: number}} place
 */
function dotsOf({ regions }, groups, place) {
  /** @type {{id: string, x: number, y: number}[]} */
  const dots = [];
  for (const region of regions) {
    const at = place(region);
    const isFree = (/** @type {{x: number, y: number}} */ { x, y }) => Math.hypot(x - at.x, y - at.y) >= DOT_PX_MIN;
    if (groups.every(isFree) && dots.every(isFree)) dots.push({ id: region.id, x: at.x, y: at.y });
  }
  return dots;
}

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
