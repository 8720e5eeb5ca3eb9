/**
 * The names of districts and towns, drawn above the vehicles while these are dots: a canvas of vehicles covers the map with
 * its names. The map still places the names, so that they do not overlap each other, but draws them only at larger zooms.
 */
import { DARK, FONT, LIGHT } from "./ink.js";
import { project } from "./motion.js";

/** From this zoom on, where vehicles are badges, the map draws the names below them. */
export const NAMES_ZOOM_MAX = 12.7;
/** Height of a line of text, and maximum width of a name, in sizes of its text. */
const LINE_HEIGHT = 1.2;
const WIDTH_MAX = 8;
const HALO_PX = 3.6;
/** Interval at which the placed names are read while the map draws, in milliseconds. */
const READING_MS = 250;

/** Returns a layer of names that this module draws: the map shows them from `NAMES_ZOOM_MAX` on. @param {any} layer */
export const withNamesAbove = (layer) => ({ ...layer, metadata: { isAboveVehicles: true }, paint: { ...layer.paint, "text-opacity": ["step", ["zoom"], 0, NAMES_ZOOM_MAX, 1] } });

/** @typedef {{name: string, at: import("./motion.js").Point, population: number|null}} PlaceName  a district has no population */

/** Returns the size of a name in pixels, as in the style. @param {PlaceName} place @param {number} zoom */
function sizeOf({ population }, zoom) {
  if (population === null) return 10.5 + ((1.5 ** (Math.min(Math.max(zoom, 10), 14) - 10) - 1) / (1.5 ** 4 - 1)) * 4.5;
  return population < 100_000 ? 11 + (population / 100_000) * 1.5 : 12.5 + (Math.min(population, 1_000_000) - 100_000) / 360_000;
}

/** Breaks a name between its words, so that no line is wider than necessary. @param {string} name @param {(text: string) => number} width @param {number} most @returns {string[]} */
export function linesOfName(name, width, most) {
  /** @type {string[]} */
  const lines = [];
  for (const word of name.split(" ")) {
    const longer = lines.length > 0 ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length > 0 && width(longer) <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

export class PlaceNames {
  #map;
  /** @type {PlaceName[]} */
  #shown = [];
  /** The time at which the names were read. */
  #readAt = -Infinity;

  /** @param {import("maplibre-gl").Map} map @param {() => void} changed called when the names have changed */
  constructor(map, changed) {
    this.#map = map;
    const update = () => {
      this.#readAt = performance.now();
      this.#shown = this.#placed();
      changed();
    };
    // While many lines load, the map is not idle for a long time.
    map.on("render", () => {
      if (performance.now() - this.#readAt > READING_MS) update();
    });
    map.on("idle", update);
  }

  /** Returns the names that the map has placed. @returns {PlaceName[]} */
  #placed() {
    const layers = this.#map.getLayersOrder().filter((id) => /** @type {any} */ (this.#map.getLayer(id)?.metadata)?.isAboveVehicles);
    if (layers.length === 0 || this.#map.getZoom() >= NAMES_ZOOM_MAX) return [];
    /** @type {Map<string, PlaceName>} */
    const found = new Map();
    for (const { properties, geometry } of this.#map.queryRenderedFeatures({ layers })) {
      if (geometry.type !== "Point") continue;
      const [longitude, latitude] = geometry.coordinates;
      const at = project(longitude, latitude);
      found.set(`${properties.name} ${at.x.toFixed(5)} ${at.y.toFixed(5)}`, { name: String(properties.name), at, population: properties.kind === "district" ? null : Number(properties.population) });
    }
    return [...found.values()];
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {(at: import("./motion.js").Point) => {x: number, y: number}} place returns a place on the screen
   * @param {boolean} isDark @returns {number} of drawn names
   */
  draw(context, place, isDark) {
    const zoom = this.#map.getZoom();
    if (zoom >= NAMES_ZOOM_MAX) return 0;
    const ink = isDark ? DARK : LIGHT;
    context.save();
    Object.assign(context, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: HALO_PX, strokeStyle: ink.halo, fillStyle: ink.textSoft });
    for (const each of this.#shown) {
      const isDistrict = each.population === null;
      const size = sizeOf(each, zoom);
      context.font = `${size}px ${FONT.map((name) => (name.includes(" ") ? `"${name}"` : name)).join(", ")}`;
      context.letterSpacing = isDistrict ? `${(size * 0.14).toFixed(1)}px` : "0px";
      const lines = linesOfName(isDistrict ? each.name.toUpperCase() : each.name, (text) => context.measureText(text).width, WIDTH_MAX * size);
      const { x, y } = place(each.at);
      const top = y - (isDistrict ? 1.3 * size : 0) - ((lines.length - 1) / 2) * size * LINE_HEIGHT;
      for (const [row, text] of lines.entries()) {
        context.strokeText(text, x, top + row * size * LINE_HEIGHT);
        context.fillText(text, x, top + row * size * LINE_HEIGHT);
      }
    }
    context.restore();
    return this.#shown.length;
  }
}
