/** Finds stops and lines by name or by distance. */
import { numberWords } from "../plain/words.js";
import { metersBetween, union } from "./regions.js";
import { RouteQuery } from "./route_query.js";
import { formatRef } from "./view.js";

/** Maximum number of stops of a request. */
const STOPS_MAX = 8;
/** Number of nearest stops requested, so that those without lines can be shown last. */
const NEAREST_MAX = 24;
/** From this distance on, in meters, kilometers have no decimals. */
const WHOLE_KM_MIN = 9_950;
/** Maximum numbers of lines and destinations shown for a stop. */
const LINES_MAX = 7;
const TOWARDS_MAX = 2;

/** @param {number} meters */
export function distanceWords(meters) {
  if (meters < 1_000) return `${Math.round(meters / 10) * 10} m`;
  return meters < WHOLE_KM_MIN ? `${(meters / 1_000).toFixed(1)} km` : `${numberWords(Math.round(meters / 1_000))} km`;
}

/**
 * Finds stops that match a question, best match first; without a question, the nearest stops. Stops without lines come last.
 * @param {string} question
 * @param {import("./regions.js").Place|null} origin  the place from which distances are measured
 * @param {(feed: string) => string|null} nameOf  returns a network's name, or null if there is only one
 * @returns {Promise<import("./search.js").FoundStop[]>}
 */
export async function findStops(question, origin, nameOf) {
  if (!question && !origin) return [];
  const query = new URLSearchParams({ limit: String(question ? STOPS_MAX : NEAREST_MAX) });
  if (question) query.set("q", question);
  if (origin) query.set("near", `${origin.latitude.toFixed(5)},${origin.longitude.toFixed(5)}`);
  const reply = await fetch(`/api/v1/stops?${query}`);
  if (!reply.ok) return [];
  const { items } = await reply.json();
  const isServed = (/** @type {any} */ { routes }) => (routes ?? []).length > 0;
  const ordered = [...items.filter(isServed), ...items.filter((/** @type {any} */ item) => !isServed(item))];
  const found = ordered.slice(0, STOPS_MAX).map((/** @type {any} */ { feed, id, name, code, platform_code, lat, lon, distance, routes, route_colors: colors, towards }) => {
    const detail = isServed({ routes }) ? detailWords({ code: isRawId(code, id) ? null : code, platform: platform_code, towards: towards ?? [] }) : "No line stops here";
    const about = [Number.isFinite(distance) ? distanceWords(distance) : null, nameOf(feed), detail].filter(Boolean).join(" · ");
    const lines = (routes ?? []).map((/** @type {string} */ line, /** @type {number} */ at) => ({ name: line, color: colors?.[at] ?? null }));
    return { feed, id, name, latitude: lat, longitude: lon, detail, about, lines };
  });
  return groupNamesakes(found);
}

/** Returns true if a stop's code is no code for riders, but its id. @param {string|null} code @param {string} id */
const isRawId = (code, id) => code === id && !/^\d+$/.test(id);

/** The name of a stop's platform at the end of its name. */
const PLATFORM_SUFFIX = /[\s,(/-]*\b(bay|stand|platform|track|gate)\s*[\p{L}\p{N}]{1,3}\)?$/iu;
/** Stops of one name that are farther apart, in meters, are different places. */
const NAMESAKE_M_MAX = 1_000;

/**
 * Moves each stop behind the first one of the same place: of the same network and name, without the names of platforms.
 * @param {import("./search.js").FoundStop[]} stops @returns {import("./search.js").FoundStop[]} the others of a place have a `sign`: what their names have in addition
 */
export function groupNamesakes(stops) {
  /** @type {{base: string, all: import("./search.js").FoundStop[]}[]} */
  const places = [];
  for (const stop of stops) {
    const base = stop.name.replace(PLATFORM_SUFFIX, "") || stop.name;
    const place = places.find(({ base: other, all: [first] }) => other === base && first.feed === stop.feed && metersBetween(first, stop) <= NAMESAKE_M_MAX);
    // The distance and the network are those of the first stop.
    if (place) place.all.push({ ...stop, sign: stop.name.slice(base.length).replace(/^[\s,(/-]+|\)$/g, ""), about: stop.detail });
    else places.push({ base, all: [stop] });
  }
  const order = new Intl.Collator("en", { numeric: true });
  return places.flatMap(({ all: [first, ...others] }) => [first, ...others.sort((a, b) => order.compare(a.sign ?? "", b.sign ?? ""))]);
}

/**
 * Returns the details that distinguish stops with the same name: platform or code, and the destinations of its trips.
 * @param {{code: string|null, platform: string|null, towards: string[]}} stop
 */
export function detailWords({ code, platform, towards }) {
  const sign = platform ? `Platform ${platform}` : code ? `Stop ${code}` : null;
  return [sign, towards.length > 0 ? `towards ${towards.slice(0, TOWARDS_MAX).join(", ")}` : null].filter(Boolean).join(" · ");
}

/** Returns the lines to show for a stop, and the number of further ones. @template {{name: string}} T @param {T[]} lines */
export function shownLines(lines) {
  const order = new Intl.Collator("en", { numeric: true });
  const sorted = [...lines].sort((a, b) => order.compare(a.name, b.name));
  // One more line takes no more room than "+1".
  const shown = sorted.length <= LINES_MAX + 1 ? sorted : sorted.slice(0, LINES_MAX);
  return { shown, more: sorted.length - shown.length };
}

/**
 * Finds lines by name, best match first, and separately the lines whose long name alone matches.
 * @param {import("./routes.js").Routes} routes @param {string} question
 */
export function findRoutes(routes, question) {
  const query = new RouteQuery(question);
  const found = routes.sorted().flatMap((route) => {
    const rank = query.rank(route);
    return rank === null ? [] : [{ route, rank, isCalled: rank < 2 || query.isPrefixOf(route) }];
  });
  found.sort((a, b) => a.rank - b.rank || a.route.name.length - b.route.name.length);
  const only = (/** @type {boolean} */ isCalled) => found.filter((each) => each.isCalled === isCalled).map(({ route }) => route);
  return { byName: only(true), byDescription: only(false) };
}

/** Returns the box around lines, or null until all of them are loaded. @param {import("./routes.js").Routes} routes @param {import("./view.js").Ref[]} refs */
export function boundsOfRoutes(routes, refs) {
  const boxes = refs.flatMap((ref) => {
    const route = routes.all.get(formatRef(ref));
    return route?.bounds ? [route.bounds] : [];
  });
  return boxes.length > 0 && boxes.length === refs.length ? union(boxes) : null;
}
