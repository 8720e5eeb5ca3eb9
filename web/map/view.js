/**
 * The map's view in the page's address: `?at=<lat>,<lon>,<zoom>&mode=tram,bus&route=<feed>:<route>
 * &stop=<feed>:<stop>&vehicle=<feed>:<id>&station=<feed>:<id>&show=list`, or `?network=<id>` for a whole network. The
 * server reads these parameters, too (pages/map.rs).
 *
 * @typedef {{feed: string, id: string}} Ref
 * @typedef {object} View
 * @property {{latitude: number, longitude: number, zoom: number}|null} at
 * @property {Set<string>} modes   empty means all
 * @property {Ref[]} routes        empty means all
 * @property {Ref|null} stop
 * @property {Ref|null} vehicle
 * @property {Ref|null} station of a GBFS system
 * @property {string|null} network the initial network if there is no `at`
 * @property {boolean} list
 */

/** Maximum number of routes in an address. */
const ROUTES_MAX = 32;

/** Returns the mode of a GTFS route type, including extended ones. @param {number|null|undefined} type */
export function modeOf(type) {
  if (type === null || type === undefined) return "other";
  const basic = ["tram", "metro", "rail", "bus", "ferry", "tram", "gondola", "rail", undefined, undefined, undefined, "bus", "rail"];
  if (type < 100) return basic[type] ?? "other";
  const extended = { 1: "rail", 2: "bus", 4: "metro", 5: "metro", 6: "metro", 7: "bus", 8: "bus", 9: "tram", 10: "ferry", 12: "ferry", 13: "gondola", 14: "rail" };
  return extended[/** @type {keyof typeof extended} */ (Math.floor(type / 100))] ?? "other";
}

/** The names of the modes, in display order. */
export const MODES = new Map([
  ["rail", "Rail"],
  ["metro", "Metro"],
  ["tram", "Tram"],
  ["bus", "Bus"],
  ["ferry", "Ferry"],
  ["gondola", "Cable car"],
  ["bike", "Bikes"],
  ["other", "Other"],
]);

/** @param {string|null} text @returns {Ref|null} */
function parseRef(text) {
  const cut = text?.indexOf(":") ?? -1;
  return text && cut > 0 && cut < text.length - 1 ? { feed: text.slice(0, cut), id: text.slice(cut + 1) } : null;
}

/** @param {Ref} ref */
export const formatRef = ({ feed, id }) => `${feed}:${id}`;

/** Returns true if two views have the same card open. @param {View} a @param {View} b */
export function hasSameSelection(a, b) {
  const words = (/** @type {View} */ { vehicle, stop, station }) => [vehicle, stop, station].map((ref) => (ref ? formatRef(ref) : "")).join("\n");
  return words(a) === words(b);
}

/** Returns the address of a line's page. @param {Ref} route */
export const routeAddress = ({ feed, id }) => `/routes/${encodeURIComponent(feed)}/${encodeURIComponent(id)}`;

/** @param {string|null} text @returns {View["at"]} */
function parseAt(text) {
  const [latitude, longitude, zoom] = (text ?? "").split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
  const valid = Math.abs(latitude) <= 85.06 && Math.abs(longitude) <= 180 && zoom >= 0 && zoom <= 24;
  return valid ? { latitude, longitude, zoom } : null;
}

/** @param {string} search @returns {View} */
export function parseView(search) {
  const query = new URLSearchParams(search);
  const modes = (query.get("mode") ?? "").split(",").filter((mode) => MODES.has(mode));
  const routes = query.getAll("route").map(parseRef).filter((ref) => ref !== null);
  return {
    at: parseAt(query.get("at")),
    modes: new Set(modes),
    routes: /** @type {Ref[]} */ (routes).slice(0, ROUTES_MAX),
    stop: parseRef(query.get("stop")),
    vehicle: parseRef(query.get("vehicle")),
    station: parseRef(query.get("station")),
    network: query.get("network") || null,
    list: query.get("show") === "list",
  };
}

/** @param {View} view @returns {string} the query with its question mark, or an empty string */
export function formatView({ at, modes, routes, stop, vehicle, station, network, list }) {
  const query = new URLSearchParams();
  if (at) {
    // The digits for one pixel's precision: 2^(8 + zoom) pixels span 360 degrees.
    const digits = Math.min(Math.max(Math.ceil(((8 + at.zoom) * Math.LN2 - Math.log(360)) / Math.LN10), 2), 7);
    query.set("at", `${at.latitude.toFixed(digits)},${at.longitude.toFixed(digits)},${Number(at.zoom.toFixed(2))}`);
  }
  // A place is more specific than a network.
  if (network && !at) query.set("network", network);
  if (modes.size > 0) query.set("mode", [...MODES.keys()].filter((mode) => modes.has(mode)).join(","));
  for (const route of routes) query.append("route", formatRef(route));
  if (stop) query.set("stop", formatRef(stop));
  if (vehicle) query.set("vehicle", formatRef(vehicle));
  if (station) query.set("station", formatRef(station));
  if (list) query.set("show", "list");
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text ? `?${text}` : "";
}
