/** What lies under the networks: loading it, and the map library's own set-up. */
import * as maplibre from "maplibre-gl";
import names from "lineside:ground";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?url";
import { WIDE } from "./camera.js";
import { CELL_SCHEME, cellOfUrl, cellsInView, decodeCell } from "./cells.js";
import "maplibre-gl/dist/maplibre-gl.css";

/** GeoJSON of the whole world: land, borders, countries and large towns. */
export const WORLD = names.world;

maplibre.setWorkerUrl(workerUrl);
maplibre.addProtocol(CELL_SCHEME, async ({ url }, { signal }) => {
  const name = cellOfUrl(url);
  const reply = await fetch(`/assets/ground-${name}-${names.tag}.gz`, { signal });
  if (!reply.ok || !reply.body) throw new Error(`the ground of cell ${name} answers ${reply.status}`);
  const text = new Response(reply.body.pipeThrough(new DecompressionStream("gzip")));
  return { data: decodeCell(await text.json()) };
});

/** The cells of the earth that a map draws. */
export class CellsInView {
  /** @type {string[]} */
  names = [];

  /** @param {maplibre.Map} map @returns {boolean} whether one has come into view; those that left stay until then */
  update(map) {
    const bounds = map.getBounds();
    const inView = cellsInView(names.cells, [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()], map.getZoom());
    const hasNew = inView.some((name) => !this.names.includes(name));
    if (hasNew) this.names = inView;
    return hasNew;
  }
}

/** Whether this browser can draw the map at all. */
export function canDraw() {
  try {
    const context = document.createElement("canvas").getContext("webgl2");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return context !== null;
  } catch {
    return false;
  }
}

/**
 * The operator's ground as a style, or null for Lineside's own.
 * @param {{style: string|null, pmtiles: string|null}} links @param {boolean} dark
 * @returns {Promise<import("maplibre-gl").StyleSpecification|null>}
 */
export async function loadGround({ style, pmtiles }, dark) {
  if (style) return loadStyle(new URL(style, location.href));
  return pmtiles ? (await import("./archive.js")).archiveStyle(pmtiles, dark) : null;
}

/** @param {URL} address */
async function loadStyle(address) {
  const reply = await fetch(address);
  if (!reply.ok) throw new Error(`the map style answers ${reply.status}`);
  const style = absolute(await reply.json(), address);
  // A style may read tiles from an archive, too: then the map must know how.
  if (JSON.stringify(style.sources).includes('"pmtiles://')) await import("./archive.js");
  return style;
}

/**
 * A style whose addresses start at its own address and not at our page's.
 * @param {any} style @param {URL} base
 */
function absolute(style, base) {
  const resolve = (/** @type {any} */ text) => (typeof text === "string" && !HAS_SCHEME.test(text) ? decodeBraces(new URL(text, base).href) : text);
  const sources = Object.entries(style.sources ?? {}).map(([id, source]) => {
    const { url, tiles, data } = source;
    return [id, { ...source, ...(url ? { url: resolve(url) } : {}), ...(tiles ? { tiles: tiles.map(resolve) } : {}), ...(typeof data === "string" ? { data: resolve(data) } : {}) }];
  });
  const sprite = Array.isArray(style.sprite) ? style.sprite.map((/** @type {any} */ each) => ({ ...each, url: resolve(each.url) })) : resolve(style.sprite);
  return { ...style, sources: Object.fromEntries(sources), layers: style.layers ?? [], glyphs: resolve(style.glyphs), sprite };
}

const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** The braces of a template such as {z} stay as they are. @param {string} address */
const decodeBraces = (address) => address.replace(/%7B/gi, "{").replace(/%7D/gi, "}");

/**
 * A map that can be moved by hand, keyboard and wheel, and is neither turned nor tilted.
 * @param {HTMLElement} container @param {import("maplibre-gl").StyleSpecification} style @param {Partial<import("maplibre-gl").MapOptions>} view
 */
export function makeMap(container, style, view) {
  const map = new maplibre.Map({
    container,
    style,
    attributionControl: false,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    maxPitch: 0,
    maxZoom: 19,
    // As much of the earth as fits beside the panel.
    minZoom: matchMedia(WIDE).matches ? 1 : 0,
    fadeDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150,
    ...view,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  // Those who made what lies under the networks are named, on a phone behind a button once the map moves.
  map.addControl(new maplibre.AttributionControl({ compact: !matchMedia(WIDE).matches }), "bottom-right");
  map.addControl(new maplibre.NavigationControl({ showCompass: false }), "bottom-right");
  map.addControl(new maplibre.ScaleControl({ maxWidth: 90 }), "bottom-right");
  return map;
}
