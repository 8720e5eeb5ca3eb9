/**
 * Merges the pieces of a lake into one shore. The package cuts water along an adaptive grid, so that a lake consists of dozens of
 * polygons that share straight sides. This module removes the shared sides and joins the remaining ones.
 *
 * Rings are closed lists of [x, y] in whole units; counterclockwise is water, clockwise an island.
 */

/** @typedef {number[][]} Ring */

/** Returns the area of a ring, positive if it is counterclockwise. @param {Ring} ring */
export function signedArea(ring) {
  let double = 0;
  for (let at = 1; at < ring.length; at += 1) double += ring[at - 1][0] * ring[at][1] - ring[at][0] * ring[at - 1][1];
  return double / 2;
}

/** Orients the first ring of a polygon counterclockwise, the others clockwise. @param {Ring[]} polygon @returns {Ring[]} */
export const orient = (polygon) => polygon.map((ring, at) => (signedArea(ring) > 0 === (at === 0) ? ring : [...ring].reverse()));

/** Returns a unique number for a point with coordinates within ±200,000. @param {number[]} point */
const keyOf = ([x, y]) => (x + 200_000) * 400_001 + y + 200_000;

/** Sides by their start point. */
class Sides {
  /** @type {Map<number, number[][]>} */
  #ends = new Map();
  /** @type {number[][]} */
  starts = [];

  /** @param {number[]} start @param {number[]} end */
  add(start, end) {
    const key = keyOf(start);
    const known = this.#ends.get(key);
    if (known) known.push(end);
    else this.#ends.set(key, [end]);
    this.starts.push(start);
  }

  /** Removes and returns a side that starts at a point; of several, the one that turns most to the right, which separates rings. @param {number[]} point @param {number[]|null} before */
  take(point, before) {
    const ends = this.#ends.get(keyOf(point));
    if (!ends || ends.length === 0) return null;
    if (ends.length === 1 || !before) return ends.pop() ?? null;
    const direction = Math.atan2(point[1] - before[1], point[0] - before[0]);
    const turnTo = (/** @type {number[]} */ end) => {
      const turn = Math.atan2(end[1] - point[1], end[0] - point[0]) - direction;
      return turn > Math.PI ? turn - 2 * Math.PI : turn <= -Math.PI ? turn + 2 * Math.PI : turn;
    };
    const turns = ends.map(turnTo);
    return ends.splice(turns.indexOf(Math.min(...turns)), 1)[0];
  }
}

/** Adds the sides on one line that remain when opposite sides cancel out. @param {[number, number][]} events places and the change of direction there @param {(from: number, to: number) => void} add */
function addUncovered(events, add) {
  events.sort((a, b) => a[0] - b[0]);
  let [direction, from] = [0, 0];
  for (const [place, change] of events) {
    for (let count = 0; place > from && count < Math.abs(direction); count += 1) {
      if (direction > 0) add(from, place);
      else add(place, from);
    }
    direction += change;
    from = place;
  }
}

/** @param {Ring} ring @returns {Ring} without redundant points on straight lines */
function withoutStraight(ring) {
  const kept = [ring[0]];
  for (let at = 1; at < ring.length - 1; at += 1) {
    const [a, b, c] = [kept[kept.length - 1], ring[at], ring[at + 1]];
    if ((b[0] - a[0]) * (c[1] - b[1]) !== (b[1] - a[1]) * (c[0] - b[0])) kept.push(b);
  }
  return [...kept, ring[0]];
}

/** @param {Ring[]} pieces oriented @returns {Ring[]} */
export function mergePieces(pieces) {
  const sides = new Sides();
  /** Vertical and horizontal sides by their line. @type {Map<number, [number, number][]>[]} */
  const lines = [new Map(), new Map()];
  for (const ring of pieces) {
    for (let at = 1; at < ring.length; at += 1) {
      const [a, b] = [ring[at - 1], ring[at]];
      const axis = a[0] === b[0] ? 0 : a[1] === b[1] ? 1 : null;
      if (axis === null) {
        sides.add(a, b);
        continue;
      }
      const [from, to] = [a[1 - axis], b[1 - axis]];
      const events = lines[axis].get(a[axis]) ?? [];
      lines[axis].set(a[axis], events);
      const direction = from < to ? 1 : -1;
      events.push([Math.min(from, to), direction], [Math.max(from, to), -direction]);
    }
  }
  for (const [x, events] of lines[0]) addUncovered(events, (from, to) => sides.add([x, from], [x, to]));
  for (const [y, events] of lines[1]) addUncovered(events, (from, to) => sides.add([from, y], [to, y]));
  /** @type {Ring[]} */
  const rings = [];
  for (const start of sides.starts) {
    const ring = [start];
    for (let next = sides.take(start, null); next; next = sides.take(next, ring[ring.length - 2])) {
      ring.push(next);
      if (keyOf(next) === keyOf(start)) break;
    }
    if (ring.length > 3 && keyOf(ring[ring.length - 1]) === keyOf(start)) rings.push(withoutStraight(ring));
  }
  return rings.filter((ring) => ring.length > 3);
}
