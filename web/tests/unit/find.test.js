import assert from "node:assert/strict";
import { test } from "node:test";
import { boundsOfRoutes, findRoutes, findStops, groupNamesakes } from "../../map/find.js";
import { RouteQuery, fold } from "../../map/route_query.js";
import { Routes } from "../../map/routes.js";

test("text folding matches the server's", () => {
  for (const [text, folded] of [
    ["Gare de l’Est", "gare de lest"],
    ["Zürich HB / Süd", "zurich hb sud"],
    ["ŁÓDŹ-Fabryczna", "lodz fabryczna"],
    ["  Straße 12 (Nord) ", "strasse 12 nord"],
    ["Ørsted", "orsted"],
    ["St. Denis", "st denis"],
    ["東京", "東京"],
    ["İstanbul", "istanbul"],
  ]) {
    assert.equal(fold(text), folded);
  }
});

test("a line is found by name, mode or mode letter, as on the server", () => {
  const rank = (/** @type {string} */ question, /** @type {string} */ name, /** @type {string} */ long, /** @type {number} */ type) => new RouteQuery(question).rank({ name, long, type });
  for (const question of ["1", "line 1", "Linie 1", "tram 1", "Tram line 1"]) {
    assert.equal(rank(question, "1", "Harbour", 0), 0, question);
    assert.ok((rank(question, "10", "Harbour", 0) ?? 0) > 0, question);
    assert.equal(rank(question, "2", "Harbour", 0), null, question);
  }
  assert.equal(rank("T1", "1", "Harbour", 0), 1);
  assert.equal(rank("T1", "1", "Harbour", 3), null, "a bus");
  assert.equal(rank("T1", "T1", "Harbour", 3), 0, "the exact name");
  assert.equal(rank("bus 1", "1", "Harbour", 0), null);
  assert.equal(rank("tram museum", "9", "Tram Museum", 3), 2);
  assert.equal(rank("tram", "9", "Harbour", 0), null, "a mode word alone does not match");
  assert.equal(rank(" ", "9", "Harbour", 0), null);
});

/** @param {[string, string, string, number][]} all id, name, long name, type */
function routesOf(all) {
  const routes = new Routes([{ id: "city", routes: null, feeds: [] }]);
  for (const [id, short, long, type] of all) routes.add("city", { properties: { route_id: id, route_short_name: short, route_long_name: long, route_type: type }, geometry: null });
  return routes;
}

test("an exact name ranks first, and a mode word excludes lines of other modes", () => {
  const routes = routesOf([["b10", "10", "Hill", 3], ["t1", "1", "Harbour", 0], ["b1", "1", "Park", 3], ["t12", "12", "Depot", 0], ["b2", "2", "Line 1 Museum", 3]]);
  const found = (/** @type {string} */ question) => {
    const { byName, byDescription } = findRoutes(routes, question);
    return [byName.map(({ id }) => id), byDescription.map(({ id }) => id)];
  };
  assert.deepEqual(found("tram 1"), [["t1", "t12"], []]);
  assert.deepEqual(found("bus 1"), [["b1", "b10"], ["b2"]]);
  assert.deepEqual(found("T1"), [["t1"], []]);
  assert.deepEqual(found("Linie 12"), [["t12"], []]);
  assert.deepEqual(found("harbour"), [[], ["t1"]]);
  assert.deepEqual(found(""), [[], []]);
});

test("a line has a bounding box even if its points are not stored", () => {
  const routes = new Routes([{ id: "city", routes: null, feeds: [] }]);
  routes.points = 2_000_000;
  const feature = (/** @type {number[][]} */ coordinates) => ({ properties: { route_id: "r" }, geometry: { type: "LineString", coordinates } });
  routes.add("city", feature([[10, 50], [11, 51]]));
  routes.add("city", feature([[9, 52], [10, 50.5]]));
  assert.deepEqual(routes.linesOf("city", "r"), []);
  assert.deepEqual(boundsOfRoutes(routes, [{ feed: "city", id: "r" }]), [9, 50, 11, 52]);
  assert.equal(boundsOfRoutes(routes, [{ feed: "city", id: "unknown" }]), null);
});

test("a found stop has the colors of its lines, and no id as its code", async () => {
  const item = (/** @type {object} */ more) => ({ feed: "bay", id: "palo_alto", code: "palo_alto", name: "Palo Alto", lat: 37.4, lon: -122.2, platform_code: null, routes: ["L1", "B7"], route_colors: ["C0C0C0", null], towards: [], ...more });
  const found = async (/** @type {object} */ more) => {
    const known = globalThis.fetch;
    globalThis.fetch = async () => new Response(JSON.stringify({ items: [item(more)] }));
    try {
      return (await findStops("palo", null, () => null))[0];
    } finally {
      globalThis.fetch = known;
    }
  };
  assert.deepEqual((await found({})).lines, [{ name: "L1", color: "C0C0C0" }, { name: "B7", color: null }]);
  assert.ok(!(await found({})).about.includes("palo_alto"));
  assert.ok((await found({ code: "4711" })).about.includes("4711"));
  assert.ok((await found({ id: "4711", code: "4711" })).about.includes("4711"), "a number at the stop");
});

test("the stops of one place follow its first one", () => {
  const stop = (/** @type {string} */ name, /** @type {number} */ latitude = 37.4, feed = "bay") => /** @type {any} */ ({ feed, id: name, name, latitude, longitude: -122.2 });
  const grouped = groupNamesakes([stop("Transit Ctr-Bay 1"), stop("Market"), stop("Transit Ctr-Bay 9"), stop("Market", 37.5), stop("Market", 37.4, "other"), stop("Market"), stop("Bay 1")]);
  assert.deepEqual(grouped.map(({ name, sign }) => [name, sign]), [["Transit Ctr-Bay 1", undefined], ["Transit Ctr-Bay 9", "Bay 9"], ["Market", undefined], ["Market", ""], ["Market", undefined], ["Market", undefined], ["Bay 1", undefined]]);
});
