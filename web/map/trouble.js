/** Which networks in view have data that may be out of date, in the panel. */
import { byId, element } from "../plain/dom.js";
import { TROUBLE } from "../plain/states.js";
import { clockOrDay, seconds } from "../plain/words.js";

/** States in order of how much they take from riders, the worst last. */
const GRAVITY = ["late", "stale", "empty", "paused", "failing"];
/** States in which vehicles stand where they were and not where they are. */
export const STANDSTILL = ["stale", "failing", "paused"];

/** @typedef {{feed: string, record: {state: string, unreliable_since?: string|null}}} FeedState */

/**
 * The worst live feed of each network in view: a timetable or alerts in trouble move no vehicle.
 * @param {FeedState[]} states @param {import("./regions.js").Region[]} regions in view
 * @returns {(FeedState & {name: string})[]}
 */
export function troubleIn(states, regions) {
  const gravity = (/** @type {FeedState} */ { record }) => GRAVITY.indexOf(record.state);
  return regions.flatMap(({ name, live }) => {
    const troubled = states.filter(({ feed, record }) => live.includes(feed) && TROUBLE.includes(record.state));
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

/** @param {(FeedState & {name: string})[]} troubled @param {(feed: string) => string} timezoneOf @param {number} now seconds */
export function showTrouble(troubled, timezoneOf, now) {
  byId("feed-states").replaceChildren(
    ...troubled.map(({ feed, name, record }) => {
      const template = document.getElementById(`state-${record.state}`);
      const sign = element("span.state", { "data-state": record.state });
      if (template instanceof HTMLTemplateElement) sign.append(template.content.cloneNode(true));
      return element("li", { "data-feed": feed }, sign, " ", element("a", { href: `/feeds/${encodeURIComponent(feed)}` }, name), `: ${advice(record, timezoneOf(feed), now)}`);
    }),
  );
  byId("feed-states").hidden = troubled.length === 0;
}

/**
 * What the connection's sign says in place of "Live"; null while nothing in view is in trouble.
 * @param {import("./regions.js").Region[]} regions in view
 */
export function liveTrouble(regions) {
  const states = [...byId("feed-states").querySelectorAll("[data-state]")].map((shown) => shown.getAttribute("data-state") ?? "");
  if (states.length === 0) return null;
  const isPart = regions.filter(({ live }) => live.length > 0).length > states.length;
  return `${isPart ? "Some live data" : "Live data"} ${states.some((state) => state !== "late") ? "missing" : "late"}`;
}
