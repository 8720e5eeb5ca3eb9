import assert from "node:assert/strict";
import { test } from "node:test";
import { liveCalls, nearestCall, upcoming } from "../../map/calls.js";
import { departuresAhead, isWithoutDelay } from "../../map/detail.js";
import { DataClock } from "../../plain/clock.js";

const call = (sequence, departure) => ({ stop_id: `s${sequence}`, name: `Stop ${sequence}`, platform: null, sequence, arrival: departure, departure });
const CALLS = [call(1, 100), call(2, 200), call(3, 300), call(4, 400)];
const delays = (update) => liveCalls(CALLS, update).map(({ delay, skipped }) => (skipped ? "skipped" : delay));

test("a delay applies to the following calls", () => {
  assert.deepEqual(delays({ stop_time_update: [{ stop_sequence: 2, departure: { delay: 60 } }] }), [null, 60, 60, 60]);
  assert.deepEqual(delays({ delay: 30, stop_time_update: [{ stop_sequence: 3, arrival: { time: "390" } }] }), [30, 30, 90, 90]);
});

test("an update may use stop_id instead of stop_sequence", () => {
  assert.deepEqual(delays({ stop_time_update: [{ stop_id: "s4", departure: { time: 380 } }] }), [null, null, null, -20]);
});

test("skipped calls have no time, and NO_DATA ends a delay", () => {
  const update = { stop_time_update: [{ stop_sequence: 1, departure: { delay: 10 } }, { stop_sequence: 2, schedule_relationship: "SKIPPED" }, { stop_sequence: 4, schedule_relationship: "NO_DATA" }] };
  assert.deepEqual(delays(update), [10, "skipped", 10, null]);
});

test("a cancelled trip skips every call", () => {
  assert.deepEqual(delays({ trip: { schedule_relationship: "CANCELED" } }), ["skipped", "skipped", "skipped", "skipped"]);
});

test("without an update the scheduled times remain", () => {
  assert.deepEqual(liveCalls(CALLS, null).map(({ expected, scheduled }) => [expected, scheduled])[0], [null, 100]);
});

test("passed calls are left out by their expected time", () => {
  const { passed, calls } = upcoming(liveCalls(CALLS, { delay: 50 }), 240);
  assert.equal(passed, 1);
  assert.deepEqual(calls.map(({ sequence }) => sequence), [2, 3, 4]);
  assert.equal(upcoming(liveCalls(CALLS, null), 1_000).calls.length, 0);
});

test("the stop that the vehicle reports comes before the times", () => {
  const calls = liveCalls(CALLS, null);
  const passed = (next, now) => upcoming(calls, now, next).passed;
  assert.deepEqual([passed("s3", 150), passed("s2", 350), passed("elsewhere", 150), passed("s4", 900)], [2, 1, 1, 3]);
  const loop = liveCalls([...CALLS, { ...call(5, 500), stop_id: "s1" }], null);
  assert.deepEqual([upcoming(loop, 50, "s1").passed, upcoming(loop, 450, "s1").passed], [0, 4], "a trip may call at a stop twice");
});

test("a vehicle is near a stop only within three kilometers", () => {
  const placed = [{ ...call(1, 100), latitude: 37.37, longitude: -121.99 }, { ...call(2, 200), latitude: 37.33, longitude: -121.9 }, call(3, 300)];
  assert.equal(nearestCall(placed, { latitude: 37.371, longitude: -121.98 })?.stop_id, "s1");
  assert.equal(nearestCall(placed, { latitude: 38, longitude: -121.98 }), null);
  assert.equal(nearestCall(CALLS, { latitude: 0, longitude: 0 }), null);
});

test("a stop's card has no departures that have left", () => {
  const departure = (id, at, status = "realtime") => ({ id, record: { status, expected: new Date(at * 1000).toISOString() } });
  const ahead = departuresAhead([departure("late", 2_000), departure("left", 900), departure("now", 980), departure("cancelled", 1_500, "cancelled")], 1_000);
  assert.deepEqual(ahead.map(({ id }) => id), ["now", "cancelled", "late"]);
  assert.deepEqual([isWithoutDelay({ status: "realtime" }), isWithoutDelay({ status: "realtime", delay: 0 }), isWithoutDelay({ status: "cancelled" }), isWithoutDelay({ status: "scheduled" })], [true, false, false, false]);
});

test("the data clock follows the server and never falls behind its last message", () => {
  let elapsed = 0;
  const clock = new DataClock(1_000, 1_000, null, () => elapsed);
  elapsed = 50;
  assert.equal(clock.now(), 1_050);
  clock.observe(5_000);
  clock.observe(2_000);
  elapsed = 60;
  assert.equal(clock.now(), 5_010);
});

test("a recording's clock lies behind the server's and runs at its own rate", () => {
  let elapsed = 0;
  const clock = new DataClock(10_000, 4_000, 10, () => elapsed);
  elapsed = 1_000;
  clock.observe(12_000);
  assert.equal(clock.now(), 15_000);
  clock.setData(20_000, 0);
  elapsed = 2_000;
  assert.equal(clock.now(), 20_000, "the recording has ended");
});
