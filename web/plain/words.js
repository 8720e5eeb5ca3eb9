/**
 * Times and delays in words, exactly as the server's pages say them (crates/lineside/src/pages/words.rs;
 * web/tests/words.json holds the cases that both are tested with).
 */

/** Below this many seconds a departure counts as on time. */
const ON_TIME_S = 60;
/** From this many seconds on a delay is shown as a long one. */
const VERY_LATE_S = 300;

/**
 * A delay in words and as a class name, so that it never speaks by colour alone.
 * @param {string} status scheduled | realtime | cancelled | skipped
 * @param {number|null|undefined} delay seconds, positive when late
 * @returns {{words: string, tone: string}}
 */
export function delayWords(status, delay) {
  if (status === "cancelled") return { words: "Cancelled", tone: "cancelled" };
  if (status === "skipped") return { words: "Does not stop here", tone: "cancelled" };
  if (status === "realtime" && (delay === null || delay === undefined)) return { words: "Live", tone: "live" };
  if (status === "scheduled" || delay === null || delay === undefined) return { words: "Scheduled", tone: "scheduled" };
  if (Math.abs(delay) < ON_TIME_S) return { words: "On time", tone: "on-time" };
  const minutes = Math.floor(Math.abs(delay) / 60);
  if (delay < 0) return { words: `${minutes} min early`, tone: "early" };
  return { words: `${minutes} min late`, tone: delay >= VERY_LATE_S ? "very-late" : "late" };
}

/** How long until a moment, as a board says it. @param {number} seconds @returns {string} */
export function dueWords(seconds) {
  if (seconds < -30) return "left";
  if (seconds < 30) return "now";
  const minutes = Math.round(seconds / 60);
  return minutes <= 60 ? `${Math.max(minutes, 1)} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long ago, roughly. @param {number} seconds @returns {string} */
export function ageWords(seconds) {
  if (seconds < 1) return "just now";
  if (seconds < 120) return `${Math.floor(seconds)} s ago`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${numberWords(Math.floor(seconds / 86_400))} days ago`;
}

/** A short time, as figures show it. @param {number} seconds @returns {string} */
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

/** A share of one in percent. @param {number} value @returns {string} */
export const shareWords = (value) => `${Math.floor(value * 100)} %`;

/** A whole number with thin spaces between thousands. @param {number|string} value @returns {string} */
export const numberWords = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** A number with one decimal and thin spaces between thousands. @param {number} value */
export function decimalWords(value) {
  const [whole, tenths] = value.toFixed(1).split(".");
  return `${numberWords(whole)}.${tenths}`;
}

/**
 * What a report comes to, with these counts unless there is something else to say, as the server says it
 * (crates/lineside/src/pages/report/brief.rs), and in one word.
 * @param {{outcome: string, errors: number, warnings: number, faults: number}} report @param {string} counts
 */
function reportSays({ outcome, errors, warnings, faults }, counts) {
  const isWord = outcome !== "unfinished";
  const isAll = isWord && outcome !== "cut_short" && faults === 0;
  const verdict = !isWord ? "unknown" : errors > 0 ? "errors" : !isAll ? "unknown" : warnings > 0 ? "warnings" : "none";
  if (!isWord) return { words: UNFINISHED, verdict };
  if (outcome === "unreadable") return { words: outcome, verdict };
  if (!isAll) return { words: errors + warnings === 0 ? UNFINISHED : `${counts} or more`, verdict };
  return { words: counts, verdict };
}
const UNFINISHED = "incomplete";

/** @param {number} value @param {string} one @param {string} many */
const countWords = (value, one, many) => `${numberWords(value)} ${value === 1 ? one : many}`;

/** What a report comes to. @param {any} report */
export const reportWords = (report) => reportSays(report, `${countWords(report.errors, "error", "errors")}, ${countWords(report.warnings, "warning", "warnings")}`);

/** The same with bare figures. @param {any} report */
export const reportFigures = (report) => reportSays(report, `${numberWords(report.errors)} · ${numberWords(report.warnings)}`);

/** From this many days before its end on, a timetable is said to expire. */
const EXPIRES_SOON_DAYS = 7;

/**
 * What is said of a timetable's start and end beside its feed's state, and how much that matters.
 * @param {number|null|undefined} daysLeft @param {string} state @param {number|null} [daysUntilStart] @returns {{words: string, tone: "none"|"warn"|"bad"}}
 */
export function serviceWords(daysLeft, state, daysUntilStart) {
  if (daysUntilStart && daysUntilStart > 0) return { words: "Not yet valid", tone: "warn" };
  if (daysLeft === null || daysLeft === undefined || daysLeft > EXPIRES_SOON_DAYS) return { words: "", tone: "none" };
  if (daysLeft < 0) return state === "expired" ? { words: "", tone: "none" } : { words: "Expired", tone: "bad" };
  if (daysLeft === 0) return { words: "Expires today", tone: "warn" };
  return { words: daysLeft === 1 ? "Expires tomorrow" : `Expires in ${daysLeft} days`, tone: "warn" };
}

/** A moment of the API (RFC 3339, or seconds since 1970) in seconds. @param {string|number|null|undefined} value */
export function seconds(value) {
  if (typeof value === "number") return value;
  const parsed = value ? Date.parse(value) : NaN;
  return Number.isNaN(parsed) ? null : parsed / 1000;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const clocks = new Map();

/** Hours and minutes at the place. @param {number} unixSeconds @param {string} timezone */
export function clock(unixSeconds, timezone) {
  let format = clocks.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: timezone });
    clocks.set(timezone, format);
  }
  return format.format(unixSeconds * 1000);
}

const dateFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** A date, as in "1 June 2024". @param {string} date `YYYY-MM-DD` */
export const dateWords = (date) => dateFormat.format(Date.parse(date));

/** Hours and minutes at the place, with the day before them where that is not the day of `now`. @param {number} unixSeconds @param {number} now @param {string} timezone */
export function clockOrDay(unixSeconds, now, timezone) {
  const format = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short", year: "numeric", timeZone: timezone });
  const dayOf = (/** @type {number} */ at) => {
    const parts = Object.fromEntries(format.formatToParts(at * 1000).map(({ type, value }) => [type, value]));
    return `${parts.day} ${parts.month} ${parts.year}`;
  };
  const day = dayOf(unixSeconds);
  return day === dayOf(now) ? clock(unixSeconds, timezone) : `${day}, ${clock(unixSeconds, timezone)}`;
}

/** Day and time at the place, with the zone's name. @param {number} unixSeconds @param {string} timezone */
export function moment(unixSeconds, timezone) {
  const format = new Intl.DateTimeFormat("en-US", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: timezone, timeZoneName: "short" });
  /** @type {Record<string, string>} */
  const parts = {};
  for (const { type, value } of format.formatToParts(unixSeconds * 1000)) parts[type] = value;
  return `${parts.day} ${parts.month} ${parts.year}, ${parts.hour}:${parts.minute}:${parts.second} ${parts.timeZoneName}`;
}
