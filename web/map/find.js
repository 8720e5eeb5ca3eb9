/** Stops and lines by name or by nearness. */
import { unproject } from "./motion.js";
import { union } from "./regions.js";
import { formatRef } from "./view.js";

/** Stops asked for at once. */
const STOPS_MAX = 8;
/** Lines and destinations shown of each. */
const LINES_MAX = 7;
const TOWARDS_MAX = 2;
/** Words before a line's name that say only that it is one. */
const KIND_WORDS = /^(?:line|route|tram|bus|train|metro|subway|ferry)\s+(?=\S)/;

/** @param {number} meters */
const distanceWords = (meters) => (meters < 1000 ? `${Math.round(meters / 10) * 10} m` : `${(meters / 1000).toFixed(1)} km`);

/**
 * The stops that a question names, the nearest first; without a question simply the nearest.
 * @param {string} question
 * @param {import("./regions.js").Place|null} origin  what distances are measured from
 * @param {(feed: string) => string|null} nameOf  a network's name, where there are several
 * @returns {Promise<import("./search.js").FoundStop[]>}
 */
export async function findStops(question, origin, nameOf) {
  if (!question && !origin) return [];
  const query = new URLSearchParams({ limit: String(STOPS_MAX) });
  if (question) query.set("q", question);
  if (origin) query.set("near", `${origin.latitude.toFixed(5)},${origin.longitude.toFixed(5)}`);
  const reply = await fetch(`/api/v1/stops?${query}`);
  if (!reply.ok) return [];
  const { items } = await reply.json();
  return items.map((/** @type {any} */ { feed, id, name, code, platform_code, lat, lon, distance, routes, towards }) => {
    const note = [Number.isFinite(distance) ? distanceWords(distance) : null, nameOf(feed)].filter(Boolean).join(" · ");
    return { feed, id, name, latitude: lat, longitude: lon, note, lines: routes ?? [], detail: detailWords({ code, platform: platform_code, towards: towards ?? [] }) };
  });
}

/**
 * What tells two stops of one name apart: the platform or the code on the sign, and where its trips go.
 * @param {{code: string|null, platform: string|null, towards: string[]}} stop
 */
export function detailWords({ code, platform, towards }) {
  const sign = platform ? `Platform ${platform}` : code ? `Stop ${code}` : null;
  return [sign, towards.length > 0 ? `towards ${towards.slice(0, TOWARDS_MAX).join(", ")}` : null].filter(Boolean).join(" · ");
}

/** The lines shown of a stop, and how many more call there. @param {string[]} lines */
export function shownLines(lines) {
  const order = new Intl.Collator("en", { numeric: true });
  const sorted = [...lines].sort(order.compare);
  // One more takes no more room than "+1".
  const shown = sorted.length <= LINES_MAX + 1 ? sorted : sorted.slice(0, LINES_MAX);
  return { shown, more: sorted.length - shown.length };
}

/** Lines that are called so, and lines that only run there. @param {import("./routes.js").Routes} routes @param {string} question */
export function findRoutes(routes, question) {
  const wanted = question.toLocaleLowerCase("en").replace(KIND_WORDS, "");
  const isCalled = (/** @type {import("./routes.js").Route} */ { name }) => name.toLocaleLowerCase("en").startsWith(wanted);
  const all = routes.sorted();
  const byName = all.filter(isCalled).sort((a, b) => a.name.length - b.name.length);
  const byDescription = all.filter((route) => !isCalled(route) && route.long.toLocaleLowerCase("en").includes(wanted));
  return { byName, byDescription };
}

/** The box around a line: west, south, east, north. @param {import("./routes.js").Route} route @returns {[number, number, number, number]|null} */
export function boundsOfRoute(route) {
  let box = null;
  for (const [x, y] of route.lines.flat().map(unproject)) {
    box = box ? [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)] : [x, y, x, y];
  }
  return /** @type {any} */ (box);
}

/** The box around lines; none until all of them are known. @param {import("./routes.js").Routes} routes @param {import("./view.js").Ref[]} refs */
export function boundsOfRoutes(routes, refs) {
  const boxes = refs.flatMap((ref) => {
    const route = routes.all.get(formatRef(ref));
    const box = route && boundsOfRoute(route);
    return box ? [box] : [];
  });
  return boxes.length > 0 && boxes.length === refs.length ? union(boxes) : null;
}
