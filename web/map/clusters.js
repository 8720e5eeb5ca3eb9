/**
 * Groups the networks that are so small on the screen that a bubble represents them. Networks share a bubble only if their
 * places are near each other on the screen; a label that has no room is shown only on hover and focus.
 *
 * @typedef {import("./regions.js").Region} Region
 * @typedef {import("./regions.js").Bounds} Bounds
 * @typedef {"below"|"right"|"left"|"above"|"none"} LabelSide
 * @typedef {{regions: Region[], center: [number, number], bounds: Bounds, hasFigure: boolean, label: LabelSide, shift: number}} Cluster
 *   `shift` is how far the label is moved to the right, in pixels
 */
import { numberWords } from "../plain/words.js";
import { project, unproject } from "./motion.js";
import { REGION_ZOOM_MAX, union } from "./regions.js";

/** A network smaller than this on the screen, in pixels, is shown as a bubble. */
const DRAWN_PX_MIN = 72;
/** Dimensions of bubbles and labels in pixels, as in the style sheet. Widths of letters and figures are upper estimates. */
const BUBBLE_PX = { dot: 24, figures: 44, figure: 9, padding: 24, letter: 8, labelPadding: 12, labelMax: 120, line: 17, gap: 2 };
/** The width of the world at zoom 0, in MapLibre. */
const WORLD_PX = 512;
/** The sides on which a label may be, the preferred one first. @type {LabelSide[]} */
const SIDES = ["below", "right", "left", "above"];

/** @typedef {{x: number, y: number, aside: number, up: number}} Box  the middle, and half of the width and height, in pixels */
/** @typedef {{x: number, y: number, regions: Region[]}} Group  the place of its first network */

/** Returns the label of a bubble; the rental systems of a city belong to its network. @param {Region[]} regions */
export function bubbleName(regions) {
  const networks = regions.filter(({ only_rentals: onlyRentals }) => !onlyRentals);
  const named = networks.length > 0 ? networks : regions;
  return named.length === 1 ? named[0].name : `${named.length} networks`;
}

/** Returns the count of a bubble: vehicles and rental vehicles, else stations; 0 if there are none. @param {Region[]} regions */
export function bubbleCount(regions) {
  const sum = (/** @type {(region: Region) => number} */ count) => regions.reduce((all, region) => all + count(region), 0);
  return sum(({ vehicles, rentals }) => vehicles + rentals) || sum(({ stations }) => stations);
}

/** @param {Group} group @param {boolean} hasFigure @returns {Box} */
export function bubbleBox({ x, y, regions }, hasFigure) {
  const width = hasFigure ? Math.max(BUBBLE_PX.figures, numberWords(bubbleCount(regions)).length * BUBBLE_PX.figure + BUBBLE_PX.padding) : BUBBLE_PX.dot;
  return { x, y, aside: width / 2 + BUBBLE_PX.gap / 2, up: (hasFigure ? BUBBLE_PX.figures : BUBBLE_PX.dot) / 2 + BUBBLE_PX.gap / 2 };
}

/** @param {Box} bubble @param {Region[]} regions @param {LabelSide} side @returns {Box} */
export function labelBox({ x, y, aside, up }, regions, side) {
  const width = bubbleName(regions).length * BUBBLE_PX.letter + BUBBLE_PX.labelPadding;
  const half = { aside: Math.min(width, BUBBLE_PX.labelMax) / 2, up: ((width > BUBBLE_PX.labelMax ? 2 : 1) * BUBBLE_PX.line) / 2 };
  const across = side === "right" ? 1 : side === "left" ? -1 : 0;
  const down = side === "below" ? 1 : side === "above" ? -1 : 0;
  return { x: x + across * (aside + half.aside), y: y + down * (up + half.up), ...half };
}

/** Returns true if two boxes overlap; the world wraps around at its edges. @param {Box} a @param {Box} b @param {number} world its width */
export function collide(a, b, world) {
  const aside = Math.abs(a.x - b.x) % world;
  return Math.min(aside, world - aside) < a.aside + b.aside && Math.abs(a.y - b.y) < a.up + b.up;
}

