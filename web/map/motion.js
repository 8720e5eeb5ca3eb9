/**
 * Animates a vehicle from one reported position to the next: evenly over the time until the next
 * report is due, along its route's line if both positions lie on it, else straight. The shown position
 * is at most one report behind, and never ahead of the last report.
 *
 * Positions are Web Mercator, the world being 1 wide, x to the east and y to the south.
 *
 * @typedef {{x: number, y: number}} Point
 * @typedef {Point[]} Line
 * @typedef {{points: Line, along: number[], start: number, end: number}} Path
 */

/** The Earth's circumference in meters, which is the world's width at the equator. */
const EQUATOR_M = 40_075_017;
/** Maximum distance of a position from its line, in meters: half a wide street and GPS error. */
const OFF_LINE_M_MAX = 60;
/** A path along a line is rejected if it is longer than this many times the straight distance. */
const DETOUR_MAX = 2.5;
/** At a higher speed a vehicle has jumped, and is shown at its new position at once. */
const SPEED_M_S_MAX = 120;
/** Bounds of a glide's duration; vehicles that report less often stand still in between. */
const GLIDE_MS_MIN = 500;
const GLIDE_MS_MAX = 30_000;

/** @param {number} longitude @param {number} latitude @returns {Point} */
export function project(longitude, latitude) {
  const sine = Math.sin((Math.min(Math.max(latitude, -85.05), 85.05) * Math.PI) / 180);
  return { x: longitude / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

/** @param {Point} point @returns {[number, number]} longitude and latitude */
export function unproject({ x, y }) {
  return [(x - 0.5) * 360, (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI];
}

/** Returns the meters per unit at this y. @param {number} y */
export const metersPerUnit = (y) => EQUATOR_M / Math.cosh(Math.PI * (1 - 2 * y));

/** @param {Point} a @param {Point} b */
const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

/**
 * Returns the point of a line that is nearest to a point.
 * @param {Line} line @param {Point} point
 * @returns {{segment: number, share: number, point: Point, off: number}}
 */
function nearestOn(line, point) {
  let best = { segment: 0, share: 0, point: line[0], off: Infinity };
  for (let segment = 0; segment + 1 < line.length; segment += 1) {
    const a = line[segment];
    const b = line[segment + 1];
    const dx = b.x - a.x;
    const dy = b.y - a.y;
    const square = dx * dx + dy * dy;
    const share = square === 0 ? 0 : Math.min(Math.max(((point.x - a.x) * dx + (point.y - a.y) * dy) / square, 0), 1);
    const on = { x: a.x + dx * share, y: a.y + dy * share };
    const off = distance(on, point);
    if (off < best.off) best = { segment, share, point: on, off };
  }
  return best;
}

/** Returns the path along a line, or null if the points do not lie on it. @param {Line} line @param {Point} from @param {Point} to */
function alongLine(line, from, to) {
  const limit = OFF_LINE_M_MAX / metersPerUnit(from.y);
  const start = nearestOn(line, from);
  const end = nearestOn(line, to);
  if (start.off > limit || end.off > limit) return null;
  const forward = start.segment < end.segment || (start.segment === end.segment && start.share <= end.share);
  const between = forward ? line.slice(start.segment + 1, end.segment + 1) : line.slice(end.segment + 1, start.segment + 1).reverse();
  return [from, ...between, to];
}

/** @param {Line} points @returns {number[]} the distance from the start at each point */
function measure(points) {
  const along = [0];
  for (let at = 1; at < points.length; at += 1) along.push(along[at - 1] + distance(points[at - 1], points[at]));
  return along;
}

/**
 * Returns the path from a vehicle's shown position to its reported one.
 * @param {Point} from @param {Point} to
 * @param {Line[]} lines  the lines of its route
 * @param {number} now @param {number} interval  milliseconds until the next report is due
 * @returns {Path}
 */
export function glide(from, to, lines, now, interval) {
  const straight = distance(from, to);
  const duration = Math.min(Math.max(interval, GLIDE_MS_MIN), GLIDE_MS_MAX);
  if ((straight * metersPerUnit(to.y)) / (duration / 1000) > SPEED_M_S_MAX) return rest(to, now);
  let points = [from, to];
  let length = Infinity;
  for (const line of lines) {
    const candidate = line.length > 1 && straight > 0 ? alongLine(line, from, to) : null;
    if (!candidate) continue;
    const candidateLength = measure(candidate)[candidate.length - 1];
    if (candidateLength > straight * DETOUR_MAX || candidateLength >= length) continue;
    points = candidate;
    length = candidateLength;
  }
  return { points, along: measure(points), start: now, end: now + duration };
}

/** Returns a path that stays in one place. @param {Point} at @param {number} now @returns {Path} */
export const rest = (at, now) => ({ points: [at], along: [0], start: now, end: now });

/**
 * Returns the position and heading on a path at a time (radians clockwise from north; null at rest).
 * @param {Path} path @param {number} now @returns {Point & {heading: number|null}}
 */
export function positionAt({ points, along, start, end }, now) {
  const last = points.length - 1;
  if (last === 0) return { ...points[0], heading: null };
  const share = end <= start ? 1 : Math.min(Math.max((now - start) / (end - start), 0), 1);
  const wanted = along[last] * share;
  let segment = 0;
  while (segment + 1 < last && along[segment + 1] < wanted) segment += 1;
  const a = points[segment];
  const b = points[segment + 1];
  const length = along[segment + 1] - along[segment];
  const within = length === 0 ? 0 : (wanted - along[segment]) / length;
  const heading = length === 0 ? null : Math.atan2(b.x - a.x, a.y - b.y);
  return { x: a.x + (b.x - a.x) * within, y: a.y + (b.y - a.y) * within, heading };
}

/** Returns the smoothed time between reports. @param {number|null} known @param {number} seen */
export function learnInterval(known, seen) {
  const bounded = Math.min(Math.max(seen, GLIDE_MS_MIN), GLIDE_MS_MAX);
  return known === null ? bounded : known + (bounded - known) * 0.3;
}
