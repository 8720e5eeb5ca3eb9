/**
 * The routes of the networks, for the filters, and the shapes that vehicles follow.
 *
 * @typedef {{feed: string, id: string, name: string, long: string, color: string|null, type: number, lines: import("./motion.js").Line[], bounds: import("./regions.js").Bounds|null}} Route
 */
import { project } from "./motion.js";
import { union } from "./regions.js";

/** Maximum number of stored points; in larger networks vehicles glide straight. */
const POINTS_MAX = 2_000_000;

/** @param {any} geometry @returns {number[][][]} */
function linesOf(geometry) {
  if (geometry?.type === "LineString") return [geometry.coordinates];
  if (geometry?.type === "MultiLineString") return geometry.coordinates;
  return [];
}

/** Returns the box around a route's points, which is also known if the points are not stored. @param {number[][][]} lines @returns {import("./regions.js").Bounds|null} */
function boundsOf(lines) {
  /** @type {import("./regions.js").Bounds} */
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [longitude, latitude] of lines.flat()) {
    box[0] = Math.min(box[0], longitude);
    box[1] = Math.min(box[1], latitude);
    box[2] = Math.max(box[2], longitude);
    box[3] = Math.max(box[3], latitude);
  }
  return box[0] <= box[2] ? box : null;
}

export class Routes {
  /** @param {{id: string, routes: string|null, feeds: string[]}[]} networks */
  constructor(networks) {
    /** @type {Map<string, Route>} */
    this.all = new Map();
    /** @type {Map<string, string>} networks by feed */
    this.networkOf = new Map(networks.flatMap(({ id, feeds }) => [id, ...feeds].map((feed) => [feed, id])));
    this.networks = networks;
    this.points = 0;
  }

  /**
   * Loads the routes of the networks one after the other.
   * @param {() => void} loaded called after each network @param {(id: string) => boolean} isFirst  true for networks to load before the others
   */
  async load(loaded, isFirst) {
    const order = [...this.networks].sort((a, b) => Number(isFirst(b.id)) - Number(isFirst(a.id)));
    for (const { id, routes } of order) {
      if (!routes) continue;
      const reply = await fetch(routes);
      if (!reply.ok) continue;
      const collection = await reply.json();
      for (const feature of collection.features ?? []) this.add(id, feature);
      loaded();
    }
  }

  /** @param {string} network @param {any} feature GeoJSON */
  add(network, { properties, geometry }) {
    const key = `${network}:${properties.route_id}`;
    const lines = linesOf(geometry);
    const points = lines.reduce((sum, line) => sum + line.length, 0);
    const keep = this.points + points <= POINTS_MAX;
    if (keep) this.points += points;
    const projected = keep ? lines.map((line) => line.map(([longitude, latitude]) => project(longitude, latitude))) : [];
    const bounds = boundsOf(lines);
    const known = this.all.get(key);
    if (known) {
      known.lines.push(...projected);
      known.bounds = bounds && known.bounds ? union([known.bounds, bounds]) : (known.bounds ?? bounds);
      return;
    }
    const short = properties.route_short_name || properties.route_long_name || properties.route_id;
    const route = { feed: network, id: properties.route_id, name: String(short), long: String(properties.route_long_name ?? ""), color: properties.route_color ?? null, type: Number(properties.route_type ?? 3), lines: projected, bounds };
    this.all.set(key, route);
  }

  /** Returns the shapes of a route by a real-time feed's id. @param {string} feed @param {string} routeId */
  linesOf(feed, routeId) {
    return this.all.get(`${this.networkOf.get(feed)}:${routeId}`)?.lines ?? [];
  }

  /** Returns a network's lines without trips, which have no shape, and the number of all its lines. @param {string} network */
  idleOf(network) {
    const all = this.sorted().filter(({ feed }) => feed === network);
    return { idle: all.filter(({ bounds }) => bounds === null), total: all.length };
  }

  /** Returns the routes sorted by mode and name, with numbers in numeric order. @returns {Route[]} */
  sorted() {
    const order = new Intl.Collator("en", { numeric: true });
    return [...this.all.values()].sort((a, b) => order.compare(a.name, b.name));
  }
}
