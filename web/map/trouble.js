/** The panel's notices about networks in view with outdated data or an ended timetable. */
import { byId, element, replaceContent } from "../plain/dom.js";
import { DELAYED, isUnreliable } from "../plain/states.js";
import { clockOrDay, dateWords, durationWords, seconds } from "../plain/words.js";

/** States in order of severity, the worst last. */
const GRAVITY = ["late", "stale", "empty", "paused", "failing"];
/** States in which positions are not updated. */
export const STANDSTILL = ["stale", "failing", "paused"];

/** Maximum number of listed networks; a view of a continent has dozens. */
const LINES_MAX = 4;

/**
 * @typedef {{state: string, unreliable_since?: string|null}} State
 * @typedef {{feed: string, record: State}} FeedState
 * @typedef {import("./regions.js").Region} Region
 */

/**
 * Returns the live feed in the worst state of each network in view. Timetables and alerts do not affect vehicles.
 * @param {FeedState[]} states @param {Region[]} regions in view
 * @returns {(FeedState & {name: string})[]}
 */
export function troubleIn(states, regions) {
  const gravity = (/** @type {FeedState} */ { record }) => GRAVITY.indexOf(record.state);
  return regions.flatMap(({ name, live }) => {
    const troubled = states.filter(({ feed, record }) => live.includes(feed) && isUnreliable(record));
    const [worst] = troubled.sort((a, b) => gravity(b) - gravity(a));
    return worst ? [{ ...worst, name }] : [];
  });
}

/** Age from which on positions are old, in seconds. */
const OLD_S = 120;
/** Age from which on the text has no age, but says that the positions are old, in seconds. */
const AGELESS_S = 30 * 86_400;

/** Returns a text such as "positions are 40 min old"; null if the age is not known. @param {number|null} age of the newest position, in seconds */
export function positionWords(age) {
  if (age === null || age < OLD_S) return null;
  return age < AGELESS_S ? `positions are ${durationWords(age)} old` : "positions are months old";
}

/**
 * @param {State} record @param {string} timezone @param {number} now seconds @param {number|null} [age] of the newest position, in seconds
 * @param {boolean} [isRecorded] true if the feed is a recording, to whose clock the server's time does not belong
 */
export function advice({ state, unreliable_since: since }, timezone, now, age = null, isRecorded = false) {
  const at = seconds(since);
  if (isRecorded && STANDSTILL.includes(state)) return "the recording has no newer live data";
  if (!STANDSTILL.includes(state) || at === null) return positionWords(age) ?? "live data may be out of date";
  return `no new live data since ${clockOrDay(at, now, timezone)}`;
}

/** @param {string} feed @param {string} state @param {string} name @param {string} words */
function line(feed, state, name, words) {
  const template = document.getElementById(`state-${state}`);
  const sign = element("span.state", { "data-state": state });
  if (template instanceof HTMLTemplateElement) sign.append(template.content.cloneNode(true));
  // "Late" would mean late trains to readers.
  if (state === "late") sign.replaceChildren(...sign.querySelectorAll("svg"));
  return element("li", { "data-feed": feed }, sign, " ", element("a", { href: `/feeds/${encodeURIComponent(feed)}` }, name), `: ${words}`);
}

/** True while the panel lists all notices. */
let isExpanded = false;

/**
 * @param {(FeedState & {name: string})[]} troubled @param {Region[]} regions in view
 * @param {{timezoneOf: (feed: string) => string, ageOf: (feed: string) => number|null, isRecorded: (feed: string) => boolean, now: number}} context  `ageOf` returns the age of the newest position, `now` in seconds
 */
export function showTrouble(troubled, regions, context) {
  const late = troubled.map(({ feed, name, record }) => line(feed, record.state, name, advice(record, context.timezoneOf(feed), context.now, context.ageOf(feed), context.isRecorded(feed))));
  const ended = regions.flatMap(({ id, name, ended }) => (ended ? [line(id, "expired", name, `the timetable ended on ${dateWords(ended)}`)] : []));
  const lines = [...late, ...ended];
  const more = Math.max(lines.length - LINES_MAX, 0);
  const toggle = () => {
    isExpanded = !isExpanded;
    showTrouble(troubled, regions, context);
  };
  const button = element("button.link.target", { type: "button", id: "more-states", "aria-expanded": String(isExpanded), "data-more": more, onclick: toggle }, isExpanded ? "Show fewer" : `and ${more} more in view`);
  const list = byId("feed-states");
  replaceContent(list, [...lines.slice(0, isExpanded ? undefined : LINES_MAX), ...(more > 0 ? [element("li.soft", {}, button)] : [])]);
  list.hidden = lines.length === 0;
}

/** @typedef {"ended"|"timetable"|"missing"|"some_missing"|"late"|"some_late"|"delayed"|"recording"|"live"} LiveState */

/** The texts of the states, for the connection status; null means that it shows "Live". @type {Record<LiveState, string|null>} */
const LIVE_WORDS = {
  ended: "Timetable ended", timetable: "Timetable only", missing: "Live data missing", some_missing: "Some live data missing",
  late: "Live data out of date", some_late: "Some live data out of date", delayed: "Live data delayed", recording: "Recording", live: null,
};

/**
 * Returns the state of the live data of networks: `live` only while something is live and nothing is in trouble.
 * @param {FeedState[]} states of all feeds @param {Region[]} regions @returns {LiveState}
 */
export function liveState(states, regions) {
  const live = regions.filter((region) => region.live.length > 0);
  if (regions.length > 0 && live.length === 0) return regions.every(({ ended }) => ended) ? "ended" : "timetable";
  const troubled = troubleIn(states, live);
  if (troubled.length > 0) {
    const kind = troubled.some(({ record }) => record.state !== "late") ? "missing" : "late";
    return live.length > troubled.length ? `some_${kind}` : kind;
  }
  const isDelayed = states.some(({ feed, record }) => DELAYED.includes(record.state) && live.some((region) => region.live.includes(feed)));
  if (isDelayed) return "delayed";
  return live.length > 0 && live.every(({ recording }) => recording) ? "recording" : "live";
}

/**
 * Returns the text that the connection status shows instead of "Live", or null.
 * @param {FeedState[]} states of all feeds @param {Region[]} regions in view @param {(feed: string) => number|null} [ageOf] returns the age of a feed's newest position
 */
export function liveWords(states, regions, ageOf = () => null) {
  const state = liveState(states, regions);
  if (state !== "late" && state !== "some_late") return LIVE_WORDS[state];
  const ages = troubleIn(states, regions).flatMap(({ feed }) => ageOf(feed) ?? []);
  const words = positionWords(ages.length > 0 ? Math.max(...ages) : null);
  if (words === null) return LIVE_WORDS[state];
  return state === "late" ? `P${words.slice(1)}` : `Some ${words}`;
}
