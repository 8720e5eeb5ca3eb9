/**
 * The card of the selected vehicle with its trip, or of the selected stop with its departures. The
 * card is rebuilt whenever its data change.
 */
import { badge, badgeColors } from "../plain/badge.js";
import { element, encodeSegment, runAddress, tripAddress } from "../plain/dom.js";
import { ageOrDateWords, clock as hours, dateWords, delayWords, dueWords, seconds } from "../plain/words.js";
import { liveCalls, upcoming } from "./calls.js";
import { routeAddress } from "./view.js";

/** Maximum numbers of calls and departures on a card. */
const CALLS_MAX = 12;
const DEPARTURES_MAX = 12;

const OCCUPANCY = new Map([
  ["EMPTY", "Empty"],
  ["MANY_SEATS_AVAILABLE", "Many seats free"],
  ["FEW_SEATS_AVAILABLE", "Few seats free"],
  ["STANDING_ROOM_ONLY", "Standing room only"],
  ["CRUSHED_STANDING_ROOM_ONLY", "Very full"],
  ["FULL", "Full"],
  ["NOT_ACCEPTING_PASSENGERS", "Not taking passengers"],
]);

/** @typedef {{timezone: string, now: () => number, nameOf: (feed: string) => string, live: import("./trouble.js").LiveState|"lost"|null, isRecording: boolean, isStale: boolean, close: () => void, pickStop: (feed: string, id: string) => void}} Surroundings  `now` in seconds; `live` is the state of the stop's live times, null if unknown; `isStale` if the vehicle's position is old */

/** @param {Node[]} title @param {(Node|null)[]} meta @param {() => void} close */
export function head(title, meta, close) {
  return element(
    "header.detail-head",
    {},
    element("h2.detail-title", { id: "detail-title", tabindex: "-1" }, ...title),
    element("button.close", { type: "button", "aria-label": "Close", onclick: close }, "×"),
    element("div.meta", {}, ...meta),
  );
}

/** @param {string} tag @param {string} status @param {number|null|undefined} delay @param {boolean} [isRecording] true if nothing of the data is live */
function delaySign(tag, status, delay, isRecording = false) {
  const { words, tone } = delayWords(status, delay);
  if (isRecording && tone === "live") return element(`${tag}.tone-scheduled`, { "data-predicted": "" }, "Predicted");
  return element(`${tag}.tone-${tone}`, {}, words);
}

/**
 * Returns the status of a vehicle with an old position: its delay and next stop are the last known ones.
 * @param {any} join @param {boolean} hasEnded true if its trip has reached its last stop
 */
function oldStatus({ delay, next_stop_name: next }, hasEnded) {
  if (hasEnded) return element("span", { "data-status": "ended" }, "Ended");
  const known = [Number.isFinite(delay) ? delayWords("realtime", delay).words : null, next ? `next ${next}` : null].filter(Boolean);
  return known.length > 0 ? element("span.soft", { "data-status": "last_known" }, `Last known: ${known.join(" · ")}`) : element("span", { "data-status": "unknown" }, "Unknown");
}

/**
 * @param {import("./vehicles.js").Vehicle} vehicle
 * @param {{network: string, calls: import("./calls.js").Call[], headsign: string|null}|null} trip  its timetable, once known
 * @param {any} update  its trip update, if there is one
 * @param {import("./routes.js").Route|null} route  its line, once known
 * @param {Surroundings} around
 * @returns {Node[]}
 */
export function vehicleCard(vehicle, trip, update, route, around) {
  const { record, label, color, feed } = vehicle;
  const join = record.lineside ?? {};
  const calls = trip ? liveCalls(trip.calls, update) : [];
  const coming = upcoming(calls, around.now());
  const isLive = join.delay !== null && join.delay !== undefined;
  const hasEnded = calls.length > 0 && coming.calls.length === 0;
  const facts = around.isStale ? [oldStatus(join, hasEnded)] : [
    delaySign("strong", isLive ? "realtime" : "scheduled", join.delay),
    join.next_stop_name ? element("span", {}, ` · next ${join.next_stop_name}`) : null,
  ];
  const occupancy = OCCUPANCY.get(record.occupancy_status);
  const age = record.timestamp ? ageOrDateWords(Number(record.timestamp), around.now(), around.timezone) : "at an unknown time";
  const name = record.vehicle?.label || record.vehicle?.id;
  const small = [name ? `Vehicle ${name}` : null, occupancy, `position ${age}`].filter(Boolean).join(" · ");
  const whole = trip && record.trip?.trip_id ? element("a.trip-link", { href: runAddress(trip.network, record.trip.trip_id, record.trip.start_date, record.trip.start_time) }, "Whole trip") : null;
  const card = [
    head(
      [badge(label || "–", color), element("span", {}, join.headsign ?? trip?.headsign ?? "No destination given")],
      [route || whole ? element("p.small", {}, route && lineLink(route), route && whole && " · ", whole) : null, element("p", {}, ...facts), element("p.soft.small", {}, small)],
      around.close,
    ),
  ];
  if (trip && coming.calls.length > 0) card.push(callList(coming, trip.network, color, around));
  else if (hasEnded) card.push(element("p.detail-foot.soft", {}, around.isStale ? "By the timetable, this trip has ended." : "This trip has reached its last stop."));
  else if (!record.trip?.trip_id) card.push(element("p.detail-foot.soft", {}, "This vehicle reports no trip."));
  card.push(element("p.detail-foot", {}, "Position from ", element("a", { href: `/feeds/${feed}` }, around.nameOf(feed))));
  return card;
}

