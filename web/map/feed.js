/** The small map on a feed's page: its lines and stops, or its GeoJSON. */
import { byId, island } from "../plain/dom.js";
import { CellsInView, WORLD, canDraw, loadGround, makeMap } from "./ground.js";
import { makeStyle } from "./style.js";

/** @type {{base_map: string|null, style: string|null, pmtiles: string|null, networks: import("./main.js").Network[], raw: {url: string, name: string}[], frame: [number, number, number, number]|null}} */
const page = island("map-data");
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @param {any} geometry @returns {number[][]} every position of a geometry */
function positions(geometry) {
  if (!geometry) return [];
  if (geometry.type === "GeometryCollection") return geometry.geometries.flatMap(positions);
  const depth = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 }[/** @type {"Point"} */ (geometry.type)];
  if (depth === undefined) return [];
  return depth === 0 ? [geometry.coordinates] : geometry.coordinates.flat(depth - 1);
}

/** Returns the bounding box of GeoJSON. @param {any} data @returns {[number, number, number, number]|null} */
function boundsOf(data) {
  const features = data?.type === "FeatureCollection" ? data.features : [data];
  let box = null;
  for (const feature of features ?? []) {
    for (const [x, y] of positions(feature?.geometry ?? feature)) {
      box = box ? [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)] : [x, y, x, y];
    }
  }
  return /** @type {any} */ (box);
}

/** Time for which a phone shows the attribution in full, in milliseconds. */
const ATTRIBUTION_MS = 5_000;

/** Collapses a compact attribution to its button, so that it does not cover a small map. @param {HTMLElement} container */
function collapseAttribution(container) {
  const attribution = container.querySelector(".maplibregl-ctrl-attrib.maplibregl-compact");
  attribution?.classList.remove("maplibregl-compact-show");
  attribution?.removeAttribute("open");
}

async function start() {
  const container = byId("map");
  if (!canDraw()) {
    container.textContent = "This browser cannot draw maps (WebGL is missing).";
    return;
  }
  const ground = await loadGround(page, dark.matches).catch(() => null);
  const cells = new CellsInView();
  const style = () => makeStyle({ dark: dark.matches, ground, baseMap: page.base_map, world: WORLD, cells: cells.names, networks: page.networks, raw: page.raw, routeTypes: [], routes: [], selected: null });
  const bounds = page.frame ?? (page.raw[0] ? boundsOf(await (await fetch(page.raw[0].url)).json()) : null);
  const map = makeMap(container, style(), bounds ? { bounds, fitBoundsOptions: { padding: 24, maxZoom: 14 } } : { center: [10, 50], zoom: 3 });
  const showCells = () => {
    if (cells.update(map)) map.setStyle(style());
  };
  map.on("moveend", showCells);
  map.once("style.load", showCells);
  map.once("idle", () => setTimeout(() => collapseAttribution(container), ATTRIBUTION_MS));
  map.scrollZoom.disable();
  map.getCanvas().setAttribute("aria-label", "Map of this feed");
  dark.addEventListener("change", () => map.setStyle(style()));
}

start();
