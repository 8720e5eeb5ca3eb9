/**
 * Groups the networks that are so small on the screen that a bubble represents them, or a label if they are drawn but still
 * small. Networks share a bubble only if their places are near each other on the screen, or if the label of one has no room.
 *
 * @typedef {import("./regions.js").Region} Region
 * @typedef {import("./regions.js").Bounds} Bounds
 * @typedef {"below"|"right"|"left"|"above"|"none"} LabelSide
 * @typedef {{regions: Region[], center: [number, number], bounds: Bounds, hasFigure: boolean, isDrawn: boolean, label: LabelSide, shift: number}} Cluster
 *   `isDrawn` if the map draws each of the networks, so that only their label is shown; `shift` is how far the label is moved to the right, in pixels
 */
import { numberWords } from "../plain/words.js";
import { project, unproject } from "./motion.js";
import { REGION_ZOOM_MAX, union } from "./regions.js";

/** A network smaller than this on the screen, in pixels, is shown as a bubble. */
const DRAWN_PX_MIN = 72;
/** A drawn network smaller than this on the screen, in pixels, still has a label with its name. */
const LABELLED_PX_MAX = 240;
/** A bubble whose label has no room joins a bubble that is nearer than this, in pixels. */
const JOIN_PX_MAX = 110;
/** Maximum number of names in a label, and of their characters: two lines. */
const NAMES = { max: 3, characters: 28 };
/** Maximum number of passes that join bubbles whose labels have no room. */
const JOIN_PASSES = 4;
/** Dimensions of bubbles and labels in pixels, as in the style sheet. Widths of letters and figures are upper estimates. */
const BUBBLE_PX = { dot: 24, figures: 44, figure: 9, padding: 24, letter: 8, labelPadding: 12, labelMax: 120, line: 17, gap: 2 };
/** The width of the world at zoom 0, in MapLibre. */
const WORLD_PX = 512;
/** The sides on which a label may be, the preferred one first. @type {LabelSide[]} */
const SIDES = ["below", "right", "left", "above"];

/** @typedef {{x: number, y: number, aside: number, up: number}} Box  the middle, and half of the width and height, in pixels */
/** @typedef {{x: number, y: number, regions: Region[], isDrawn: boolean}} Group  the place of its first network */
/** @typedef {{longitude: number, width: number}|null} Screen  its middle, and its width in pixels */

/** Returns the label of a bubble; the rental systems of a city belong to its network. @param {Region[]} regions */
export function bubbleName(regions) {
  const networks = regions.filter(({ only_rentals: onlyRentals }) => !onlyRentals);
  const named = networks.length > 0 ? networks : regions;
  const names = named.map(({ name }) => name).join(", ");
  const isShort = named.length === 1 || (named.length <= NAMES.max && names.length <= NAMES.characters);
  return isShort ? names : `${named.length} networks`;
}

/** Returns the count of a bubble: vehicles and rental vehicles, else stations; 0 if there are none. @param {Region[]} regions */
export function bubbleCount(regions) {
  const sum = (/** @type {(region: Region) => number} */ count) => regions.reduce((all, region) => all + count(region), 0);
  return sum(({ vehicles, rentals }) => vehicles + rentals) || sum(({ stations }) => stations);
}

/** @param {Pick<Group, "x"|"y"|"regions">} group @param {boolean} hasFigure @returns {Box} */
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

/** Returns the pixels between two places; the world wraps around at its edges. @param {{x: number, y: number}} a @param {{x: number, y: number}} b @param {number} world its width */
function pixelsBetween(a, b, world) {
  const aside = Math.abs(a.x - b.x) % world;
  return Math.hypot(Math.min(aside, world - aside), a.y - b.y);
}

/** Groups networks with their nearest neighbours. @param {Region[]} regions @param {number} world @returns {Group[]} */
function groupByPlace(regions, world) {
  /** @type {Group[]} */
  const groups = [];
  for (const region of regions) {
    const { x, y, size } = placeOnScreen(region.frame, world);
    if (size >= LABELLED_PX_MAX) continue;
    const isDrawn = size >= DRAWN_PX_MIN;
    const away = (/** @type {Group} */ group) => pixelsBetween(group, { x, y }, world);
    // The bubble of a group with a count leaves no room for a dot.
    const reach = (/** @type {Group} */ group) => BUBBLE_PX.dot / 2 + (bubbleCount([...group.regions, region]) > 0 ? BUBBLE_PX.figures : BUBBLE_PX.dot) / 2 + 2 * BUBBLE_PX.gap;
    const [nearest] = groups.filter((group) => away(group) < reach(group)).sort((a, b) => away(a) - away(b));
    if (nearest) {
      nearest.regions.push(region);
      nearest.isDrawn &&= isDrawn;
    } else groups.push({ x, y, regions: [region], isDrawn });
  }
  return groups;
}

