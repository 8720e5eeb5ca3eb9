/** What lies under the networks: loading it, and the map library's own set-up. */
import * as maplibre from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?url";
import "maplibre-gl/dist/maplibre-gl.css";

maplibre.setWorkerUrl(workerUrl);

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
  if (style) {
    const reply = await fetch(style);
    if (!reply.ok) throw new Error(`the map style answers ${reply.status}`);
    return reply.json();
  }
  return pmtiles ? protomaps(pmtiles, dark) : null;
}

let protocolAdded = false;

/** @param {string} archive @param {boolean} dark @returns {Promise<any>} */
async function protomaps(archive, dark) {
  const [{ Protocol }, { layers, namedFlavor }] = await Promise.all([import("pmtiles"), import("@protomaps/basemaps")]);
  if (!protocolAdded) maplibre.addProtocol("pmtiles", new Protocol().tile);
  protocolAdded = true;
  const source = { type: "vector", url: `pmtiles://${new URL(archive, location.href)}`, attribution: "© OpenStreetMap" };
  // Without glyphs and sprite the names are drawn with the device's fonts, and shields are left out.
  const drawn = layers("protomaps", namedFlavor(dark ? "dark" : "light"), { lang: "en" }).filter((layer) => !(/** @type {any} */ (layer).layout?.["icon-image"]));
  return { version: 8, sources: { protomaps: source }, layers: drawn };
}

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
    minZoom: 2,
    fadeDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150,
    ...view,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.addControl(new maplibre.NavigationControl({ showCompass: false }), "bottom-right");
  map.addControl(new maplibre.ScaleControl({ maxWidth: 90 }), "bottom-right");
  return map;
}
