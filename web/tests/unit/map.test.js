import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, cover, widen } from "../../map/geohash.js";
import { glide, metersPerUnit, positionAt, project, rest, unproject } from "../../map/motion.js";
import { STANDSTILL } from "../../map/trouble.js";
import { Vehicles } from "../../map/vehicles.js";
import { formatView, modeOf, parseView } from "../../map/view.js";

test("cells match published geohashes", () => {
  assert.equal(cellOf(57.64911, 10.40744, 6), "u4pruy"); // the example of the geohash specification
  assert.equal(cellOf(48.8566, 2.3522, 5), "u09tv");
  assert.equal(cellOf(-33.8688, 151.2093, 4), "r3gx");
});

test("a view is covered by the smallest cells within the limit", () => {
  const paris = { west: 2.3, east: 2.4, south: 48.83, north: 48.89 };
  const cells = cover(paris, 64);
  assert.ok(cells.length > 0 && cells.length <= 64);
  assert.equal(cells[0].length, 5);
  assert.equal(new Set(cells).size, cells.length);
  for (const [longitude, latitude] of [[2.3, 48.83], [2.4, 48.89], [2.35, 48.86]]) {
    assert.ok(cells.includes(cellOf(latitude, longitude, 5)));
  }
  assert.deepEqual(cover({ west: -10, east: 30, south: 36, north: 60 }, 64), [], "a continent needs too many cells");
});

test("a view across the date line is covered on both sides", () => {
  const cells = cover({ west: 179.9, east: 180.1, south: -17, north: -16.9 }, 64);
  assert.ok(cells.some((cell) => cell.startsWith("r")) && cells.some((cell) => cell.startsWith("2")), cells.join(" "));
});

test("a view is widened by a margin", () => {
  assert.deepEqual(widen({ west: 0, east: 10, south: 0, north: 20 }, 0.1), { west: -1, east: 11, south: -2, north: 22 });
});

test("a view survives a round trip through the address", () => {
  const text = "?at=48.8566,2.3522,12.5&mode=tram,bus&route=city:T1&route=city:a:b&stop=city:S+1/2&station=hire:s1&show=list";
  const view = parseView(text);
  assert.deepEqual(view.routes, [{ feed: "city", id: "T1" }, { feed: "city", id: "a:b" }]);
  assert.deepEqual(view.stop, { feed: "city", id: "S 1/2" });
  assert.deepEqual(view.station, { feed: "hire", id: "s1" });
  assert.ok(view.list && view.modes.has("tram") && view.modes.has("bus"));
  assert.deepEqual(parseView(formatView(view)), view);
});

test("an invalid address gives an empty view", () => {
  const view = parseView("?at=900,0,3&mode=rocket&route=:&stop=x&vehicle=");
  assert.equal(formatView(view), "");
});

test("route types map to modes", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 11, 109, 702, 900, 1000, 99, null].map(modeOf), ["tram", "metro", "rail", "bus", "ferry", "bus", "rail", "bus", "tram", "ferry", "other", "other"]);
});

const at = (longitude, latitude) => project(longitude, latitude);
const near = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) * metersPerUnit(a.y) < 0.5;

test("projection and its inverse match", () => {
  const [longitude, latitude] = unproject(project(2.3522, 48.8566));
  assert.ok(Math.abs(longitude - 2.3522) < 1e-9 && Math.abs(latitude - 48.8566) < 1e-9);
  assert.ok(Math.abs(metersPerUnit(0.5) - 40_075_017) < 1);
});

test("a vehicle arrives when its next report is due", () => {
  const path = glide(at(0, 0), at(0.001, 0), [], 1_000, 2_000);
  assert.ok(near(positionAt(path, 1_000), at(0, 0)));
  assert.ok(near(positionAt(path, 2_000), at(0.0005, 0)));
  assert.ok(near(positionAt(path, 3_000), at(0.001, 0)));
  assert.ok(near(positionAt(path, 9_000), at(0.001, 0)), "the vehicle waits there");
  assert.ok(Math.abs((positionAt(path, 2_000).heading ?? 0) - Math.PI / 2) < 1e-6, "the heading is east");
});

test("a vehicle follows the corner of its line", () => {
  const corner = [at(0, 0), at(0.001, 0), at(0.001, -0.001)];
  const path = glide(at(0.0002, 0), at(0.001, -0.0008), [corner], 0, 2_000);
  assert.ok(near(positionAt(path, 1_000), at(0.001, 0)), "the corner is half-way");
  const back = glide(at(0.001, -0.0008), at(0.0002, 0), [corner], 0, 2_000);
  assert.ok(near(positionAt(back, 1_000), at(0.001, 0)), "the corner is half-way back");
});

test("a distant line or a long detour is not followed", () => {
  const far = [at(0, 0.01), at(0.001, 0.01)];
  const loop = [at(0, 0), at(0, 0.01), at(0.0004, 0.01), at(0.0004, 0)];
  for (const line of [far, loop, [at(0, 0)]]) {
    assert.equal(glide(at(0, 0), at(0.0004, 0), [line], 0, 2_000).points.length, 2);
  }
});

test("a jump is not animated", () => {
  assert.deepEqual(glide(at(0, 0), at(1, 0), [], 5, 2_000), rest(at(1, 0), 5));
});

test("a vehicle without a timestamp is stale when its feed is in trouble", () => {
  const isStale = (/** @type {string} */ state, /** @type {any} */ record) => {
    const networks = { isStandstill: () => STANDSTILL.includes(state), isInTrouble: () => state !== "ok" };
    return Vehicles.prototype.isStale.call(/** @type {any} */ ({ networks, nowOf: () => 1_000 }), /** @type {any} */ ({ feed: "city", record }));
  };
  const states = ["ok", "late", "stale", "failing", "paused"];
  assert.deepEqual(states.filter((state) => isStale(state, {})), ["late", "stale", "failing", "paused"]);
  assert.deepEqual(states.filter((state) => isStale(state, { timestamp: "950" })), ["stale", "failing", "paused"]);
  assert.ok(isStale("ok", { timestamp: 800 }));
});
