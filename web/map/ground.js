/** Loads the base map and sets up the map library. */
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
  if (!reply.ok || !reply.body) throw new Error(`the server answered ${reply.status} for cell ${name} of the base map`);
  const text = new Response(reply.body.pipeThrough(new DecompressionStream("gzip")));
  return { data: decodeCell(await text.json()) };
});

/** The base map cells that a map draws. */
export class CellsInView {
  /** @type {string[]} */
  names = [];

  /** @param {maplibre.Map} map @returns {boolean} true if a new cell came into view; cells that left the view are dropped only then */
  update(map) {
    const bounds = map.getBounds();
    const inView = cellsInView(names.cells, [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()], map.getZoom());
    const hasNew = inView.some((name) => !this.names.includes(name));
    if (hasNew) this.names = inView;
    return hasNew;
  }
}

/** Returns true if this browser can draw the map (WebGL 2). */
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
 * Loads the operator's base map as a style; null means Lineside's own base map.
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
  if (!reply.ok) throw new Error(`the server answered ${reply.status} for the map style`);
  const style = absolute(await reply.json(), address);
  // A style with PMTiles sources needs the protocol of archive.js.
  if (JSON.stringify(style.sources).includes('"pmtiles://')) await import("./archive.js");
  return style;
}

/**
 * Resolves a style's relative URLs against the style's own URL instead of the page's.
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
/** Restores the braces of URL templates such as {z}. @param {string} address */
const decodeBraces = (address) => address.replace(/%7B/gi, "{").replace(/%7D/gi, "}");

/**
 * Creates a map that can be moved by touch, mouse, keyboard and wheel, but not rotated or tilted.
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
    // At this zoom the earth fits next to the panel.
    minZoom: matchMedia(WIDE).matches ? 1 : 0,
    fadeDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150,
    ...view,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  // The attribution collapses to a button on a phone once the map moves.
  map.addControl(new maplibre.AttributionControl({ compact: !matchMedia(WIDE).matches }), "bottom-right");
  map.addControl(new maplibre.NavigationControl({ showCompass: false }), "bottom-right");
  map.addControl(new maplibre.ScaleControl({ maxWidth: 90 }), "bottom-right");
  return map;
}
