/** Addresses of trip pages match the server's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runAddress, tripAddress } from "../../plain/dom.js";

test("a trip's address contains the date and start time from a departure's id", () => {
  assert.equal(tripAddress("town", "a1", "a1:20261123::2"), "/trips/town/a1?date=2026-11-23");
  assert.equal(tripAddress("town", "often", "often:20261123:08:30:00:2"), "/trips/town/often?date=2026-11-23&start=08%3A30%3A00");
  assert.equal(tripAddress("town", "a/1", "live:entity:7"), "/trips/town/a%2F1");
});

test("a trip's address contains the date and start time from a trip descriptor", () => {
  assert.equal(runAddress("town", "often", "20261123", "08:30:00"), "/trips/town/often?date=2026-11-23&start=08%3A30%3A00");
  assert.equal(runAddress("town", "a1", "2026", ""), "/trips/town/a1");
  assert.equal(runAddress("town", "a1"), "/trips/town/a1");
});
