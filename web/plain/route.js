/**
 * A line with its vehicles: the server made the stops, and the line's channel moves the vehicles. This script renders
 * vehicles exactly as crates/lineside-pages/src/line.rs does. The server estimates the positions of trips without a
 * vehicle, so those are fetched with a new page.
 */
import { DataClock } from "./clock.js";
import { byId, element, island, replaceContent, runAddress } from "./dom.js";
import { Events } from "./events.js";
import { isUnreliable, pollFeeds, showState } from "./states.js";
import { departureWords, liveSign } from "./trouble.js";
import { delayWords } from "./words.js";

/** @type {{channel: string, network: string, wall: number, now: number, rate: number | null}} */
const page = island("route-data");
const clock = new DataClock(page.wall, page.now, page.rate);
if (page.rate !== null) pollFeeds([page.network], clock);
const elsewhere = byId("elsewhere");
const directions = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".direction"))].map((section) => ({
  id: section.dataset.direction === undefined ? null : Number(section.dataset.direction),
  /** The headsigns of the direction's trips. */
  headsigns: new Set([section.dataset.to, ...JSON.parse(section.dataset.headsigns ?? "[]")]),
  places: new Map([.../** @type {NodeListOf<HTMLElement>} */ (section.querySelectorAll("li[data-stop]"))].reverse().flatMap((place) => {
    const coming = /** @type {HTMLElement} */ (place.querySelector(".coming"));
    return /** @type {string[]} */ (JSON.parse(place.dataset.stops ?? "[]")).map((stop) => [stop, coming]);
  })),
}));
const lists = [...directions.flatMap(({ places }) => [...places.values()]), /** @type {HTMLElement} */ (elsewhere.querySelector(".coming"))];

/** Screens above which a page folds its directions on a phone. */
const SCREENS_MAX = 3;

if (matchMedia("(max-width: 46rem)").matches && document.documentElement.scrollHeight > SCREENS_MAX * innerHeight) {
  for (const fold of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll(".direction > details"))) fold.open = false;
}

/** Time without a connection after which vehicles turn grey, in milliseconds. */
const LOST_MS = 20_000;

/** Feeds with unreliable vehicle positions. @type {Set<string>} */
const stale = new Set([...document.querySelectorAll(".vehicle.is-stale")].map((vehicle) => vehicle.getAttribute("data-source") ?? ""));

/** Greys the vehicles of an unreliable feed, or removes the grey. @param {string} feed @param {boolean} isStale */
function showReliability(feed, isStale) {
  stale[isStale ? "add" : "delete"](feed);
  for (const vehicle of document.querySelectorAll(`.vehicle[data-source="${CSS.escape(feed)}"]`)) vehicle.classList.toggle("is-stale", isStale);
}

/** @param {{id: string, feed: string, record: any}} held @returns {HTMLElement} */
function vehicle({ id, feed, record }) {
  const join = record.lineside ?? {};
  const { words, tone } = delayWords("realtime", join.delay);
  const label = record.vehicle?.label || (/^(trip|entity):/.test(id) ? "" : id);
  const name = label ? `Vehicle ${label}` : "Vehicle";
  const title = join.headsign ? `to ${join.headsign}` : name;
  const { trip_id: trip, start_date: date, start_time: start } = record.trip ?? {};
  return element(
    stale.has(feed) ? "li.vehicle.is-stale" : "li.vehicle",
    { "data-id": id, "data-source": feed },
    element("span.vehicle-sign", { "aria-hidden": "true" }, "▼"),
    element("span.vehicle-name", {}, trip ? element("a.target", { href: runAddress(page.network, trip, date, start) }, title) : title),
    join.headsign && label && element("span.soft.small", {}, name),
    typeof join.delay === "number" && element(`span.delay.tone-${tone}`, {}, words),
  );
}

/** Returns the list at a vehicle's next stop. @param {any} record */
function place(record) {
  const next = record.lineside?.next_stop_id;
  const directionId = record.lineside?.direction_id ?? record.trip?.direction_id;
  const goes = record.lineside?.headsign;
  const has = directions.filter(({ places }) => places.has(next));
  const going = has.filter(({ id }) => typeof directionId === "number" && id === directionId);
  const fitting = going.length > 0 ? going : has;
  const direction = fitting.find(({ headsigns }) => headsigns.has(goes)) ?? fitting[0];
  return direction?.places.get(next) ?? lists[lists.length - 1];
}

/** @param {{id: string, feed: string, record: any}[]} vehicles */
function show(vehicles) {
  /** @type {Map<HTMLElement, HTMLElement[]>} */
  const coming = new Map(lists.map((list) => [list, []]));
  const sorted = [...vehicles].sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const held of sorted) coming.get(place(held.record))?.push(vehicle(held));
  for (const [list, content] of coming) replaceContent(list, content);
  showElsewhere();
}

function showElsewhere() {
  elsewhere.hidden = elsewhere.querySelector("li") === null;
}

/** Interval at which estimated positions are fetched, in milliseconds; a trip reaches a stop about once a minute. */
const ESTIMATES_MS = 15_000;

/** Fetches the current page and shows its trips without a vehicle. */
async function fetchEstimates() {
  if (document.hidden) return;
  const reply = await fetch(location.href).catch(() => null);
  if (!reply?.ok) return;
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  for (const shown of document.querySelectorAll("[data-reckoned]")) {
    const now = fresh.querySelector(`[data-reckoned="${CSS.escape(shown.getAttribute("data-reckoned") ?? "")}"]`);
    if (now && now.outerHTML !== shown.outerHTML) shown.replaceWith(document.adoptNode(now));
  }
  showElsewhere();
}

setInterval(fetchEstimates, ESTIMATES_MS);

/** Time at which the connection was lost, by this device's clock; 0 while it is live. */
let lostAt = 0;
setInterval(() => document.body.classList.toggle("is-lost", lostAt > 0 && Date.now() - lostAt > LOST_MS), 1_000);

const sign = liveSign("live", departureWords);
const events = new Events({
  onStatus(status, transport) {
    sign.show(status, transport);
    if (status === "live") lostAt = 0;
    else lostAt ||= Date.now();
  },
  onChange(applied, message) {
    clock.observe(message.data.at);
    for (const { kind, feed, record } of applied.upserts) {
      if (kind !== "feed") continue;
      showState(feed, record);
      showReliability(feed, isUnreliable(record));
      sign.update();
    }
    // Vehicles without a position are among the server's estimates.
    if (applied.shown) show(events.store.list("vehicle").filter(({ record }) => record.position));
  },
});

events.follow([page.channel]);