/** @param {Bounds} bounds @param {number} world */
function placeOnScreen([west, south, east, north], world) {
  const [topLeft, bottomRight] = [project(west, north), project(east, south)];
  return { x: ((topLeft.x + bottomRight.x) / 2) * world, y: ((topLeft.y + bottomRight.y) / 2) * world, size: Math.max(bottomRight.x - topLeft.x, bottomRight.y - topLeft.y) * world };
}

/** Groups networks with their nearest neighbours. @param {Region[]} regions @param {number} world @returns {Group[]} */
function groupByPlace(regions, world) {
  /** @type {Group[]} */
  const groups = [];
  for (const region of regions) {
    const { x, y, size } = placeOnScreen(region.frame, world);
    if (size >= DRAWN_PX_MIN) continue;
    const away = (/** @type {Group} */ group) => {
      const aside = Math.abs(group.x - x) % world;
      return Math.hypot(Math.min(aside, world - aside), group.y - y);
    };
    // The bubble of a group with a count leaves no room for a dot.
    const reach = (/** @type {Group} */ group) => BUBBLE_PX.dot / 2 + (bubbleCount([...group.regions, region]) > 0 ? BUBBLE_PX.figures : BUBBLE_PX.dot) / 2 + 2 * BUBBLE_PX.gap;
    const [nearest] = groups.filter((group) => away(group) < reach(group)).sort((a, b) => away(a) - away(b));
    if (nearest) nearest.regions.push(region);
    else groups.push({ x, y, regions: [region] });
  }
  return groups;
}

/**
 * Returns the bubbles at a zoom. Neither bubbles nor labels overlap: where there is no room, a bubble has no figure, or its
 * label is hidden. From `REGION_ZOOM_MAX` on there are no bubbles: a network of a single stop is small at every zoom, and a
 * bubble would cover it.
 * @param {Region[]} regions the most important ones first @param {number} zoom
 * @param {{longitude: number, width: number}|null} [screen] its middle, and its width in pixels: labels of bubbles on the screen stay on it where possible
 * @returns {Cluster[]}
 */
export function clusterRegions(regions, zoom, screen = null) {
  if (zoom >= REGION_ZOOM_MAX) return [];
  const world = WORLD_PX * 2 ** zoom;
  const groups = groupByPlace(regions, world);
  const boxes = groups.map((group) => bubbleBox(group, false));
  const isFree = (/** @type {Box} */ box, /** @type {number} */ own) => boxes.every((other, at) => at === own || !collide(box, other, world));
  const hasFigure = groups.map((group, at) => {
    const large = bubbleBox(group, true);
    const fits = bubbleCount(group.regions) > 0 && isFree(large, at);
    if (fits) boxes[at] = large;
    return fits;
  });
  const middle = screen && project(screen.longitude, 0).x * world;
  /** Returns how far a box must move to the right to be on the screen, in pixels. @param {Box} box */
  const missing = ({ x, aside }) => {
    if (!screen || middle === null) return 0;
    const away = x - middle - world * Math.round((x - middle) / world);
    const excess = Math.max(Math.abs(away) + aside - screen.width / 2, 0);
    return away > 0 ? -excess : excess;
  };
  /** @type {Box[]} */
  const labels = [];
  const placed = groups.map(({ regions }, at) => {
    const all = SIDES.map((side) => {
      const box = labelBox(boxes[at], regions, side);
      // A label above or below a bubble still touches it after a move by half of its width.
      const isMovable = side === "below" || side === "above";
      const shift = isMovable ? Math.min(Math.max(missing(box), -box.aside), box.aside) : 0;
      return { side, shift, box: { ...box, x: box.x + shift } };
    });
    const free = all.filter(({ box }) => isFree(box, at) && labels.every((other) => !collide(box, other, world)));
    const [best] = free.sort((a, b) => Math.abs(missing(a.box)) - Math.abs(missing(b.box)));
    if (best) labels.push(best.box);
    return best ?? { side: /** @type {const} */ ("none"), shift: 0 };
  });
  return groups.map(({ x, y, regions }, at) => ({ regions, center: unproject({ x: x / world, y: y / world }), bounds: union(regions.map(({ frame }) => frame)), hasFigure: hasFigure[at], label: placed[at].side, shift: placed[at].shift }));
}
