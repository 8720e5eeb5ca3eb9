import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { badgeColors } from "../../plain/badge.js";
import { ageWords, bytesWords, clock, clockOrDay, dayAndClock, delayWords, dueWords, durationWords, moment, numberWords, reportFigures, reportWords, seconds, serviceWords, shareWords, shownDelay } from "../../plain/words.js";

/** Cases that the server's formatting (crates/lineside/src/pages) is tested with, too. */
const cases = JSON.parse(readFileSync(new URL("../words.json", import.meta.url), "utf8"));

test("delays are formatted as on the server", () => {
  for (const [status, delay, words, tone] of cases.delay) {
    assert.deepEqual(delayWords(status, delay), { words, tone }, `${status} ${delay}`);
  }
});

test("a shown delay is that of the shown minutes, as on the server", () => {
  for (const [delay, scheduled, expected, shown] of cases.shown_delay) assert.equal(shownDelay(delay, scheduled, expected), shown, `${delay} ${scheduled} ${expected}`);
});

test("due times and ages are formatted as on the server", () => {
  for (const [value, words] of cases.due) assert.equal(dueWords(value), words, `due in ${value} s`);
  for (const [value, words] of cases.age) assert.equal(ageWords(value), words, `${value} s ago`);
});

test("numbers are formatted as on the server", () => {
  for (const [value, words] of cases.duration) assert.equal(durationWords(value), words, `${value} s`);
  for (const [value, words] of cases.bytes) assert.equal(bytesWords(value), words, `${value} bytes`);
  for (const [value, words] of cases.share) assert.equal(shareWords(value), words, `a share of ${value}`);
  for (const [value, words] of cases.number) assert.equal(numberWords(value), words, `the number ${value}`);
});

test("report totals are formatted as on the server", () => {
  assert.ok(cases.report.length > 5);
  for (const [report, words, figures, verdict] of cases.report) {
    assert.deepEqual(reportWords(report), { words, verdict });
    assert.deepEqual(reportFigures(report), { words: figures, verdict });
  }
});

test("the end of a timetable is formatted as on the server", () => {
  assert.ok(cases.service.length > 5);
  for (const [daysLeft, state, words, tone, daysUntilStart] of cases.service) assert.deepEqual(serviceWords(daysLeft, state, daysUntilStart), { words, tone });
  assert.equal(serviceWords(undefined, "ok").words, "");
});

test("a moment is formatted with its date and timezone", () => {
  assert.equal(moment(0, "UTC", "UTC"), "1\u00a0Jan\u00a01970, 00:00:00 UTC");
  assert.equal(moment(0, "Africa/Johannesburg", "SAST"), "1\u00a0Jan\u00a01970, 02:00:00 SAST");
});

test("a badge's label always has enough contrast", () => {
  for (const [color, background, text] of cases.badge) {
    assert.deepEqual(badgeColors(color), { background, text }, String(color));
  }
});

test("times are parsed from RFC 3339 or seconds", () => {
  assert.equal(seconds("1970-01-01T01:00:10+01:00"), 10);
  assert.equal(seconds(10), 10);
  assert.equal(seconds(null), null);
  assert.equal(seconds("soon"), null);
});

test("a time on another day is formatted with its date, as on the server", () => {
  assert.ok(cases.clock_or_day.length > 3);
  for (const [at, now, timezone, words] of cases.clock_or_day) assert.equal(clockOrDay(at, now, timezone), words);
});

test("the day of a time depends on the timezone", () => {
  assert.deepEqual([dayAndClock(1_707_400_000, "UTC"), dayAndClock(1_707_400_000, "Asia/Tokyo"), dayAndClock(1_707_400_000, "America/New_York")], ["8\u00a0Feb\u00a02024, 13:46", "8\u00a0Feb\u00a02024, 22:46", "8\u00a0Feb\u00a02024, 08:46"]);
});

test("a clock shows the time in a timezone", () => {
  assert.equal(clock(0, "Asia/Tokyo"), "09:00");
  assert.equal(clock(0, "UTC"), "00:00");
});
