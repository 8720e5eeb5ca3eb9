/**
 * The networks that the map can jump to: at which one it opens, which are in view, and which are
 * drawn as a bubble with their number because they are too small on the screen.
 *
 * @typedef {[number, number, number, number]} Bounds  west, south, east, north in degrees
 * @typedef {{id: string, name: string, feeds: string[], live: string[], bounds: Bounds, frame: Bounds, ended: string|null, vehicles: number, stations: number, unplaced: number, recording: boolean}} Region
 * @typedef {{longitude: number, latitude: number}} Place
 * @typedef {{regions: Region[], center: [number, number], bounds: Bounds, dots: {id: string, center: [number, number]}[]}} Cluster
 */
import { numberWords } from "../plain/words.js";
import { project, unproject } from "./motion.js";

/** How near the map goes to a network. */
export const REGION_ZOOM_MAX = 13;
/** A network that is smaller than this on the screen, in pixels, is a bubble. */
const DRAWN_PX_MIN = 72;
/** What a bubble takes on the screen, in pixels, as in the style sheet. Letters and figures are taken for wider than most are. */
const BUBBLE_PX = { dot: 24, figures: 44, figure: 9, padding: 24, letter: 8, labelPadding: 12, labelMax: 120, line: 17, gap: 4 };
/** Two networks of one bubble that are nearer than this on the screen have one dot, in pixels. */
const DOT_PX_MIN = 14;
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
 * The box around as many networks as a map of the whole earth can show at once, the first of them where some are as many.
 * @param {Region[]} regions @param {number} span how many degrees of longitude it can show @returns {Bounds}
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

/**
 * The network that the map shows: the one that was chosen while a part of it is in the middle of the map, else the smallest there.
 * @param {Region[]} regions @param {Bounds} middle a box @param {string|null} chosen its id @returns {Region|null}
 */
export function currentRegion(regions, middle, chosen) {
  const [west, south, east, north] = middle;
  const isShown = (/** @type {Region} */ { id, bounds }) => id === chosen && overlaps(middle, bounds);
  return regions.find(isShown) ?? regionAt(regions, { longitude: (west + east) / 2, latitude: (south + north) / 2 });
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

/** What a bubble says. @param {Region[]} regions */
export const bubbleName = (regions) => (regions.length === 1 ? regions[0].name : `${regions.length} networks`);

/** The figure in a bubble: vehicles, else stations; 0 where there is none. @param {Region[]} regions */
export function bubbleCount(regions) {
  const sum = (/** @type {"vehicles"|"stations"} */ what) => regions.reduce((all, region) => all + region[what], 0);
  return sum("vehicles") || sum("stations");
}

/** How far a bubble reaches from its place to the sides, up, and down below its label, in pixels. @param {Region[]} regions */
export function bubbleExtents(regions) {
  const count = bubbleCount(regions);
  const sign = count > 0 ? Math.max(BUBBLE_PX.figures, numberWords(count).length * BUBBLE_PX.figure + BUBBLE_PX.padding) : BUBBLE_PX.dot;
  const label = bubbleName(regions).length * BUBBLE_PX.letter + BUBBLE_PX.labelPadding;
  const up = (count > 0 ? BUBBLE_PX.figures : BUBBLE_PX.dot) / 2;
  const lines = label > BUBBLE_PX.labelMax ? 2 : 1;
  return { aside: Math.max(sign, Math.min(label, BUBBLE_PX.labelMax)) / 2 + BUBBLE_PX.gap / 2, up, down: up + lines * BUBBLE_PX.line + BUBBLE_PX.gap };
}

/** @typedef {{x: number, y: number, regions: Region[]}} Group */

/** Whether the bubbles of two groups would cover each other; the world goes on at its edges. @param {Group} a @param {Group} b @param {number} world its width */
function collide(a, b, world) {
  const [sizeA, sizeB] = [bubbleExtents(a.regions), bubbleExtents(b.regions)];
  const aside = Math.abs(a.x - b.x) % world;
  if (Math.min(aside, world - aside) >= sizeA.aside + sizeB.aside) return false;
  return a.y - sizeA.up < b.y + sizeB.down && b.y - sizeB.up < a.y + sizeA.down;
}

/**
 * The networks that are too small to be drawn at a zoom, in groups whose bubbles do not cover each other. A group lies where its first
 * network lies, and has a dot for each other one that is not in the same place. From the zoom on to which the map goes for a network
 * there are none: one of a single stop is small at every zoom, and would cover it.
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
    // A group's label is another than those of its networks, and may cover a third bubble.
    const [{ x, y, regions: known }] = groups.splice(at, 1);
    add({ x, y, regions: [...known, ...group.regions] });
  };
  for (const region of regions) {
    const { x, y, size } = place(region);
    if (size < DRAWN_PX_MIN) add({ x, y, regions: [region] });
  }
  const onEarth = (/** @type {{x: number, y: number}} */ { x, y }) => unproject({ x: x / world, y: y / world });
  return groups.map((group) => ({ regions: group.regions, center: onEarth(group), bounds: union(group.regions.map(({ frame }) => frame)), dots: dotsOf(group, place).map(({ id, x, y }) => ({ id, center: onEarth({ x, y }) })) }));
}

/** The networks of a group that lie elsewhere than its bubble and each other. @param {Group} group @param {(region: Region) => {x: number, y: number}} place */
function dotsOf({ x, y, regions }, place) {
  /** @type {{id: string, x: number, y: number}[]} */
  const dots = [{ id: "", x, y }];
  for (const region of regions) {
    const at = place(region);
    if (dots.every((dot) => Math.hypot(dot.x - at.x, dot.y - at.y) >= DOT_PX_MIN)) dots.push({ id: region.id, x: at.x, y: at.y });
  }
  return dots.slice(1);
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
