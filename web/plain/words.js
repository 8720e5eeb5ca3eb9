/**
 * Formats times, delays and counts exactly as the server's pages do (crates/lineside-pages/src/words.rs).
 * web/tests/words.json holds the cases that both are tested with.
 */

/** Departures with a smaller delay are on time, in seconds. */
export const ON_TIME_S = 60;
/** Delays from this one on have the tone `very-late`, in seconds. */
const VERY_LATE_S = 300;

/**
 * Returns a delay in words and as a class name, so that colour is never the only sign.
 * @param {string} status scheduled | realtime | cancelled | skipped
 * @param {number|null|undefined} delay seconds, positive when late
 * @returns {{words: string, tone: string}}
 */
export function delayWords(status, delay) {
  if (status === "cancelled") return { words: "Cancelled", tone: "cancelled" };
  if (status === "skipped") return { words: "Does not stop here", tone: "cancelled" };
  if (status === "realtime" && (delay === null || delay === undefined)) return { words: "Predicted", tone: "live" };
  if (status === "scheduled" || delay === null || delay === undefined) return { words: "Scheduled", tone: "scheduled" };
  if (Math.abs(delay) < ON_TIME_S) return { words: "On time", tone: "on-time" };
  const minutes = Math.floor(Math.abs(delay) / 60);
  if (delay < 0) return { words: `${minutes} min early`, tone: "early" };
  return { words: `${minutes} min late`, tone: delay >= VERY_LATE_S ? "very-late" : "late" };
}

/**
 * Returns the delay between two times as clocks show them, to the minute, so that a status follows from the times next
 * to it. Without both times, or for a trip of unknown delay, it is the known `delay`.
 * @param {number|null|undefined} delay @param {number|null} scheduled seconds @param {number|null} expected seconds
 */
export function shownDelay(delay, scheduled, expected) {
  if (delay === null || delay === undefined || scheduled === null || expected === null) return delay ?? null;
  return (Math.floor(expected / 60) - Math.floor(scheduled / 60)) * 60;
}

/** Formats the time until a departure. @param {number} seconds @returns {string} */
export function dueWords(seconds) {
  if (seconds < -30) return "left";
  if (seconds < 30) return "now";
  const minutes = Math.round(seconds / 60);
  return minutes <= 60 ? `${Math.max(minutes, 1)} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats an age, rounded down. @param {number} seconds @returns {string} */
export function ageWords(seconds) {
  if (seconds < 1) return "just now";
  if (seconds < 120) return `${Math.floor(seconds)} s ago`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${numberWords(Math.floor(seconds / 86_400))} days ago`;
}

/** Days from which on an age is replaced by the date. */
const DATED_DAYS = 30;

/** Formats the age of a position: "40 min ago", or from `DATED_DAYS` on its date, as in "on 9 Nov 2023". @param {number} at seconds @param {number} now @param {string} timezone */
export function ageOrDateWords(at, now, timezone) {
  if (now - at < DATED_DAYS * 86_400) return ageWords(now - at);
  return `on ${clockOrDay(at, now, timezone).split(",")[0]}`;
}