/** Returns a line's name as a link to its page. @param {import("./routes.js").Route} route */
function lineLink(route) {
  const long = route.long && route.long !== route.name ? ` · ${route.long}` : "";
  return element("a", { href: routeAddress(route) }, `Line ${route.name}${long}`);
}

/** @param {{passed: number, calls: import("./calls.js").LiveCall[]}} coming @param {string} network @param {string|null} color @param {Surroundings} around */
function callList({ calls }, network, color, around) {
  const list = element("ol.calls", { "aria-label": "Next stops" });
  list.style.setProperty("--line-color", badgeColors(color).background);
  for (const call of calls.slice(0, CALLS_MAX)) {
    const time = (/** @type {number} */ at) => hours(at, around.timezone);
    const isMoved = call.expected !== null && call.scheduled !== null && time(call.expected) !== time(call.scheduled);
    const when = call.expected ?? call.scheduled;
    list.append(
      element(
        `li${call.skipped ? ".is-skipped" : ""}`,
        {},
        element("a.name", { href: `/stops/${network}/${encodeURIComponent(call.stop_id)}`, onclick: pick(() => around.pickStop(network, call.stop_id)) }, call.name),
        element(
          "span",
          {},
          isMoved ? element("s.was", {}, element("span.visually-hidden", {}, "scheduled "), time(call.scheduled ?? 0)) : null,
          call.skipped ? element("strong.tone-cancelled", {}, "not served") : when === null ? "" : element("strong", {}, time(when)),
        ),
      ),
    );
  }
  return list;
}

/** Returns a listener that stays on the map for a plain click; with a modifier key the link opens. @param {() => void} then @returns {(event: MouseEvent) => void} */
const pick = (then) => (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  then();
};

/**
 * @param {{feed: string, id: string, name: string, platform: string|null, timetable_ended?: string|null, no_departures?: string}} stop  `timetable_ended` is a date, `no_departures` what the board says without rows
 * @param {{id: string, record: any}[]|null} departures  null until the state has arrived
 * @param {Surroundings} around
 * @returns {Node[]}
 */
export function stopCard(stop, departures, around) {
  const leaves = (/** @type {any} */ record) => seconds(record.expected) ?? seconds(record.scheduled) ?? 0;
  const sorted = [...(departures ?? [])].sort((a, b) => leaves(a.record) - leaves(b.record)).slice(0, DEPARTURES_MAX);
  const rows = sorted.map(({ id, record }) => {
    const isOff = record.status === "cancelled" || record.status === "skipped";
    return element(
      "li",
      {},
      badge(record.route_short_name, record.route_color),
      element("span", {}, destination(stop.feed, id, record), record.platform ? element("span.soft.small", {}, ` · platform ${record.platform}`) : null),
      element("span.when", {}, isOff ? hours(seconds(record.scheduled) ?? 0, around.timezone) : dueWords(leaves(record) - around.now())),
      delaySign("span.delay", record.status, record.delay, around.isRecording),
    );
  });
  const body = rows.length > 0 ? element("ol.detail-board", { "aria-label": "Departures" }, ...rows) : departures === null ? element("p.detail-foot.soft", {}, "Loading departures …") : noDepartures(stop);
  return [
    head([element("span", {}, stop.name)], [boardState(stop, departures, around)], around.close),
    body,
    element("p.detail-foot", {}, element("a", { href: `/stops/${stop.feed}/${encodeURIComponent(stop.id)}` }, "Whole departure board")),
  ];
}

/** What the card says about the departures, by the state of the live data. @type {Record<string, string>} */
const BOARD_WORDS = {
  lost: "Connection lost", missing: "Live data missing", some_missing: "Live data missing", late: "Live data delayed", some_late: "Live data delayed", delayed: "Live data delayed",
  ended: "Timetable ended", timetable: "Timetable only",
};

