/**
 * The continents, the borders and the names of countries for the map of the whole world, made when the bundle is built:
 * Natural Earth (public domain) from the package world-atlas, as GeoJSON with rounded coordinates.
 */

/** Decimals of a degree: about a kilometer, two pixels at the highest zoom at which land is drawn. */
const DECIMALS = 2;
/** Maximum distance of the simplified coast from the original, in degrees. */
const TOLERANCE = 0.01;
/** Latitude at which a ring around a pole is closed, outside of the Mercator map. */
const POLE = 89;

/** @typedef {{transform: {scale: [number, number], translate: [number, number]}, arcs: [number, number][][]}} Topology */

/** Decodes an arc to degrees; points are stored as differences. @param {Topology} topology @param {number} index */
function decodeArc({ transform: { scale, translate }, arcs }, index) {
  let [x, y] = [0, 0];
  const points = arcs[index < 0 ? ~index : index].map(([dx, dy]) => {
    x += dx;
    y += dy;
    return [x * scale[0] + translate[0], y * scale[1] + translate[1]];
  });
  return index < 0 ? points.reverse() : points;
}

/** @param {number[]} point @param {number[]} start @param {number[]} end */
function distanceToLine([x, y], [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const square = dx * dx + dy * dy;
  const share = square === 0 ? 0 : Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / square, 0), 1);
  return Math.hypot(x - x0 - share * dx, y - y0 - share * dy);
}

/** Removes points within the tolerance (Douglas and Peucker). @param {number[][]} points @returns {number[][]} */
export function simplify(points) {
  const kept = new Set([0, points.length - 1]);
  const open = [[0, points.length - 1]];
  for (let span = open.pop(); span; span = open.pop()) {
    const [start, end] = span;
    let [farthest, distance] = [-1, TOLERANCE];
    for (let at = start + 1; at < end; at += 1) {
      const away = distanceToLine(points[at], points[start], points[end]);
      if (away > distance) [farthest, distance] = [at, away];
    }
    if (farthest < 0) continue;
    kept.add(farthest);
    open.push([start, farthest], [farthest, end]);
  }
  return points.filter((_, at) => kept.has(at));
}

/** @param {number[][]} ring @returns {number[][]} rounded, without points that became equal */
function roundRing(ring) {
  const rounded = simplify(unwrapRing(ring)).map((point) => point.map((degrees) => Number(degrees.toFixed(DECIMALS))));
  return rounded.filter(([x, y], at) => at === 0 || x !== rounded[at - 1][0] || y !== rounded[at - 1][1]);
}

/** Shifts a ring so that its middle lies between 180 degrees west and east, like the middles of its holes. @param {number[][]} ring @returns {number[][]} */
function centerRing(ring) {
  const middle = (Math.min(...ring.map(([x]) => x)) + Math.max(...ring.map(([x]) => x))) / 2;
  const turn = middle < -180 ? 360 : middle > 180 ? -360 : 0;
  return turn === 0 ? ring : ring.map(([x, y]) => [x + turn, y]);
}

/**
 * Continues a ring that crosses the date line beyond 180 degrees, as a flat map needs it, and closes a ring around a pole
 * at latitude `POLE`.
 * @param {number[][]} ring @returns {number[][]}
 */
export function unwrapRing(ring) {
  let turn = 0;
  const unwrapped = ring.map(([x, y], at) => {
    const step = at === 0 ? 0 : x - ring[at - 1][0];
    if (step > 180) turn -= 360;
    else if (step < -180) turn += 360;
    return [x + turn, y];
  });
  if (turn === 0) return centerRing(unwrapped);
  const pole = ring[0][1] < 0 ? -POLE : POLE;
  return [...unwrapped, [unwrapped[unwrapped.length - 1][0], pole], [unwrapped[0][0], pole], unwrapped[0]];
}

/**
 * Returns the polygons of a TopoJSON geometry (https://github.com/topojson/topojson-specification).
 * @param {any} topology @param {any} geometry
 * @returns {number[][][][]}
 */
function polygonsOf(topology, geometry) {
  if (geometry.type === "GeometryCollection") return geometry.geometries.flatMap((/** @type {any} */ each) => polygonsOf(topology, each));
  const polygons = geometry.type === "Polygon" ? [geometry.arcs] : geometry.type === "MultiPolygon" ? geometry.arcs : [];
  return polygons.map((/** @type {number[][]} */ rings) =>
    rings.map((arcs) => arcs.flatMap((index, at) => decodeArc(topology, index).slice(at === 0 ? 0 : 1))),
  );
}

/** Returns true if a ring encloses anything that a Mercator map shows. @param {number[][]} ring */
const isVisible = (ring) => ring.length >= 4 && ring.some(([, y]) => Math.abs(y) < POLE);

/** @param {any} topology of world-atlas, with an object `land` @returns {import("geojson").Feature} */
export function landFeature(topology) {
  const polygons = polygonsOf(topology, topology.objects.land).map((rings) => rings.map(roundRing).filter(isVisible));
  return { type: "Feature", properties: { kind: "land" }, geometry: { type: "MultiPolygon", coordinates: polygons.filter((rings) => rings.length > 0) } };
}

/** Returns the indices of all arcs of a geometry. @param {any} geometry @returns {number[]} */
const arcsOf = (geometry) => (geometry.arcs ?? []).flat(Infinity);

/** Returns the borders: the arcs that two countries share. @param {any} topology of world-atlas, with an object `countries` @returns {import("geojson").Feature} */
export function borderFeature(topology) {
  const countries = topology.objects.countries.geometries;
  /** @type {Map<number, number>} */
  const owners = new Map();
  for (const country of countries) {
    for (const index of new Set(arcsOf(country).map((arc) => (arc < 0 ? ~arc : arc)))) owners.set(index, (owners.get(index) ?? 0) + 1);
  }
  const shared = [...owners].filter(([, count]) => count > 1).map(([index]) => roundRing(decodeArc(topology, index)));
  return { type: "Feature", properties: { kind: "border" }, geometry: { type: "MultiLineString", coordinates: shared.filter((line) => line.length > 1) } };
}

/** Returns twice the area of a ring and its centroid, in degrees. @param {number[][]} ring */
function centroid(ring) {
  let [area, x, y] = [0, 0, 0];
  for (let at = 1; at < ring.length; at += 1) {
    const [[x0, y0], [x1, y1]] = [ring[at - 1], ring[at]];
    const cross = x0 * y1 - x1 * y0;
    area += cross;
    x += (x0 + x1) * cross;
    y += (y0 + y1) * cross;
  }
  return { area: Math.abs(area), place: [x / (3 * area), y / (3 * area)].map((degrees) => Number(degrees.toFixed(DECIMALS))) };
}

/** Returns the names of countries, each in the middle of the largest part; `size` is its area in square degrees. @param {any} topology @returns {import("geojson").Feature[]} */
export function countryFeatures(topology) {
  return topology.objects.countries.geometries.map((/** @type {any} */ country) => {
    const parts = polygonsOf(topology, country).map(([outer]) => centroid(unwrapRing(outer)));
    const largest = parts.reduce((a, b) => (b.area > a.area ? b : a));
    return { type: "Feature", properties: { kind: "country", name: country.properties.name, size: Math.round(largest.area * 5) / 10 }, geometry: { type: "Point", coordinates: largest.place } };
  });
}