/** Formats a duration. @param {number} seconds @returns {string} */
export function durationWords(seconds) {
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Math.floor(seconds * 1_000)} ms`;
  if (seconds < 10 && !Number.isInteger(seconds)) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return `${numberWords(Math.floor(seconds / 3_600))} h`;
}

/** @param {number} value @returns {string} */
export function bytesWords(value) {
  if (value < 2 ** 10) return `${numberWords(value)} bytes`;
  if (value < 2 ** 20) return `${decimalWords(value / 2 ** 10)} KiB`;
  if (value < 2 ** 30) return `${decimalWords(value / 2 ** 20)} MiB`;
  return `${decimalWords(value / 2 ** 30)} GiB`;
}

/** Formats a share of 1 in percent. @param {number} value @returns {string} */
export const shareWords = (value) => `${Math.floor(value * 100)} %`;

/** Formats a whole number with narrow spaces between thousands. @param {number|string} value @returns {string} */
export const numberWords = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** Formats a number with one decimal and narrow spaces between thousands. @param {number} value */
export function decimalWords(value) {
  const [whole, tenths] = value.toFixed(1).split(".");
  return `${numberWords(whole)}.${tenths}`;
}

/**
 * Returns a report's verdict and its text, as crates/lineside-pages/src/report/brief.rs does. The text is `counts` unless
 * the report is incomplete or unreadable.
 * @param {{outcome: string, errors: number, warnings: number, faults: number}} report @param {string} counts
 */
function summarizeReport({ outcome, errors, warnings, faults }, counts) {
  const hasResult = outcome !== "unfinished";
  const isComplete = hasResult && outcome !== "cut_short" && faults === 0;
  const verdict = !hasResult ? "unknown" : errors > 0 ? "errors" : !isComplete ? "unknown" : warnings > 0 ? "warnings" : "none";
  if (!hasResult) return { words: INCOMPLETE, verdict };
  if (outcome === "unreadable") return { words: outcome, verdict };
  if (!isComplete) return { words: errors + warnings === 0 ? INCOMPLETE : `${counts} or more`, verdict };
  return { words: counts, verdict };
}
const INCOMPLETE = "incomplete";

/** @param {number} value @param {string} one @param {string} many */
export const countWords = (value, one, many) => `${numberWords(value)} ${value === 1 ? one : many}`;

/** Returns a report's totals in words, and its verdict. @param {any} report */
export const reportWords = (report) => {
  const isPartial = report.unread_files > 0 && report.outcome !== "cut_short" && report.faults === 0;
  const count = (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) => countWords(n, one, many).replace(" ", "\u00a0");
  const counts = `${count(report.errors, "error", "errors")}, ${count(report.warnings, "warning", "warnings")}`;
  return summarizeReport(report, isPartial ? `${counts}, partly checked` : counts);
};

/** Returns a report's totals as bare numbers, and its verdict. @param {any} report */
export const reportFigures = (report) => summarizeReport(report, `${numberWords(report.errors)} · ${numberWords(report.warnings)}`);

/** Number of days before its end from which on a timetable is shown to expire. */
const EXPIRES_SOON_DAYS = 7;

/**
 * Returns the text about a timetable's start or end that accompanies its feed's state.
 * @param {number|null|undefined} daysLeft @param {string} state @param {number|null} [daysUntilStart] @returns {{words: string, tone: "none"|"warn"|"bad"}}
 */
export function serviceWords(daysLeft, state, daysUntilStart) {
  if (daysUntilStart && daysUntilStart > 0) return { words: "Not yet valid", tone: "warn" };
  if (daysLeft === null || daysLeft === undefined || daysLeft > EXPIRES_SOON_DAYS) return { words: "", tone: "none" };
  if (daysLeft < 0) return state === "expired" ? { words: "", tone: "none" } : { words: "Expired", tone: "bad" };
  if (daysLeft === 0) return { words: "Expires today", tone: "warn" };
  return { words: daysLeft === 1 ? "Expires tomorrow" : `Expires in ${daysLeft} days`, tone: "warn" };
}

/** Converts a time of the API (RFC 3339, or seconds since 1970) to seconds. @param {string|number|null|undefined} value */
export function seconds(value) {
  if (typeof value === "number") return value;
  const parsed = value ? Date.parse(value) : NaN;
  return Number.isNaN(parsed) ? null : parsed / 1000;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const clocks = new Map();

/** Formats hours and minutes in a timezone. @param {number} unixSeconds @param {string} timezone */
export function clock(unixSeconds, timezone) {
  let format = clocks.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: timezone });
    clocks.set(timezone, format);
  }
  return format.format(unixSeconds * 1000);
}

const dateFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** Formats a date, as in "1 June 2024". @param {string} date `YYYY-MM-DD` */
export const dateWords = (date) => dateFormat.format(Date.parse(date));

/** Formats hours and minutes in a timezone, after the date if that is not the day of `now`. @param {number} unixSeconds @param {number} now @param {string} timezone */
export function clockOrDay(unixSeconds, now, timezone) {
  return shortDay(unixSeconds, timezone) === shortDay(now, timezone) ? clock(unixSeconds, timezone) : dayAndClock(unixSeconds, timezone);
}

/** @param {number} unixSeconds @param {string} timezone */
function shortDay(unixSeconds, timezone) {
  const format = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short", year: "numeric", timeZone: timezone });
  const parts = Object.fromEntries(format.formatToParts(unixSeconds * 1000).map(({ type, value }) => [type, value]));
  return `${parts.day}\u00a0${parts.month}\u00a0${parts.year}`;
}

/** Formats date, hours and minutes in a timezone, as in "8 Feb 2024, 08:09". @param {number} unixSeconds @param {string} timezone */
export const dayAndClock = (unixSeconds, timezone) => `${shortDay(unixSeconds, timezone)}, ${clock(unixSeconds, timezone)}`;

/** Formats date, time and the name of the timezone. @param {number} unixSeconds @param {string} timezone @param {string} zoneName as the server abbreviates it */
export function moment(unixSeconds, timezone, zoneName) {
  const format = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: timezone });
  /** @type {Record<string, string>} */
  const parts = {};
  for (const { type, value } of format.formatToParts(unixSeconds * 1000)) parts[type] = value;
  return `${parts.day}\u00a0${parts.month}\u00a0${parts.year}, ${parts.hour}:${parts.minute}:${parts.second} ${zoneName}`;
}
