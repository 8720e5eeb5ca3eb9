/** The ground of a region: which cells of the earth are in view, and what one holds as GeoJSON (ground/cells.js made them). */
import { CELL_DEGREES } from "../ground/cells.js";
import { signedArea } from "../ground/rings.js";

/** From this zoom on cells are drawn: fewer than a dozen are in view then. */
export const CELL_ZOOM_MIN = 6.5;
const UNITS = 1000;
/** The scheme of the addresses of cells, which ground.js answers. */
export const CELL_SCHEME = "ground";

/** The address of a cell's GeoJSON, for the map library. @param {string} name */
export const cellUrl = (name) => `${CELL_SCHEME}://${name}`;

/** @param {string} url @returns {string} */
export const cellOfUrl = (url) => url.slice(CELL_SCHEME.length + 3);

/**
 * The cells in a view; none where they would be too many.
 * @param {string[]} cells all that there are
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
/** Whether a shore was cut there. @param {number[]} point */
const isAtEdge = (point) => point.some((units) => units % CELL_UNITS === 0);

/** A ring with its corners cut (Chaikin): the data leave out what would make a shore round. @param {number[][]} ring @returns {number[][]} */
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
        return feature({ type: "Polygon", coordinates }, { kind: signedArea(ring) > 0 ? "water" : "land", order });
      }),
      ...towns.map(([name, x, y, population]) => feature({ type: "Point", coordinates: degrees([x, y]) }, { kind: "town", name, population })),
    ],
  };
}
