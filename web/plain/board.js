/**
 * The departure board: updates the server's rows from the stop's channel.
 * This script renders rows exactly as crates/lineside-pages/src/board.rs does. The channel holds the next departures of
 * all lines, so a board of selected lines, or of a later time, fetches its rows from the server when the channel reports
 * a change.
 */
import { badge } from "./badge.js";
import { DataClock } from "./clock.js";
import { element, island, replaceContent, tripAddress } from "./dom.js";
import { Events } from "./events.js";
import { DELAYED, isUnreliable, pollFeeds, showState } from "./states.js";
import { departureWords, liveSign } from "./trouble.js";
import { clock as hours, delayWords, dueWords, seconds, shownDelay } from "./words.js";

/** Interval at which times such as "4 min" are updated, in milliseconds. */
const TICK_MS = 1_000;
/** Time without a connection after which times turn grey, in milliseconds. */
const LOST_MS = 20_000;
/** Period that a board covers, in seconds, as on the server. */
const HORIZON_S = 7_200;
/** Time that a departure stays listed after it left, in seconds, as on the server. */
const LINGER_S = 60;
/** Time over which changes are collected before rows are fetched, in milliseconds. */
const GATHER_MS = 2_000;
/** Interval at which a board with server-made rows is fetched, in milliseconds. */
const RELOAD_MS = 30_000;

/** @type {{channel: string, timezone: string, wall: number, now: number, rate: number | null, feeds: string[], schedule: string, lines: string[], after: number | null, limit: number}} */
const page = island("board-data");
/** True if the server makes this board's rows because they are not the channel's departures. */
const isServerMade = page.lines.length > 0 || page.after !== null;
const clock = new DataClock(page.wall, page.now, page.rate);
const body = /** @type {HTMLElement} */ (document.querySelector(".board tbody"));
const table = /** @type {HTMLElement} */ (document.querySelector(".board"));
const empty = /** @type {HTMLElement} */ (document.querySelector(".board-empty"));
const bigClock = document.querySelector(".board-clock");

/** Feeds with unreliable times. @type {Set<string>} */
const stale = new Set([...body.querySelectorAll(".is-stale")].map((row) => row.getAttribute("data-source") ?? ""));

/** @typedef {{id: string, record: any}} Departure */

/** Returns the expected departure in seconds, or the scheduled one if no expected time is known. @param {any} record */
const leaves = (record) => seconds(record.expected) ?? seconds(record.scheduled) ?? 0;

/** @param {Departure} departure @returns {HTMLElement} */
function row({ id, record }) {
  const { words, tone } = delayWords(record.status, shownDelay(record.delay, seconds(record.scheduled), seconds(record.expected)));
  const classes = [tone === "cancelled" && "is-cancelled", record.expected === null && "is-plain", stale.has(record.source) && "is-stale"].filter(Boolean);
  const cell = (/** @type {string} */ tag, /** @type {any[]} */ ...children) => element(tag, { role: "cell" }, ...children);
  const none = () => element("span.soft", {}, "–");
  const time = (/** @type {string} */ value) => element("time", { datetime: value }, hours(seconds(value) ?? 0, page.timezone));
  return element(
    ["tr", ...classes].join("."),
    { role: "row", "data-id": id, "data-trip": record.trip_id, "data-leaves": leaves(record), "data-source": record.source },
    cell("td.scheduled", record.scheduled ? time(record.scheduled) : none()),
    cell("td.expected", record.expected && record.status === "realtime" ? time(record.expected) : none()),
    cell("td.line", badge(record.route_short_name, record.route_color)),
    cell("td.to", destination(id, record)),
    cell("td.platform", ...platform(record)),
    cell("td.status", element(`span.delay.tone-${tone}`, {}, words), record.status === "scheduled" && element("span.source", {}, "timetable")),
    cell("td.due", tone === "cancelled" ? "" : dueWords(leaves(record) - clock.now() / 1000)),
  );
}

/** Returns a departure's destination, as a link to its trip where possible. @param {string} id @param {any} record */
function destination(id, record) {
  const to = record.headsign || "Destination not known";
  if (!record.trip_id || document.body.classList.contains("embedded")) return to;
  return element("a.trip-link", { href: tripAddress(page.schedule, record.trip_id, id) }, to);
}

/** Returns the platform, preceded by the scheduled one if it has changed. @param {any} record */
function platform({ platform, scheduled_platform }) {
  const was = scheduled_platform ? [element("s.platform-was", {}, scheduled_platform), " "] : [];
  return [...was, platform && element(scheduled_platform ? "span.platform-sign.is-changed" : "span.platform-sign", {}, platform)];
}

/** Greys the times of an unreliable feed, or removes the grey. @param {string} feed @param {boolean} isStale */
function showReliability(feed, isStale) {
  stale[isStale ? "add" : "delete"](feed);
  for (const row of body.children) if (row.getAttribute("data-source") === feed) row.classList.toggle("is-stale", isStale);
}

