/** What the open card needs beyond the live records: the timetable of the vehicle's trip, the stop, and the last known rental. */
import { encodeSegment } from "../plain/dom.js";
import { fetchJson } from "./fetch_json.js";

/**
 * @typedef {{network: string, calls: import("./calls.js").Call[], headsign: string|null, shape: [number, number][], color: string|null}} Trip
 * @typedef {{feed: string, id: string, name: string, platform: string|null, latitude: number, longitude: number, timetable_ended?: string|null, times_feeds?: string[], no_departures?: string}} Stop
 */

export class Selection {
  /** @type {Trip|null} */
  trip = null;
  /** @type {string|null} */
  tripId = null;
  /** @type {import("./bikes.js").Rental|null} */
  rental = null;
  /** @type {Stop|null} */
  stop = null;

  /** True if the server does not know the selected stop. */
  isStopMissing = false;

  clear() {
    this.trip = this.tripId = this.rental = this.stop = null;
    this.isStopMissing = false;
  }

  /** Loads a stop. @param {import("./view.js").Ref} ref @param {() => import("./view.js").Ref|null} selected returns the selected stop @returns {Promise<boolean>} true if it is still selected; the stop is null if the server does not know it */
  async loadStop({ feed, id }, selected) {
    const stop = await fetchJson("/map/stop", { feed, stop_id: id });
    if (selected()?.id !== id) return false;
    this.stop = stop;
    this.isStopMissing = stop === null;
    return true;
  }

  /**
   * Loads the timetable of a vehicle's trip, once per trip.
   * @param {import("./vehicles.js").Vehicle|null} vehicle @param {string} network @param {() => void} named called when the trip is known
   * @returns {Promise<boolean>} true if it has arrived and the trip is still selected
   */
  async loadTrip(vehicle, network, named) {
    const trip = vehicle?.record.trip;
    if (!vehicle || !trip?.trip_id || this.tripId === trip.trip_id) return false;
    this.tripId = trip.trip_id;
    this.trip = null;
    named();
    const known = await fetchJson("/map/trip", { feed: network, trip_id: trip.trip_id, start_date: trip.start_date ?? "", start_time: trip.start_time ?? "" });
    if (!known || this.tripId !== trip.trip_id) return false;
    this.trip = { ...known, network, color: vehicle.color };
    return true;
  }

  /** Returns the place of the stop, if it has one. @returns {[number, number]|null} */
  stopPlace() {
    return this.stop && Number.isFinite(this.stop.longitude) ? [this.stop.longitude, this.stop.latitude] : null;
  }

  /**
   * Returns what is selected and not there, once this is certain; call it if no record of the selection is known.
   * @param {import("./view.js").View} view @param {import("../plain/state.js").Store} store
   * @returns {{kind: "vehicle"|"stop"|"station", feed: string, id: string}|null}
   */
  findMissing({ vehicle, stop, station }, store) {
    if (stop) return this.isStopMissing ? { kind: "stop", ...stop } : null;
    const kind = vehicle ? "vehicle" : "station";
    const ref = vehicle ?? station;
    return ref && store.channels.get(`${kind}/${ref.feed}/${encodeSegment(ref.id)}`)?.hasState ? { kind, ...ref } : null;
  }
}