/** Returns the platform and whether the departures are live; null if there is nothing to say. @param {{platform: string|null}} stop @param {{record: any}[]|null} departures @param {Surroundings} around */
function boardState({ platform }, departures, { live, now, timezone }) {
  const hasLive = (departures ?? []).some(({ record }) => record.status !== "scheduled");
  const ofLive = hasLive ? "Departures, live" : departures?.length ? "Departures of the timetable" : null;
  const words = live === "recording" ? `Recording, ${hours(now(), timezone)}` : live === "live" ? ofLive : live && BOARD_WORDS[live];
  const texts = [platform ? `Platform ${platform}` : null, words].filter(Boolean);
  return texts.length > 0 ? element("p.soft.small", { "data-live": live === "live" && !hasLive ? "scheduled" : live }, texts.join(" · ")) : null;
}

/** Returns a departure's destination, as a link to its trip where possible. @param {string} feed @param {string} id @param {any} record */
function destination(feed, id, record) {
  const to = record.headsign || record.trip_id;
  return record.trip_id ? element("a.trip-link", { href: tripAddress(feed, record.trip_id, id) }, to) : to;
}

/** Returns the reason why there are no departures, as the stop's board states it. @param {{timetable_ended?: string|null, no_departures?: string}} stop */
function noDepartures({ timetable_ended: ended, no_departures: reason = "" }) {
  return ended ? element("p.detail-foot", { "data-timetable-ended": ended }, `This timetable ended on ${dateWords(ended)}. ${reason}`) : element("p.detail-foot.soft", {}, reason);
}

/** Number of channels reserved for the selection. */
export const DETAIL_CHANNELS_MAX = 8;

/** @param {import("./view.js").Ref} stop */
const stopChannel = ({ feed, id }) => `stop/${feed}/${encodeSegment(id)}`;

/**
 * Returns the channels of the selection; any real-time feed of the network may have the vehicle's trip.
 * @param {import("./view.js").View} view @param {string|null} tripId @param {string[]} feeds of the vehicle's network
 */
export function detailChannels({ vehicle, station, stop }, tripId, feeds) {
  const channels = [];
  if (vehicle) channels.push(`vehicle/${vehicle.feed}/${encodeSegment(vehicle.id)}`);
  if (station) channels.push(`station/${station.feed}/${encodeSegment(station.id)}`);
  if (stop) channels.push(stopChannel(stop));
  if (vehicle && tripId) {
    const others = feeds.filter((feed) => feed !== vehicle.feed).slice(0, DETAIL_CHANNELS_MAX - 2);
    channels.push(...others.map((feed) => `trip/${feed}/${encodeSegment(tripId)}`));
  }
  return channels;
}

/** @param {import("../plain/state.js").Store} store @param {import("./view.js").Ref} stop @returns {{id: string, record: any}[]|null} null until they have arrived */
export function heldDepartures(store, stop) {
  const channelState = store.channels.get(stopChannel(stop));
  return channelState?.hasState ? [...channelState.records.values()].filter(({ kind }) => kind === "departure") : null;
}

/** Finds the trip update of a trip on its date. @param {import("../plain/state.js").Store} store @param {{trip_id?: string, start_date?: string}|undefined} trip */
export function heldUpdate(store, trip) {
  const held = store.list("trip_update").filter(({ record }) => trip?.trip_id && record.trip?.trip_id === trip.trip_id);
  return (held.find(({ record }) => record.trip.start_date === trip?.start_date) ?? held[0])?.record ?? null;
}

/**
 * Returns the GeoJSON that marks the selection: the shape of a trip, or the place of a stop or rental.
 * @param {{shape: [number, number][], color: string|null}|null} trip
 * @param {{longitude: number, latitude: number}|null} stop @param {import("./bikes.js").Rental|null} rental
 * @returns {import("geojson").FeatureCollection}
 */
export function selectedFeatures(trip, stop, rental) {
  /** @type {import("geojson").Feature[]} */
  const features = [];
  if (trip && trip.shape.length > 1) features.push({ type: "Feature", properties: trip.color ? { color: `#${trip.color}` } : {}, geometry: { type: "LineString", coordinates: trip.shape } });
  const places = [stop && Number.isFinite(stop.longitude) ? [stop.longitude, stop.latitude] : null, rental?.place];
  for (const place of places) if (place) features.push({ type: "Feature", properties: { role: "stop" }, geometry: { type: "Point", coordinates: place } });
  return { type: "FeatureCollection", features };
}
