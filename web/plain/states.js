/**
 * Updates the states of feeds on a page. The icons come from templates in the page, so that only the
 * server defines them.
 */
import { element } from "./dom.js";
import { reloadAfterJump } from "./recording.js";
import { ageWords, clockOrDay, moment, reportWords, seconds, serviceWords } from "./words.js";

/** Interval at which the ages of data are fetched, in milliseconds: a feed without changes sends no message. */
const AGES_MS = 10_000;

/** States of feeds with failing polls, including those whose last data are too recent for a banner. */
export const DELAYED = ["late", "stale", "failing"];

/** Returns true if a feed's live data are unreliable. @param {{unreliable_since?: string|null}} record */
export const isUnreliable = ({ unreliable_since: since }) => since !== undefined && since !== null;

/**
 * Shows a feed's state everywhere on the page.
 * @param {string} feed @param {{state: string, reason?: string, since?: string|null, unreliable_since?: string|null, service_days_left?: number|null, service_days_until_start?: number|null}} record
 */
export function showState(feed, record) {
  const { state, reason, since, service_days_left: daysLeft, service_days_until_start: daysUntilStart } = record;
  const template = document.getElementById(`state-${state}`);
  if (!(template instanceof HTMLTemplateElement)) return;
  for (const shown of document.querySelectorAll(`[data-state-of="${CSS.escape(feed)}"]`)) {
    if (shown.getAttribute("data-state") === state) continue;
    shown.setAttribute("data-state", state);
    shown.replaceChildren(template.content.cloneNode(true));
  }
  showTrouble(feed, record);
  for (const shown of document.querySelectorAll(`[data-reason-of="${CSS.escape(feed)}"]`)) {
    if (reason !== undefined && shown.textContent !== reason) shown.textContent = reason;
    if (shown.hasAttribute("data-unless")) shown.toggleAttribute("hidden", shown.getAttribute("data-unless") === state);
  }
  if (state === "expired" || state === "ok") showExpired(feed, state === "expired");
  for (const shown of document.querySelectorAll(`[data-since-of="${CSS.escape(feed)}"]`)) {
    const word = shown.querySelector("[data-since-word]");
    if (word) word.textContent = state === "ok" || state === "expired" ? "since" : "seen since";
    showSince(shown, seconds(since));
  }
  if (daysLeft !== undefined) showService(feed, serviceWords(daysLeft, state, daysUntilStart));
}

/**
 * Updates the banners for riders that the server made (crates/lineside-pages/src/network_page.rs): each lists the feeds with
 * unreliable live data and shows the earliest time since when.
 * @param {string} feed @param {{unreliable_since?: string|null}} record
 */
function showTrouble(feed, record) {
  for (const entry of document.querySelectorAll(`[data-trouble-of="${CSS.escape(feed)}"]`)) {
    const banner = entry.closest("[data-trouble]");
    entry.toggleAttribute("hidden", !isUnreliable(record));
    if (isUnreliable(record)) entry.setAttribute("data-since", String(record.unreliable_since));
    if (banner) showBanner(banner);
  }
}

/** @param {Element} banner */
function showBanner(banner) {
  const since = [...banner.querySelectorAll("[data-trouble-of]:not([hidden])")].flatMap((entry) => seconds(entry.getAttribute("data-since")) ?? []);
  const shown = banner.querySelector("[data-trouble-since]");
  banner.toggleAttribute("hidden", since.length === 0);
  const first = Math.min(...since);
  if (!shown || since.length === 0 || Date.parse(shown.getAttribute("datetime") ?? "") === first * 1000) return;
  shown.setAttribute("datetime", new Date(first * 1000).toISOString());
  shown.textContent = clockOrDay(first, Date.now() / 1000, banner.getAttribute("data-zone") ?? "UTC");
}

/**
 * Turns the note that a timetable ends soon into the banner that it has ended, and hides or shows the banner.
 * @param {string} feed @param {boolean} isExpired
 */
function showExpired(feed, isExpired) {
  const banners = document.querySelectorAll(`[data-expired-of="${CSS.escape(feed)}"]`);
  for (const shown of banners) shown.toggleAttribute("hidden", !isExpired);
  if (!isExpired) return;
  for (const note of document.querySelectorAll(`[data-ends-of="${CSS.escape(feed)}"]`)) {
    const banner = element("div.alert.trouble", { "data-expired-of": feed }, element("h2", {}, "This timetable ended on ", note.querySelector("time"), "."));
    note.replaceWith(banner);
  }
}