/** Makes each group without a label part of the nearest group, if that is near. @param {Group[]} groups @param {LabelSide[]} labels @param {number} world @returns {Group[]} */
function joinUnlabelled(groups, labels, world) {
  const joined = new Set();
  for (const [at, group] of groups.entries()) {
    if (labels[at] !== "none") continue;
    const away = (/** @type {Group} */ other) => pixelsBetween(other, group, world);
    const [nearest] = groups.filter((other) => other !== group && !joined.has(other) && away(other) < JOIN_PX_MAX).sort((a, b) => away(a) - away(b));
    if (!nearest) continue;
    nearest.regions.push(...group.regions);
    nearest.isDrawn &&= group.isDrawn;
    joined.add(group);
  }
  return groups.filter((group) => !joined.has(group));
}

/** Returns how far a box must move to the right to be on the screen, in pixels. @param {Box} box @param {number} world @param {Screen} screen */
function missingPixels({ x, aside }, world, screen) {
  if (!screen) return 0;
  const middle = project(screen.longitude, 0).x * world;
  const away = x - middle - world * Math.round((x - middle) / world);
  const excess = Math.max(Math.abs(away) + aside - screen.width / 2, 0);
  return away > 0 ? -excess : excess;
}

/** Returns for each group whether its bubble has a figure, and where its label is. @param {Group[]} groups @param {number} world @param {Screen} screen */
function placeLabels(groups, world, screen) {
  const boxes = groups.map((group) => bubbleBox(group, false));
  const isFree = (/** @type {Box} */ box, /** @type {number} */ own) => boxes.every((other, at) => at === own || !collide(box, other, world));
  const hasFigure = groups.map((group, at) => {
    const large = bubbleBox(group, true);
    const fits = !group.isDrawn && bubbleCount(group.regions) > 0 && isFree(large, at);
    if (fits) boxes[at] = large;
    return fits;
  });
  /** @type {Box[]} */
  const labels = [];
  return groups.map(({ regions }, at) => {
    const all = SIDES.map((side) => {
      const box = labelBox(boxes[at], regions, side);
      // A label above or below a bubble still touches it after a move by half of its width.
      const isMovable = side === "below" || side === "above";
      const shift = isMovable ? Math.min(Math.max(missingPixels(box, world, screen), -box.aside), box.aside) : 0;
      return { side, shift, box: { ...box, x: box.x + shift } };
    });
    const free = all.filter(({ box }) => isFree(box, at) && labels.every((other) => !collide(box, other, world)));
    const missing = (/** @type {Box} */ box) => Math.abs(missingPixels(box, world, screen));
    const [best] = free.sort((a, b) => missing(a.box) - missing(b.box));
    if (best) labels.push(best.box);
    return { hasFigure: hasFigure[at], label: best?.side ?? /** @type {const} */ ("none"), shift: best?.shift ?? 0 };
  });
}

/**
 * Returns the bubbles at a zoom. Neither bubbles nor labels overlap: where there is no room, a bubble has no figure, and a
 * bubble whose label has no room joins its neighbour. From `REGION_ZOOM_MAX` on there are no bubbles: a network of a single
 * stop is small at every zoom, and a bubble would cover it.
 * @param {Region[]} regions the most important ones first @param {number} zoom
 * @param {Screen} [screen] labels of bubbles on the screen stay on it where possible
 * @returns {Cluster[]}
 */
export function clusterRegions(regions, zoom, screen = null) {
  if (zoom >= REGION_ZOOM_MAX) return [];
  const world = WORLD_PX * 2 ** zoom;
  let groups = groupByPlace(regions, world);
  let placed = placeLabels(groups, world, screen);
  for (let pass = 0; pass < JOIN_PASSES && placed.some(({ label }) => label === "none"); pass += 1) {
    const rest = joinUnlabelled(groups, placed.map(({ label }) => label), world);
    if (rest.length === groups.length) break;
    groups = rest;
    placed = placeLabels(groups, world, screen);
  }
  return groups.map(({ x, y, regions, isDrawn }, at) => ({ regions, isDrawn, center: unproject({ x: x / world, y: y / world }), bounds: union(regions.map(({ frame }) => frame)), ...placed[at] }));
}
