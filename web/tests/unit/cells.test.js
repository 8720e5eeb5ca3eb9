import assert from "node:assert/strict";
import { test } from "node:test";
import { cutIntoCells, makeCells } from "../../ground/cells.js";
import { mergePieces, orient, signedArea } from "../../ground/rings.js";
import { borderFeature, countryFeatures } from "../../ground/land.js";
import { cellOfUrl, cellUrl, cellsInView, decodeCell } from "../../map/cells.js";

/** @param {number} west @param {number} south @param {number} east @param {number} north */
const box = (west, south, east, north) => [[west, south], [east, south], [east, north], [west, north], [west, south]];

test("a sea that spans several cells keeps its area", () => {
  const sea = box(5_000, -12_000, 25_000, 3_000);
  const parts = cutIntoCells(sea);
  assert.deepEqual([...parts.keys()].sort(), ["0.-1", "0.-2", "0.0", "1.-1", "1.-2", "1.0", "2.-1", "2.-2", "2.0"]);
  assert.equal([...parts.values()].reduce((sum, ring) => sum + signedArea(ring), 0), signedArea(sea));
  assert.deepEqual([...cutIntoCells(box(1_000, 1_000, 2_000, 2_000)).keys()], ["0.0"]);
});

test("a cell has the shore of a lake, its island and its towns, without small ponds", () => {
  const lake = [box(11, 51, 12, 52), box(11.4, 51.4, 11.6, 51.6)];
  const pond = [box(13, 51, 13.001, 51.001)];
  const towns = [
    { name: "Small", population: 900, loc: { coordinates: /** @type {[number, number]} */ ([15.1234, 55.5]) } },
    { name: "Large", population: 90_000, loc: { coordinates: /** @type {[number, number]} */ ([19.9, 59.9]) } },
  ];
  const cell = makeCells([pond, lake], towns).get("1.5");
  assert.ok(cell);
  const { features } = decodeCell(JSON.parse(JSON.stringify(cell)));
  assert.deepEqual(features.map(({ properties, geometry }) => [properties?.kind, geometry.type]), [["water", "Polygon"], ["land", "Polygon"], ["town", "Point"], ["town", "Point"]]);
  const [ring] = /** @type {any} */ (features[0].geometry).coordinates;
  assert.ok(ring.every((/** @type {number[]} */ [x, y]) => x >= 11 && x <= 12 && y >= 51 && y <= 52) && signedArea(ring) > 0.8, "smooth, and nearly as large");
  assert.deepEqual(features[2].properties, { kind: "town", name: "Large", population: 90_000 }, "the largest is first");
  assert.deepEqual(/** @type {any} */ (features[3].geometry).coordinates, [15.123, 55.5]);
});

test("small water is distinguished from large water and from water at the edge of a cell", () => {
  const large = [box(11, 51, 12, 52)];
  const piece = [box(13, 51, 13.02, 51.02)];
  const atEdge = [box(19.98, 51, 20.02, 51.02)];
  const features = [...makeCells([piece, large, atEdge], []).values()].flatMap((cell) => decodeCell(cell).features);
  const pieces = features.filter(({ properties }) => properties?.is_piece).map(({ geometry }) => /** @type {any} */ (geometry).coordinates[0][0][0]);
  assert.ok(features.length > 2 && pieces.length === 1 && pieces[0] >= 13 && pieces[0] <= 13.02, String(pieces));
});

test("edges between cells are not rounded", () => {
  const cell = makeCells([[box(5, 45, 15, 55)]], []).get("1.5");
  assert.ok(cell);
  const [ring] = /** @type {any} */ (decodeCell(cell).features[0].geometry).coordinates;
  for (const corner of [[10, 50], [15, 50], [10, 55]]) assert.ok(ring.some((/** @type {number[]} */ [x, y]) => x === corner[0] && y === corner[1]), String(corner));
});

test("the pieces of a lake merge into one shore", () => {
  // Two large adjacent pieces, a smaller one next to them, and an island across the border of the large ones.
  const left = orient([[[0, 0], [4, 0], [4, 1], [3, 2], [4, 3], [4, 4], [0, 4], [0, 0]]]);
  const right = orient([[[4, 0], [8, 0], [8, 4], [4, 4], [4, 3], [5, 2], [4, 1], [4, 0]]]);
  const small = orient([[[8, 1], [10, 1], [9, 3], [8, 3], [8, 1]]]);
  const rings = mergePieces([...left, ...right, ...small]);
  assert.deepEqual(rings.map(signedArea).sort((a, b) => a - b), [-2, 35]);
});

test("only existing cells are in view, also across the date line, and none at low zoom", () => {
  const cells = ["17.-2", "-18.-2", "0.5"];
  assert.deepEqual(cellsInView(cells, [175, -18, 186, -16], 8), ["17.-2", "-18.-2"]);
  assert.deepEqual(cellsInView(cells, [-185, -18, -175, -16], 8), ["17.-2", "-18.-2"]);
  assert.deepEqual(cellsInView(cells, [1, 51, 2, 52], 3), []);
  assert.deepEqual(cellsInView(cells, null, 8), []);
  assert.equal(cellOfUrl(cellUrl("-18.-2")), "-18.-2");
});

test("borders are the arcs that two countries share, and names are on the largest part", () => {
  const topology = {
    transform: { scale: [1, 1], translate: [0, 0] },
    // The border between two squares, the rest of each square, and an island of the second.
    arcs: [[[10, 0], [0, 10]], [[10, 10], [-10, 0], [0, -10], [10, 0]], [[10, 0], [10, 0], [0, 10], [-10, 0]], [[30, 0], [1, 0], [0, 1], [-1, -1]]],
    objects: { countries: { type: "GeometryCollection", geometries: [
      { type: "Polygon", arcs: [[0, 1]], properties: { name: "West" } },
      { type: "MultiPolygon", arcs: [[[2, ~0]], [[3]]], properties: { name: "East" } },
    ] } },
  };
  assert.deepEqual(borderFeature(topology).geometry, { type: "MultiLineString", coordinates: [[[10, 0], [10, 10]]] });
  const named = countryFeatures(topology).map(({ properties, geometry }) => [properties?.name, /** @type {any} */ (geometry).coordinates]);
  assert.deepEqual(named, [["West", [5, 5]], ["East", [15, 5]]]);
});