/** @param {Departure[]} departures @param {Set<string>} changed  ids to highlight */
function show(departures, changed) {
  const sorted = departures.sort((a, b) => leaves(a.record) - leaves(b.record) || (a.id < b.id ? -1 : 1)).slice(0, page.limit);
  const old = new Map([...body.children].map((each) => [each.getAttribute("data-id"), each]));
  const rows = sorted.map((departure) => {
    const before = old.get(departure.id);
    if (before && !changed.has(departure.id)) return before;
    const made = row(departure);
    const delayOf = (/** @type {Element} */ of) => of.querySelector(".delay")?.textContent;
    if (!before && old.size > 0) made.classList.add("is-new");
    else if (before && delayOf(before) !== delayOf(made)) made.querySelector(".status")?.classList.add("has-changed");
    return made;
  });
  showRows(rows);
}

/** @param {Element[]} rows */
function showRows(rows) {
  body.replaceChildren(...rows);
  table.hidden = rows.length === 0;
  empty.hidden = rows.length > 0;
  hideEmptyColumns();
  showSilentLines();
  if (!isServerMade) moveLater(rows);
}

/** Hides the columns that are empty in all rows, as the server does. */
function hideEmptyColumns() {
  const cells = { scheduled: ".scheduled time", platform: ".platform :is(.platform-sign, .platform-was)", status: ".delay:not(.tone-live)" };
  for (const [column, cell] of Object.entries(cells)) table.classList.toggle(`without-${column}`, body.querySelector(cell) === null);
}

/** Removes the lines of the rows from the server's list of lines without known departures. */
function showSilentLines() {
  const note = document.querySelector("[data-silent-lines]");
  if (!(note instanceof HTMLElement)) return;
  const known = new Set([...body.querySelectorAll(".line .badge")].map((line) => line.textContent));
  const lines = [.../** @type {NodeListOf<HTMLElement>} */ (note.querySelectorAll("[data-line]"))];
  for (const line of lines) line.hidden = known.has(line.dataset.line ?? "");
  note.hidden = lines.every(({ hidden }) => hidden);
}

/**
 * Points the *Later* link to the departures after these rows. The server's link fits only the rows that it made.
 * @param {Element[]} rows
 */
function moveLater(rows) {
  const link = document.querySelector("a[data-later]");
  if (!(link instanceof HTMLAnchorElement)) return;
  const address = new URL(link.href);
  const now = clock.now() / 1000;
  const last = rows.length > 0 ? Number(rows[rows.length - 1].getAttribute("data-leaves")) : Math.floor(now) + HORIZON_S;
  const known = Number(address.searchParams.get("after")) || seconds(address.searchParams.get("after")) || 0;
  if (known >= last) return;
  // The next page repeats the last row, because other departures may leave at the same time.
  address.searchParams.set("after", String(last));
  link.href = address.href;
}

/** True while a request for rows is pending. */
let isPending = false;

/** Fetches the rows from the server after `GATHER_MS`. */
function fetchRows() {
  if (isPending) return;
  isPending = true;
  setTimeout(async () => {
    isPending = false;
    try {
      const reply = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!reply.ok) return;
      const made = new DOMParser().parseFromString(await reply.text(), "text/html");
      showRows([...made.querySelectorAll(".board tbody > tr")]);
      const [pager, newPager] = [document, made].map((it) => /** @type {HTMLElement|null} */ (it.querySelector(".board-pager")));
      if (pager && newPager) {
        replaceContent(pager, [...newPager.childNodes]);
        pager.hidden = newPager.hidden;
      }
      tick();
    } catch {
      // The server is unreachable; the connection status shows it.
    }
  }, GATHER_MS);
}

/** Time at which the connection was lost, by this device's clock; 0 while it is live. */
let lostAt = 0;

/** Greys all times after `LOST_MS` without a connection, and removes departures that have left. @param {number} now */
function updateLost(now) {
  const isLost = lostAt > 0 && Date.now() - lostAt > LOST_MS;
  table.classList.toggle("is-lost", isLost);
  if (!isLost) return;
  for (const row of [...body.children]) if (Number(row.getAttribute("data-leaves")) < now - LINGER_S) row.remove();
}

function tick() {
  const now = clock.now() / 1000;
  updateLost(now);
  if (bigClock) bigClock.textContent = hours(now, page.timezone);
  for (const each of body.children) {
    const due = each.querySelector(".due");
    if (!due || each.classList.contains("is-cancelled")) continue;
    const words = dueWords(Number(each.getAttribute("data-leaves")) - now);
    if (due.textContent !== words) due.textContent = words;
  }
}

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
      showReliability(feed, isUnreliable(record) || DELAYED.includes(record.state));
      sign.update();
    }
    if (!applied.shown) return;
    if (isServerMade) return fetchRows();
    const changed = new Set(applied.upserts.filter(({ kind }) => kind === "departure").map(({ id }) => id));
    show(events.store.list("departure"), changed);
    tick();
  },
});

events.follow([page.channel]);
pollFeeds(page.feeds, clock);
setInterval(tick, TICK_MS);
if (isServerMade) setInterval(() => document.hidden || fetchRows(), RELOAD_MS);
