/**
 * The departure board: the rows that the server made, kept up to date from the stop's channel.
 * The rows are made here exactly as crates/lineside/src/pages/board.rs makes them. The channel holds the next departures of
 * all lines from now on, so a board of some lines, or of a later time, asks the server for its rows when the channel says that
 * something changed.
 */
import { badge } from "./badge.js";
import { DataClock } from "./clock.js";
import { element, island, replaceContent, tripAddress } from "./dom.js";
import { Events } from "./events.js";
import { isUnreliable, keepAges, showState } from "./states.js";
import { departureWords, liveSign } from "./trouble.js";
import { clock as hours, delayWords, dueWords, seconds } from "./words.js";

/** How often "in 4 min" is looked at again, in milliseconds. */
const TICK_MS = 1_000;
/** How long the connection may be lost before times are grey, in milliseconds. */
const LOST_MS = 20_000;
/** How far a board looks ahead, in seconds, as on the server. */
const HORIZON_S = 7_200;
/** How long a departure stays after it left, in seconds, as on the server. */
const LINGER_S = 60;
/** How long changes are gathered before rows are asked for, in milliseconds. */
const GATHER_MS = 2_000;
/** How often a board whose rows the server makes is loaded again, in milliseconds. */
const RELOAD_MS = 30_000;

/** @type {{channel: string, timezone: string, wall: number, now: number, feeds: string[], schedule: string, lines: string[], after: number | null, limit: number}} */
const page = island("board-data");
/** Whether the channel's departures are not the rows of this board. */
const isServerMade = page.lines.length > 0 || page.after !== null;
const clock = new DataClock(page.wall, page.now);
const body = /** @type {HTMLElement} */ (document.querySelector(".board tbody"));
const table = /** @type {HTMLElement} */ (document.querySelector(".board"));
const empty = /** @type {HTMLElement} */ (document.querySelector(".board-empty"));
const bigClock = document.querySelector(".board-clock");

/** The feeds whose times are not to be trusted as they stand. @type {Set<string>} */
const stale = new Set([...body.querySelectorAll(".is-stale")].map((row) => row.getAttribute("data-source") ?? ""));

/** @typedef {{id: string, record: any}} Departure */

/** When it leaves, as well as is known. @param {any} record */
const leaves = (record) => seconds(record.expected) ?? seconds(record.scheduled) ?? 0;

/** @param {Departure} departure @returns {HTMLElement} */
function row({ id, record }) {
  const { words, tone } = delayWords(record.status, record.delay);
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

/** Where a departure goes, as a link to its trip. @param {string} id @param {any} record */
function destination(id, record) {
  const to = record.headsign || record.trip_id;
  if (!record.trip_id || document.body.classList.contains("embedded")) return to;
  return element("a.trip-link", { href: tripAddress(page.schedule, record.trip_id, id) }, to);
}

/** The platform, after the one that the timetable has where that is another. @param {any} record */
function platform({ platform, scheduled_platform }) {
  const was = scheduled_platform ? [element("s.platform-was", {}, scheduled_platform), " "] : [];
  return [...was, platform && element(scheduled_platform ? "span.platform-sign.is-changed" : "span.platform-sign", {}, platform)];
}

/** Greys the times of a feed that is in trouble, and no others. @param {string} feed @param {boolean} isStale */
function showTrust(feed, isStale) {
  stale[isStale ? "add" : "delete"](feed);
  for (const row of body.children) if (row.getAttribute("data-source") === feed) row.classList.toggle("is-stale", isStale);
}

/** @param {Departure[]} departures @param {Set<string>} changed  ids to point out */
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
  put(rows);
}

/** @param {Element[]} rows */
function put(rows) {
  body.replaceChildren(...rows);
  table.hidden = rows.length === 0;
  empty.hidden = rows.length > 0;
  if (!isServerMade) moveLater(rows);
}

/**
 * Moves *Later* on with the rows: the server's link leads to what followed the rows that it made.
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
  // With the last row again, as others may leave at the same moment.
  address.searchParams.set("after", String(last));
  link.href = address.href;
}

/** Whether rows have been asked for and did not come yet. */
let isAsked = false;

/** Takes the rows as the server makes them. */
function ask() {
  if (isAsked) return;
  isAsked = true;
  setTimeout(async () => {
    isAsked = false;
    try {
      const reply = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!reply.ok) return;
      const made = new DOMParser().parseFromString(await reply.text(), "text/html");
      put([...made.querySelectorAll(".board tbody > tr")]);
      const [pager, newPager] = [document, made].map((it) => /** @type {HTMLElement|null} */ (it.querySelector(".board-pager")));
      if (pager && newPager) {
        replaceContent(pager, [...newPager.childNodes]);
        pager.hidden = newPager.hidden;
      }
      tick();
    } catch {
      // the server is away: the connection's sign says so
    }
  }, GATHER_MS);
}

/** Since when nothing comes, by this machine's clock; 0 while something does. */
let lostAt = 0;

/** Greys all times after a while without a connection, and takes away what has left: nobody else does. @param {number} now */
function judge(now) {
  const isLost = lostAt > 0 && Date.now() - lostAt > LOST_MS;
  table.classList.toggle("is-lost", isLost);
  if (!isLost) return;
  for (const row of [...body.children]) if (Number(row.getAttribute("data-leaves")) < now - LINGER_S) row.remove();
}

function tick() {
  const now = clock.now() / 1000;
  judge(now);
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
      showTrust(feed, isUnreliable(record));
      sign.update();
    }
    if (!applied.shown) return;
    if (isServerMade) return ask();
    const changed = new Set(applied.upserts.filter(({ kind }) => kind === "departure").map(({ id }) => id));
    show(events.store.list("departure"), changed);
    tick();
  },
});

events.follow([page.channel]);
keepAges(page.feeds, clock);
setInterval(tick, TICK_MS);
if (isServerMade) setInterval(() => document.hidden || ask(), RELOAD_MS);
