import assert from "node:assert/strict";
import { test } from "node:test";
import { Bikes, isRental, systemsAmong } from "../../map/bikes.js";
import { Store } from "../../plain/state.js";
import { freeWords, rangeWords, reportedWords, serviceWords, stationWords, VehicleTypes } from "../../map/rental.js";

const type = (form_factor) => ({ form_factor });
const TYPES = new Map([["b", type("bicycle")], ["e", type("bicycle")], ["k", type("scooter_standing")], ["new", type("hoverboard")]]);
const at = (counts, more) => ({ num_vehicles_available: Object.values(counts).reduce((a, b) => a + b, 0), vehicle_types_available: Object.entries(counts).map(([vehicle_type_id, count]) => ({ vehicle_type_id, count })), ...more });

test("a station's vehicles are named by their form factor if they share one", () => {
  assert.equal(stationWords(at({ b: 5, e: 2 }, { num_docks_available: 3 }), TYPES), "7 bikes, 3 docks");
  assert.equal(stationWords(at({ b: 1, k: 0 }, { num_docks_available: 1 }), TYPES), "1 bike, 1 dock");
  assert.equal(stationWords(at({ k: 2 }), TYPES), "2 scooters", "no docks without a dock count");
  assert.equal(stationWords(at({ b: 1, k: 1 }), TYPES), "2 vehicles");
  assert.equal(stationWords(at({ new: 1 }), TYPES), "1 vehicle");
  assert.equal(stationWords({ num_vehicles_available: 4 }, new Map([["", type("bicycle")]])), "4 bikes", "a system without types has bicycles only");
  assert.equal(stationWords({ num_vehicles_available: 4 }, new Map()), "4 vehicles");
  assert.equal(stationWords({}, TYPES), "Availability unknown");
});

test("a station's status says whether it is open", () => {
  const words = (record) => serviceWords(record).words;
  assert.equal(words({ is_renting: true, is_returning: true }), "Open: you can rent and return here");
  assert.equal(words({ is_renting: false, is_returning: true }), "Returns only");
  assert.equal(words({ is_renting: true, is_returning: false }), "Rentals only, no returns");
  assert.equal(words({ is_renting: false, is_returning: false }), "Closed");
  assert.equal(words({ is_renting: true, is_installed: false }), "Not installed");
  assert.equal(words({}), "Status unknown");
});

test("a free vehicle's text names its state and range", () => {
  assert.deepEqual([{}, { is_reserved: true }, { is_reserved: true, is_disabled: true }].map((record) => freeWords(record).words), ["Free to rent", "Reserved", "Out of use"]);
  assert.equal(rangeWords({ current_range_meters: 12_400, current_fuel_percent: 0.8 }), "12 km of range, 80 % charged");
  assert.equal(rangeWords({ current_range_meters: 0 }), "0 m of range");
  assert.equal(rangeWords({}), "");
  assert.equal(reportedWords({ last_reported: "1970-01-01T00:01:00Z" }, 72), "12 s ago");
  assert.equal(reportedWords({}, 72), "");
});

test("the list has a shorter status only for a station that is open for everything", () => {
  const brief = (/** @type {any} */ record) => serviceWords(record).brief;
  assert.ok((brief({ is_renting: true, is_returning: true }) ?? "").length < serviceWords({ is_renting: true, is_returning: true }).words.length);
  assert.deepEqual([brief({ is_renting: false, is_returning: true }), brief({ is_renting: true, is_returning: false }), brief({ is_installed: false }), brief({})], [undefined, undefined, undefined, undefined]);
});

test("GBFS systems are distinguished from other GeoJSON, and their vehicles from transit vehicles", () => {
  const works = { url: "/proxy/works", name: "Works" };
  const raw = [{ url: "/geojson/hire/stations.geojson", name: "" }, { url: "/geojson/hire/vehicles.geojson", name: "" }, works, { url: "/geojson/free/vehicles.geojson", name: "" }];
  assert.deepEqual(systemsAmong(raw), { systems: ["hire", "free"], others: [works] });
  assert.deepEqual([{ kind: "station", record: {} }, { kind: "vehicle", record: { vehicle_id: "x" } }, { kind: "vehicle", record: { vehicle: { id: "x" } } }, { kind: "feed", record: {} }].map(isRental), [true, true, false, false]);
});

test("rentals of a dropped cell expire after a moment, except for the selected one; removed rentals disappear at once", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const store = new Store();
  const bikes = new Bikes();
  const tell = (changes, more) => bikes.apply(store.apply({ channel: "area/u4xs", epoch: "e", ...more, data: { at: 1, ...more.data, changes } }), store);
  const put = (id) => ({ op: "upsert", feed: "hire", kind: "vehicle", id, record: { vehicle_id: id, lat: 59.9, lon: 10.7 } });
  tell([put("a"), put("b"), put("c"), { op: "upsert", feed: "hire", kind: "station", id: "s", record: { station_id: "s" } }], { offset: 1, data: { state: { part: 1, parts: 1 } } });
  const ids = () => [...bikes.all.values()].map(({ id }) => id);
  assert.deepEqual(ids(), ["a", "b", "c"], "no station without a position");
  tell([{ op: "remove", feed: "hire", kind: "vehicle", id: "a", why: "gone" }], { offset: 2 });
  assert.deepEqual(ids(), ["b", "c"]);
  bikes.drop(store.retainChannels([]), store);
  bikes.sweep(undefined);
  assert.deepEqual(ids(), ["b", "c"], "rentals stay for a moment");
  now = 60_000;
  bikes.sweep("hire\nvehicle\nc");
  assert.deepEqual(ids(), ["c"]);
  const drawn = (/** @type {string|null} */ chosen, isOld = false) => bikes.features(false, chosen, () => isOld).features;
  assert.equal(drawn(null).length, 0, "the filter hides them");
  assert.deepEqual(drawn("hire\nvehicle\nc").map(({ properties }) => properties?.isOpen), [true], "the selected rental is always drawn");
  assert.deepEqual(drawn("hire\nvehicle\nc", true).map(({ properties }) => properties?.isOpen), [false], "old data offer nothing to rent");
  bikes.sweep(undefined);
  assert.deepEqual(ids(), []);
});

test("vehicle types are requested again after a failure, and a system without types has bicycles", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = [];
  const said = { data: { vehicle_types: [{ vehicle_type_id: "e", ...type("scooter") }] } };
  const answers = {
    "/gbfs/late/3/vehicle_types": [() => Promise.reject(new TypeError("no connection")), () => new Response("", { status: 503 }), () => Response.json(said)],
    "/gbfs/plain/3/vehicle_types": [() => new Response("", { status: 404 })],
  };
  t.mock.method(globalThis, "fetch", async (/** @type {string} */ address) => {
    asked.push(address);
    return answers[address].shift()();
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const types = new VehicleTypes(() => {});
  for (const n of [1, 2]) {
    assert.deepEqual([...types.of("late"), ...types.of("late")], []);
    await settled();
    assert.equal(asked.length, n, "one request at a time");
    t.mock.timers.tick(29_999);
    types.of("late");
    assert.equal(asked.length, n);
    t.mock.timers.tick(1);
  }
  types.of("late");
  types.of("plain");
  await settled();
  t.mock.timers.tick(60_000);
  assert.equal(types.of("late").get("e").form_factor, "scooter");
  assert.equal(types.of("plain").get("").form_factor, "bicycle");
  assert.equal(asked.length, 4);
});
