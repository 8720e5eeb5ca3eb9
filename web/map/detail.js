/**
 * The card of the selected vehicle with its trip, or of the selected stop with its departures. The
 * card is rebuilt whenever its data change.
 */
import { badge, badgeColors } from "../plain/badge.js";
import { element, encodeSegment, runAddress, tripAddress } from "../plain/dom.js";
import { ageOrDateWords, ON_TIME_S, clock as hours, clockOrDay, dateWords, dayAndClock, delayWords, dueWords, seconds, shownDelay } from "../plain/words.js";
import { liveCalls, nearestCall, upcoming } from "./calls.js";
import { vehicleTitle } from "./vehicle_title.js";
import { routeAddress } from "./view.js";

/** Maximum numbers of calls and departures on a card. */
const CALLS_MAX = 12;
/** Number of passed calls on a card. */
const PASSED_MAX = 1;
/** Seconds after which a departure has left, as in `dueWords`. */
const LEFT_S = 30;
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

/**
 * Returns the card of something that a link names and that is not there.
 * @param {"vehicle"|"stop"|"station"} kind @param {string} id @param {{id: string, name: string}|undefined} network  @param {() => void} close @returns {Node[]}
 */
export function missingCard(kind, id, network, close) {
  const words = { vehicle: "This vehicle no longer reports its position.", stop: "This stop is not in the timetable.", station: "This station is no longer reported." }[kind];
  const title = { vehicle: `Vehicle ${id}`, stop: "Stop not found", station: "Station not found" }[kind];
  const pages = network ? element("p.detail-foot", {}, element("a", { href: `/networks/${encodeURIComponent(network.id)}` }, `${network.name}: lines, stops and departures`)) : null;
  return [head([element("span", {}, title)], [element("p", { "data-missing": kind }, words)], close), ...(pages ? [pages] : [])];
}

/** Returns a vehicle's line and destination as a title, else its name. @param {import("./vehicles.js").Vehicle} vehicle @param {string|null|undefined} headsign @returns {Node[]} */
function vehicleHeading(vehicle, headsign) {
  if (!vehicle.label && !headsign) return [element("span", { "data-name": "" }, vehicleTitle(vehicle))];
  return [badge(vehicle.label || "–", vehicle.color), element("span", {}, headsign ? `To ${headsign}` : "No destination given")];
}

/** @param {string} tag @param {string} status @param {number|null|undefined} delay */
function delaySign(tag, status, delay) {
  const { words, tone } = delayWords(status, delay);
  return element(`${tag}.tone-${tone}`, {}, words);
}

/**
 * Returns the delay of a vehicle as the row of its next call shows it: the difference of the two minutes.
 * @param {import("./calls.js").LiveCall|undefined} next @param {number} delay of the vehicle, if the call has no times
 */
function delayAt(next, delay) {
  if (!next || next.expected === null || next.scheduled === null) return delay;
  return shownDelay(next.expected - next.scheduled, next.scheduled, next.expected);
}

/**
 * Returns where and when a vehicle with an old position was last seen, and its last known delay and next stop.
 * @param {any} record @param {import("./calls.js").LiveCall[]} calls of its trip
 * @param {boolean} hasEnded true if all times of its trip are over: nobody knows whether it arrived
 * @param {Surroundings} around
 */
