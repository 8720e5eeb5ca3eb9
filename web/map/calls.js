/**
 * The calls of a trip: its timetable, merged with a GTFS-Realtime trip update.
 *
 * @typedef {{stop_id: string, name: string, platform: string|null, latitude?: number|null, longitude?: number|null, sequence: number, arrival: number|null, departure: number|null}} Call  times in seconds
 * @typedef {Call & {scheduled: number|null, expected: number|null, delay: number|null, skipped: boolean}} LiveCall
 */
import { metersBetween } from "./regions.js";

/** Converts a number of a JSON message; 64-bit integers may be strings. @param {any} value */
const number = (value) => (value === null || value === undefined || value === "" ? null : Number(value));

/**
 * @param {Call[]} calls  in the order of the trip
 * @param {any} update    a TripUpdate, or null
 * @returns {LiveCall[]}
 */
export function liveCalls(calls, update) {
  const bySequence = new Map();
  const byStop = new Map();
  for (const each of update?.stop_time_update ?? []) {
    if (number(each.stop_sequence) !== null) bySequence.set(number(each.stop_sequence), each);
    else if (each.stop_id) byStop.set(each.stop_id, each);
  }
  const cancelled = ["CANCELED", "DELETED"].includes(update?.trip?.schedule_relationship);
  // A delay applies to the following calls, until another delay or NO_DATA.
  let delay = number(update?.delay);
  return calls.map((call) => {
    const stopUpdate = bySequence.get(call.sequence) ?? byStop.get(call.stop_id);
    const scheduled = call.departure ?? call.arrival;
    const skipped = cancelled || stopUpdate?.schedule_relationship === "SKIPPED";
    if (stopUpdate?.schedule_relationship === "NO_DATA") delay = null;
    else if (stopUpdate && !skipped) {
      const event = stopUpdate.departure ?? stopUpdate.arrival;
      const time = number(event?.time);
      if (time !== null && scheduled !== null) delay = time - scheduled;
      else delay = number(event?.delay) ?? delay;
    }
    const known = !skipped && delay !== null && scheduled !== null;
    return { ...call, scheduled, skipped, delay: known ? delay : null, expected: known ? scheduled + /** @type {number} */ (delay) : null };
  });
}

/**
 * Returns the coming calls and the number of passed ones. The next call is at the stop that the vehicle is on its way to, if
 * it is known, else the first whose time is not over.
 * @param {LiveCall[]} calls @param {number} now seconds @param {string|null} [nextStop] id of the stop that the vehicle is on its way to
 */
export function upcoming(calls, now, nextStop = null) {
  const byTime = calls.findIndex(({ expected, scheduled }) => (expected ?? scheduled ?? 0) >= now);
  const byTimes = byTime < 0 ? calls.length : byTime;
  // A trip may call at a stop twice.
  const [byStop] = calls.flatMap(({ stop_id: id }, at) => (id === nextStop ? [at] : [])).sort((a, b) => Math.abs(a - byTimes) - Math.abs(b - byTimes));
  const passed = byStop ?? byTimes;
  return { passed, calls: calls.slice(passed) };
}

/** A vehicle farther away than this from a stop, in meters, is not near it. */
const NEAR_STOP_M_MAX = 3_000;

/** Returns the call nearest to a place; null if none is near. @param {Call[]} calls @param {import("./regions.js").Place} place */
export function nearestCall(calls, place) {
  const placed = calls.flatMap((call) => (Number.isFinite(call.latitude) && Number.isFinite(call.longitude) ? [{ call, meters: metersBetween(/** @type {any} */ (call), place) }] : []));
  const [nearest] = placed.sort((a, b) => a.meters - b.meters);
  return nearest && nearest.meters <= NEAR_STOP_M_MAX ? nearest.call : null;
}
