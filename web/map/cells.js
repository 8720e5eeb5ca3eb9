/** The base map of a region: selects the cells in view and decodes the cells of ground/cells.js to GeoJSON. */
import { CELL_DEGREES } from "../ground/cells.js";
import { signedArea } from "../ground/rings.js";

/** Minimum zoom at which cells are drawn: fewer than a dozen are in view then. */
export const CELL_ZOOM_MIN = 6.5;
const UNITS = 1000;
/** URL scheme of cells, which ground.js handles. */
export const CELL_SCHEME = "ground";

/** Returns the URL of a cell's GeoJSON for the map library. @param {string} name */
export const cellUrl = (name) => `${CELL_SCHEME}://${name}`;

/** @param {string} url @returns {string} */
export const cellOfUrl = (url) => url.slice(CELL_SCHEME.length + 3);

/**
 * Returns the cells in a view; none below `CELL_ZOOM_MIN`.
 * @param {string[]} cells all existing cells
 * @param {[number, number, number, number]|null} bounds west, south, east, north; beyond 180 degrees after a turn around the earth
 * @param {number} zoom
 * @returns {string[]}
 */
export function cellsInView(cells, bounds, zoom) {
  if (!bounds || zoom < CELL_ZOOM_MIN) return [];
  const [west, south, east, north] = bounds.map((degrees) => Math.floor(degrees / CELL_DEGREES));
  const turn = 360 / CELL_DEGREES;
  /** @type {string[]} */
  const found = [];
  for (let x = west; x <= east; x += 1) {
    for (let y = south; y <= north; y += 1) found.push(`${((((x + turn / 2) % turn) + turn) % turn) - turn / 2}.${y}`);
  }
  return found.filter((name) => cells.includes(name));
}

/** @param {number[]} shore @returns {number[][]} in units */
function decodeShore(shore) {
  let [x, y] = [0, 0];
  const points = [];
  for (let at = 0; at < shore.length; at += 2) {
    x += shore[at];
    y += shore[at + 1];
    points.push([x, y]);
  }
  return points;
}

const CELL_UNITS = CELL_DEGREES * UNITS;
/** Returns true if the point is on the edge of a cell, where shores are cut. @param {number[]} point */
const isAtEdge = (point) => point.some((units) => units % CELL_UNITS === 0);

/** Rounds the corners of a ring (Chaikin), because the shores are simplified. @param {number[][]} ring @returns {number[][]} */
function smooth(ring) {
  const between = (/** @type {number[]} */ a, /** @type {number[]} */ b) => [a[0] * 0.75 + b[0] * 0.25, a[1] * 0.75 + b[1] * 0.25];
  /** @type {number[][]} */
  const round = [];
  for (let at = 1; at < ring.length; at += 1) {
    const [a, b] = [ring[at - 1], ring[at]];
    round.push(isAtEdge(a) ? a : between(a, b));
    if (!isAtEdge(b)) round.push(between(b, a));
  }
  return [...round, round[0]];
}

/** Water without an edge of a cell and with a smaller area than this, in square kilometers, may be a piece of a river. */
const PIECE_KM2_MAX = 6;
/** Kilometers of a thousandth of a degree of latitude. */
const UNIT_KM = 0.1112;

/**
 * Returns true for a small closed shore. The data lack the narrow parts of rivers, so that the others look like a row of lakes.
 * @param {number[][]} ring in units
 */
function isPiece(ring) {
  const latitude = ring[0][1] / UNITS;
  const area = Math.abs(signedArea(ring)) * UNIT_KM ** 2 * Math.cos((latitude * Math.PI) / 180);
  return area < PIECE_KM2_MAX && !ring.some(isAtEdge);
}

/** @param {import("../ground/cells.js").Cell} cell @returns {import("geojson").FeatureCollection} */
export function decodeCell({ shores, towns }) {
  const degrees = (/** @type {number[]} */ point) => point.map((units) => units / UNITS);
  /** @param {import("geojson").Geometry} geometry @param {object} properties @returns {import("geojson").Feature} */
  const feature = (geometry, properties) => ({ type: "Feature", properties, geometry });
  return {
    type: "FeatureCollection",
    features: [
      ...shores.map((shore, order) => {
        const ring = decodeShore(shore);
        const coordinates = [smooth(smooth(ring)).map(degrees)];
        return feature({ type: "Polygon", coordinates }, { kind: signedArea(ring) > 0 ? "water" : "land", order, is_piece: isPiece(ring) });
      }),
      ...towns.map(([name, x, y, population]) => feature({ type: "Point", coordinates: degrees([x, y]) }, { kind: "town", name, population })),
    ],
  };
}
