import assert from "node:assert/strict";
import { test } from "node:test";
import { liveCalls, upcoming } from "../../map/calls.js";
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

test("the data clock follows the server and never falls behind its last message", () => {
  let elapsed = 0;
  const clock = new DataClock(1_000, 1_000, () => elapsed);
  elapsed = 50;
  assert.equal(clock.now(), 1_050);
  clock.observe(5_000);
  clock.observe(2_000);
  elapsed = 60;
  assert.equal(clock.now(), 5_010);
});

test("a recording's clock lies behind the server's", () => {
  let elapsed = 0;
  const clock = new DataClock(10_000, 4_000, () => elapsed);
  elapsed = 1_000;
  clock.observe(12_000);
  assert.equal(clock.now(), 6_000);
});
