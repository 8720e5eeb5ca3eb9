/** Stops and lines by name or by nearness. */
import { unproject } from "./motion.js";

/** Stops asked for at once. */
const STOPS_MAX = 8;

/** @param {number} meters */
const distanceWords = (meters) => (meters < 1000 ? `${Math.round(meters / 10) * 10} m` : `${(meters / 1000).toFixed(1)} km`);

/**
 * The stops that a question names, the nearest first; without a question simply the nearest.
 * @param {string} question
 * @param {{latitude: number, longitude: number}|null} center
 * @param {boolean} showsFeed  whether a stop has to say which feed it is of
 * @returns {Promise<import("./search.js").FoundStop[]>}
 */
export async function findStops(question, center, showsFeed) {
  if (!question && !center) return [];
  const query = new URLSearchParams({ limit: String(STOPS_MAX) });
  if (question) query.set("q", question);
  if (center) query.set("near", `${center.latitude.toFixed(5)},${center.longitude.toFixed(5)}`);
  const reply = await fetch(`/api/v1/stops?${query}`);
  if (!reply.ok) return [];
  const { items } = await reply.json();
  return items.map((/** @type {any} */ { feed, id, name, lat, lon, distance }) => {
    const note = Number.isFinite(distance) ? distanceWords(distance) : showsFeed ? feed : "stop";
    return { feed, id, name, latitude: lat, longitude: lon, note };
  });
}

/** Lines that are called so, and lines that only run there. @param {import("./routes.js").Routes} routes @param {string} question */
export function findRoutes(routes, question) {
  const wanted = question.toLocaleLowerCase("en");
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