function oldStatus(record, calls, hasEnded, around) {
  const { delay, next_stop_name: next } = record.lineside ?? {};
  const near = record.position ? nearestCall(calls, record.position) : null;
  const when = record.timestamp ? clockOrDay(Number(record.timestamp), around.now(), around.timezone) : "at an unknown time";
  const seen = ["Last seen", near && `near ${near.name}`].filter(Boolean).join(" ");
  const known = hasEnded ? [] : [Number.isFinite(delay) ? delayWords("realtime", delay).words : null, next ? `next ${next}` : null].filter(Boolean);
  const status = hasEnded ? "ended" : known.length > 0 ? "last_known" : "unknown";
  return element("span", { "data-status": status, "data-near": near?.stop_id }, `${seen}${near ? "," : ""} ${when}`, known.length > 0 && element("span.soft", {}, `. Last known: ${known.join(" · ")}`));
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
  const { record, color, feed } = vehicle;
  const join = record.lineside ?? {};
  const calls = trip ? liveCalls(trip.calls, update) : [];
  const coming = upcoming(calls, around.now(), around.isStale ? null : join.next_stop_id);
  const isLive = join.delay !== null && join.delay !== undefined;
  const hasEnded = calls.length > 0 && coming.calls.length === 0;
  const facts = around.isStale ? [oldStatus(record, calls, hasEnded, around)] : [
    delaySign("strong", isLive ? "realtime" : "scheduled", isLive ? delayAt(coming.calls[0], join.delay) : join.delay),
    join.next_stop_name ? element("span", {}, ` · next ${join.next_stop_name}`) : null,
  ];
  const occupancy = OCCUPANCY.get(record.occupancy_status);
  const age = record.timestamp ? ageOrDateWords(Number(record.timestamp), around.now(), around.timezone) : "at an unknown time";
  const title = vehicleHeading(vehicle, join.headsign ?? trip?.headsign);
  const hasName = record.vehicle?.label || record.vehicle?.id;
  const small = [hasName && title.length > 1 ? vehicleTitle(vehicle) : null, occupancy, around.isStale ? null : `position ${age}`].filter(Boolean).join(" · ");
  const whole = trip && record.trip?.trip_id ? element("a.trip-link", { href: runAddress(trip.network, record.trip.trip_id, record.trip.start_date, record.trip.start_time) }, "Whole trip") : null;
  const card = [
    head(
      title,
      [route || whole ? element("p.small", {}, route && lineLink(route), route && whole && " · ", whole) : null, element("p", {}, ...facts), small ? element("p.soft.small", {}, small) : null],
      around.close,
    ),
  ];
  if (trip && coming.calls.length > 0) card.push(callList(calls, coming.passed, trip.network, color, around));
  else if (hasEnded) card.push(element("p.detail-foot.soft", { "data-ended": update ? "predicted" : "timetable" }, `By ${update ? "its last predicted times" : "the timetable"}, this trip has ended.`));
  else if (!record.trip?.trip_id) card.push(element("p.detail-foot.soft", {}, "This vehicle reports no trip."));
  card.push(element("p.detail-foot", {}, "Position from ", element("a", { href: `/feeds/${feed}` }, around.nameOf(feed))));
  return card;
}

/** Returns a line's name as a link to its page. @param {import("./routes.js").Route} route */
function lineLink(route) {
  const long = route.long && route.long !== route.name ? ` · ${route.long}` : "";
  return element("a", { href: routeAddress(route) }, `Line ${route.name}${long}`);
}

/**
 * Returns the list of the coming calls, after the last passed one.
 * @param {import("./calls.js").LiveCall[]} calls @param {number} passed number of passed calls @param {string} network @param {string|null} color @param {Surroundings} around
 */
function callList(calls, passed, network, color, around) {
  const list = element("ol.calls", { "aria-label": "Stops" });
  list.style.setProperty("--line-color", badgeColors(color).background);
  // The times alone do not say that a vehicle with an old position has passed a stop.
  const first = around.isStale ? passed : Math.max(passed - PASSED_MAX, 0);
  for (const [at, call] of calls.entries()) {
    if (at < first || at >= passed + CALLS_MAX) continue;
    list.append(callRow(call, around.isStale ? null : at < passed ? "passed" : at === passed ? "next" : null, network, around));
  }
  return list;
}

/** @param {import("./calls.js").LiveCall} call @param {"passed"|"next"|null} progress @param {string} network @param {Surroundings} around */
function callRow(call, progress, network, around) {
  const time = (/** @type {number} */ at) => hours(at, around.timezone);
  // A smaller difference is on time, also across a minute.
  const isMoved = call.expected !== null && call.scheduled !== null && Math.abs(call.expected - call.scheduled) >= ON_TIME_S;
  const when = call.expected ?? call.scheduled;
  return element(
    `li${call.skipped ? ".is-skipped" : ""}${progress === "passed" ? ".is-passed" : ""}`,
    { "data-progress": progress, "aria-current": progress === "next" ? "step" : null },
    element("a.name", { href: `/stops/${network}/${encodeURIComponent(call.stop_id)}`, onclick: pick(() => around.pickStop(network, call.stop_id)) }, call.name),
    element(
      "span",
      {},
      progress ? element("span.progress", {}, progress, " ") : null,
      isMoved ? element("s.was", {}, element("span.visually-hidden", {}, "scheduled "), time(call.scheduled ?? 0)) : null,
      call.skipped ? element("strong.tone-cancelled", {}, "not served") : when === null ? "" : element("strong", {}, time(when)),
    ),
  );
}

