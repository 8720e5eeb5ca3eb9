/** Small networks for tests: schedules as folders, and a server of vehicle positions. */
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";

/** @typedef {{id: string, name: string, lat: number, lon: number, kind?: number, parent?: string, platform?: string, code?: string}} StopRow */
/** @typedef {{id: string, short: string, long: string, type: number, color?: string, stops: string[]}} LineRow */

/** @param {(string|number|undefined)[][]} rows */
const csv = (rows) => rows.map((row) => row.map((cell) => cell ?? "").join(",")).join("\n") + "\n";

/** Formats a time for `stop_times.txt`; it may exceed 24 hours. @param {number} seconds */
const clock = (seconds) => [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");

/**
 * Writes a schedule with one daily trip per line that has stops, which takes a minute from stop to stop. The timezone is UTC.
 * @param {string} folder @param {string} agency @param {StopRow[]} stops @param {LineRow[]} lines
 * @param {{start?: string, end?: string, time?: number}} [service] the first and last service day as YYYYMMDD, and when the trips start, in seconds since midnight
 */
export async function writeSchedule(folder, agency, stops, lines, { start = "20200101", end = "20991231", time = 8 * 3_600 } = {}) {
  const times = lines.flatMap(({ id, stops: calls }) => calls.map((stop, at) => [`${id}-1`, clock(time + 60 * at), clock(time + 60 * at), stop, at + 1]));
  const files = {
    agency: [["agency_id", "agency_name", "agency_url", "agency_timezone"], ["a", agency, "https://example.org", "Etc/UTC"]],
    stops: [["stop_id", "stop_code", "stop_name", "stop_lat", "stop_lon", "location_type", "parent_station", "platform_code"], ...stops.map(({ id, code, name, lat, lon, kind, parent, platform }) => [id, code, name, lat, lon, kind ?? 0, parent, platform])],
    routes: [["route_id", "agency_id", "route_short_name", "route_long_name", "route_type", "route_color"], ...lines.map(({ id, short, long, type, color }) => [id, "a", short, long, type, color])],
    trips: [["route_id", "service_id", "trip_id", "trip_headsign"], ...lines.filter(({ stops: calls }) => calls.length > 0).map(({ id, long }) => [id, "daily", `${id}-1`, long])],
    stop_times: [["trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence"], ...times],
    calendar: [["service_id", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "start_date", "end_date"], ["daily", 1, 1, 1, 1, 1, 1, 1, start, end]],
  };
  await mkdir(folder, { recursive: true });
  for (const [name, rows] of Object.entries(files)) await writeFile(path.join(folder, `${name}.txt`), csv(rows));
}

/** @param {number} value @returns {number[]} */
function varint(value) {
  const bytes = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

/** @param {number} field @param {number[]|Buffer|string} content */
function part(field, content) {
  const bytes = typeof content === "string" ? [...Buffer.from(content)] : [...content];
  return [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
}
/** @param {number} field @param {number} value */
const number = (field, value) => [...varint(field * 8), ...varint(value)];
/** @param {number} field @param {number} value */
function float(field, value) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return [...varint(field * 8 + 5), ...bytes];
}

/** @typedef {{id: string, route: string, trip?: string, lat?: number, lon?: number}} Position  without `lat`, the vehicle reports no position */

/** Encodes a GTFS-Realtime message of vehicle positions. @param {Position[]} positions @param {number} at seconds @param {number} [age] of the positions @param {number} [headerAge] of the message */
export function positionsMessage(positions, at, age = 0, headerAge = 0) {
  const header = part(1, [...part(1, "2.0"), ...number(2, 0), ...number(3, at - headerAge)]);
  const entities = positions.flatMap(({ id, route, trip = `${route}-1`, lat, lon = 0 }) => {
    const vehicle = [...part(1, [...part(1, trip), ...part(5, route)]), ...(lat === undefined ? [] : part(2, [...float(1, lat), ...float(2, lon)])), ...number(5, at - age), ...part(8, [...part(1, id), ...part(2, id)])];
    return part(2, [...part(1, id), ...part(4, vehicle)]);
  });
  return Buffer.from([...header, ...entities]);
}

/** Starts a server of vehicle positions, with each feed at `/<feed>.pb`. */
export async function startProducer() {
  /** @type {Map<string, {positions: Position[], age?: number, headerAge?: number, fails?: boolean}>} */
  const feeds = new Map();
  const server = createServer((request, reply) => {
    const feed = feeds.get((request.url ?? "").slice(1).replace(".pb", ""));
    if (!feed || feed.fails) return reply.writeHead(feed ? 500 : 404).end();
    reply.writeHead(200, { "content-type": "application/x-protobuf" }).end(positionsMessage(feed.positions, Math.floor(Date.now() / 1_000), feed.age, feed.headerAge));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { feeds, origin: `http://127.0.0.1:${port}`, stop: () => server.close() };
}
