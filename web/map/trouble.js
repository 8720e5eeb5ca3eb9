/** The panel's notices about networks in view with outdated data or an ended timetable. */
import { byId, element } from "../plain/dom.js";
import { DELAYED, isUnreliable } from "../plain/states.js";
import { clockOrDay, dateWords, seconds } from "../plain/words.js";

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

/** @param {{state: string, unreliable_since?: string|null}} record @param {string} timezone @param {number} now seconds */
export function advice({ state, unreliable_since: since }, timezone, now) {
  const at = seconds(since);
  if (!STANDSTILL.includes(state) || at === null) return "live data may be out of date";
  return `no new live data since ${clockOrDay(at, now, timezone)}`;
}

/** @param {string} feed @param {string} state @param {string} name @param {string} words */
function line(feed, state, name, words) {
  const template = document.getElementById(`state-${state}`);
  const sign = element("span.state", { "data-state": state });
  if (template instanceof HTMLTemplateElement) sign.append(template.content.cloneNode(true));
  return element("li", { "data-feed": feed }, sign, " ", element("a", { href: `/feeds/${encodeURIComponent(feed)}` }, name), `: ${words}`);
}

/** @param {(FeedState & {name: string})[]} troubled @param {Region[]} regions in view @param {(feed: string) => string} timezoneOf @param {number} now seconds */
export function showTrouble(troubled, regions, timezoneOf, now) {
  const late = troubled.map(({ feed, name, record }) => line(feed, record.state, name, advice(record, timezoneOf(feed), now)));
  const ended = regions.flatMap(({ id, name, ended }) => (ended ? [line(id, "expired", name, `the timetable ended on ${dateWords(ended)}`)] : []));
  const lines = [...late, ...ended];
  const more = lines.splice(LINES_MAX).length;
  byId("feed-states").replaceChildren(...lines, ...(more > 0 ? [element("li.soft", {}, element("a", { href: "/", "data-more": more }, `and ${more} more in view`))] : []));
  byId("feed-states").hidden = lines.length === 0;
}

/**
 * Returns the text that the connection status shows instead of "Live"; null while something in view is live and nothing is in
 * trouble.
 * @param {FeedState[]} states of all feeds @param {Region[]} regions in view
 */
export function liveWords(states, regions) {
  const live = regions.filter((region) => region.live.length > 0);
  if (regions.length > 0 && live.length === 0) return regions.every(({ ended }) => ended) ? "Timetable ended" : "Timetable only";
  const troubled = troubleIn(states, live);
  const count = troubled.length;
  if (count > 0) return `${live.length > count ? "Some live data" : "Live data"} ${troubled.some(({ record }) => record.state !== "late") ? "missing" : "late"}`;
  const isDelayed = states.some(({ feed, record }) => DELAYED.includes(record.state) && live.some((region) => region.live.includes(feed)));
  if (isDelayed) return "Live data delayed";
  return live.length > 0 && live.every(({ recording }) => recording) ? "Recording" : null;
}