/** Returns a listener that stays on the map for a plain click; with a modifier key the link opens. @param {() => void} then @returns {(event: MouseEvent) => void} */
const pick = (then) => (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  then();
};

/** @param {any} record of a departure @returns {number} seconds */
const departureTime = (record) => seconds(record.expected) ?? seconds(record.scheduled) ?? 0;

/** Returns the first departures that have not left, in the order of their times. @param {{id: string, record: any}[]} departures @param {number} now seconds */
export function departuresAhead(departures, now) {
  const ahead = departures.filter(({ record }) => departureTime(record) - now >= -LEFT_S);
  return ahead.sort((a, b) => departureTime(a.record) - departureTime(b.record)).slice(0, DEPARTURES_MAX);
}

/** Returns true if a departure has a predicted time and no delay, because the timetable does not have it. @param {any} record */
export const isWithoutDelay = ({ status, delay }) => delayWords(status, delay).tone === "live";

/**
 * @param {{feed: string, id: string, name: string, platform: string|null, timetable_ended?: string|null, no_departures?: string}} stop  `timetable_ended` is a date, `no_departures` what the board says without rows
 * @param {{id: string, record: any}[]|null} departures  null until the state has arrived
 * @param {Surroundings} around
 * @returns {Node[]}
 */
export function stopCard(stop, departures, around) {
  const ahead = departuresAhead(departures ?? [], around.now());
  // In a recording nothing is live; the head says once that times are predicted.
  const isPredicted = (/** @type {any} */ record) => around.isRecording && isWithoutDelay(record);
  const rows = ahead.map(({ id, record }) => {
    const isOff = record.status === "cancelled" || record.status === "skipped";
    return element(
      "li",
      {},
      badge(record.route_short_name, record.route_color),
      element("span", {}, destination(stop.feed, id, record), record.platform && record.platform !== stop.platform ? element("span.soft.small", { "data-platform": record.platform }, ` · platform ${record.platform}`) : null),
      element("span.when", {}, isOff ? hours(seconds(record.scheduled) ?? 0, around.timezone) : dueWords(departureTime(record) - around.now())),
      isPredicted(record) ? element("span.delay") : delaySign("span.delay", record.status, shownDelay(record.delay, seconds(record.scheduled), seconds(record.expected))),
    );
  });
  const body = rows.length > 0 ? element("ol.detail-board", { "aria-label": "Departures" }, ...rows) : departures === null ? element("p.detail-foot.soft", {}, "Loading departures …") : noDepartures(stop);
  return [
    head([element("span", {}, stop.name)], [boardState(stop, departures, ahead.some(({ record }) => isPredicted(record)), around)], around.close),
    body,
    element("p.detail-foot", {}, element("a", { href: `/stops/${stop.feed}/${encodeURIComponent(stop.id)}` }, "Whole departure board")),
  ];
}

/** What the card says about the departures, by the state of the live data. @type {Record<string, string>} */
const BOARD_WORDS = {
  lost: "Connection lost", missing: "Live data missing", some_missing: "Live data missing", late: "Live data delayed", some_late: "Live data delayed", delayed: "Live data delayed",
  ended: "Timetable ended", timetable: "Timetable only",
};

/** Returns the platform and whether the departures are live; null if there is nothing to say. @param {{platform: string|null}} stop @param {{record: any}[]|null} departures @param {boolean} isPredicted @param {Surroundings} around */
function boardState({ platform }, departures, isPredicted, { live, isRecording, now, timezone }) {
  const hasLive = (departures ?? []).some(({ record }) => record.status !== "scheduled");
  const ofLive = hasLive ? `Departures, live, ${hours(now(), timezone)}` : departures?.length ? "Departures of the timetable" : null;
  // Also in trouble, the times are not those of today.
  const recorded = isRecording || live === "recording" ? `Recording of ${dayAndClock(now(), timezone)}${isPredicted ? ", predicted times" : ""}` : null;
  const words = live === "recording" ? null : live === "live" ? ofLive : live && BOARD_WORDS[live];
  const texts = [platform ? `Platform ${platform}` : null, recorded, words].filter(Boolean);
  return texts.length > 0 ? element("p.soft.small", { "data-live": live === "live" && !hasLive ? "scheduled" : live, "data-predicted": isPredicted ? "" : null }, texts.join(" · ")) : null;
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