/** @param {Element} shown @param {number|null} since in seconds */
function showSince(shown, since) {
  const time = shown.querySelector("time");
  if (since === null || !time) return;
  const known = seconds(time.dateTime);
  if (known !== null && Math.floor(known) === Math.floor(since)) return;
  time.dateTime = new Date(since * 1000).toISOString();
  time.textContent = moment(since, shown.getAttribute("data-zone") ?? "UTC", shown.getAttribute("data-zone-name") ?? "UTC");
}

const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/** Shows the recorded day in a row of a feed whose network plays a recording. @param {HTMLElement} row @param {string|null} day */
export function showRecordedDay(row, day) {
  const tag = /** @type {HTMLElement} */ (row.querySelector(".recording-tag"));
  const time = /** @type {HTMLTimeElement} */ (tag.querySelector("time"));
  tag.hidden = day === null;
  if (day === null || time.dateTime === day) return;
  time.dateTime = day;
  time.textContent = dayFormat.format(Date.parse(day));
}

/** @param {string} feed @param {{words: string, tone: string}} service */
function showService(feed, { words, tone }) {
  for (const shown of document.querySelectorAll(`[data-service-of="${CSS.escape(feed)}"]`)) {
    if (shown.textContent !== words) shown.textContent = words;
    shown.setAttribute("data-tone", tone);
    shown.toggleAttribute("hidden", words === "");
  }
}

/**
 * Shows the totals of a feed's latest report everywhere on the page.
 * @param {string} feed @param {{subject: string, counts: any}|null|undefined} report
 */
function showReport(feed, report) {
  const { words, verdict } = report ? reportWords(report.counts) : { words: "", verdict: "" };
  for (const shown of document.querySelectorAll(`[data-report-of="${CSS.escape(feed)}"]`)) {
    const known = shown.querySelector("a[data-verdict]");
    if (!report) {
      // The report that was shown is gone. The text shown before the first report stays.
      known?.replaceWith(element("span.soft", {}, "–"));
      continue;
    }
    const link = known ?? element("a");
    if (link.textContent !== words) link.textContent = words;
    link.setAttribute("data-verdict", verdict);
    link.setAttribute("href", `/feeds/${encodeURIComponent(feed)}#report-${report.subject}`);
    if (!link.isConnected) shown.replaceChildren(link);
  }
}

/**
 * Updates the ages of these feeds' data, the totals of their reports, and their states.
 * @param {string[]} feeds @param {import("./clock.js").DataClock} clock @param {(feed: string, state: string) => void} [onState] called with each state read
 */
export function pollFeeds(feeds, clock, onState = () => {}) {
  /** @type {Map<string, number>} data times in seconds, where they are newer than the page */
  const times = new Map();
  const show = () => {
    for (const shown of document.querySelectorAll("[data-age-of][data-time]")) {
      const time = times.get(shown.getAttribute("data-age-of") ?? "") ?? Number(shown.getAttribute("data-time"));
      // The data of a recording lie behind the server's time.
      const behind = Number(shown.getAttribute("data-behind") ?? 0);
      shown.textContent = ageWords(clock.wall() / 1000 - behind - time);
    }
  };
  const ask = async (/** @type {string} */ feed) => {
    const reply = await fetch(`/api/v1/feeds/${encodeURIComponent(feed)}`);
    if (!reply.ok) return;
    const item = await reply.json();
    const { data_time, report, replay_time: replayTime } = item;
    // The clock of a recording runs at its own rate.
    const recorded = seconds(replayTime ?? null);
    if (recorded !== null) {
      for (const shown of document.querySelectorAll(`[data-age-of="${CSS.escape(feed)}"]`)) shown.setAttribute("data-behind", String(clock.wall() / 1000 - recorded));
    }
    clock.observeRecording(item);
    showState(feed, item);
    reloadAfterJump(item.static ?? feed, item);
    onState(feed, item.state);
    showReport(feed, report);
    const time = seconds(data_time);
    if (time !== null) times.set(feed, time);
    show();
  };
  setInterval(show, 1_000);
  setInterval(() => {
    if (document.hidden) return;
    for (const feed of feeds) ask(feed).catch(() => {}); // the server is unreachable; the growing ages show it
  }, AGES_MS);
}

/**
 * Returns a function that shows the connection's status.
 * @param {string} id of the element
 * @param {string} [live] the text while updates arrive
 * @returns {(status: import("./events.js").Status, transport: string) => void}
 */
export function connectionSign(id, live = "Page updates live") {
  const words = { idle: "Live updates off", connecting: "Connecting", live, waiting: "Connection lost, trying again", ended: "Closed by the server", refused: "Live changes need a token" };
  return (status, transport) => {
    const sign = document.getElementById(id);
    if (sign) sign.dataset.transport = transport;
    if (!sign || sign.dataset.status === status) return;
    sign.dataset.status = status;
    sign.textContent = words[status];
  };
}
