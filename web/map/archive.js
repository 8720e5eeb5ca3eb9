/**
 * A style for the operator's tile archive (PMTiles, version 3): a Protomaps basemap in Lineside's
 * colours, or raster tiles. Loaded only if an archive, or a style with an archive, is configured.
 */
import { layers, namedFlavor } from "@protomaps/basemaps";
import { addProtocol } from "maplibre-gl";
import { PMTiles, Protocol } from "pmtiles";
import { DARK, FONT, LIGHT } from "./ink.js";

/** Raster tile types of the archive's header: PNG, JPEG, WebP, AVIF. */
const PICTURES = [2, 3, 4, 5];
/** Tile type of vector tiles. */
const VECTOR = 1;
/** Layers that identify a Protomaps basemap: its metadata list at least one of them. */
const BASEMAP_LAYERS = ["earth", "water", "roads"];
/**
 * Layers that are left out, because they need icons from an external sprite, or because they crowd
 * the lines and stops.
 */
const LEFT_OUT = ["roads_oneway", "roads_shields", "pois"];

const protocol = new Protocol({ metadata: true });
addProtocol("pmtiles", protocol.tile);

/** Returns Lineside's colours where it defines them, and the basemap's for the rest. @param {boolean} dark @returns {import("@protomaps/basemaps").Flavor} */
function flavor(dark) {
  const ink = dark ? DARK : LIGHT;
  return {
    ...namedFlavor(dark ? "dark" : "light"),
    background: ink.sea, earth: ink.land, water: ink.water, park_a: ink.park, park_b: ink.park, wood_a: ink.wood, wood_b: ink.wood, scrub_a: ink.meadow, scrub_b: ink.meadow,
    hospital: ink.urban, industrial: ink.port, school: ink.urban, pedestrian: ink.urban, beach: ink.beach, sand: ink.beach, aerodrome: ink.apron, runway: ink.runway, buildings: ink.urban,
    minor_a: ink.street, minor_b: ink.street, minor_service: ink.street, other: ink.street, link: ink.main, major: ink.main, highway: ink.motorway,
    minor_casing: ink.casing, minor_service_casing: ink.casing, link_casing: ink.casing, major_casing_early: ink.casing, major_casing_late: ink.casing, highway_casing_early: ink.casing, highway_casing_late: ink.casing,
    bridges_minor: ink.street, bridges_other: ink.street, bridges_link: ink.main, bridges_major: ink.main, bridges_highway: ink.motorway,
    bridges_minor_casing: ink.casing, bridges_other_casing: ink.casing, bridges_link_casing: ink.casing, bridges_major_casing: ink.casing, bridges_highway_casing: ink.casing,
    railway: ink.rail, landcover: undefined, pois: undefined,
    roads_label_minor: ink.textSoft, roads_label_minor_halo: ink.halo, roads_label_major: ink.textSoft, roads_label_major_halo: ink.halo, ocean_label: ink.waterText,
    subplace_label: ink.textSoft, subplace_label_halo: ink.halo, city_label: ink.text, city_label_halo: ink.halo, state_label: ink.textSoft, state_label_halo: ink.halo, country_label: ink.textSoft, address_label: ink.textSoft, address_label_halo: ink.halo,
  };
}

/** Returns a layer that needs neither icons nor a font server. @param {any} layer @returns {any} */
function withDeviceFonts(layer) {
  if (layer.type !== "symbol") return layer;
  const layout = Object.fromEntries(Object.entries(layer.layout).filter(([key]) => !key.startsWith("icon-")));
  return { ...layer, layout: { ...layout, "text-font": FONT } };
}

/**
 * @param {string} address of the archive @param {boolean} dark
 * @returns {Promise<import("maplibre-gl").StyleSpecification>} with the attribution that the archive's metadata asks for
 */
export async function archiveStyle(address, dark) {
  const href = new URL(address, location.href).href;
  const archive = protocol.get(href) ?? new PMTiles(href);
  protocol.add(archive);
  const [{ tileType }, metadata] = await Promise.all([archive.getHeader(), /** @type {Promise<any>} */ (archive.getMetadata())]);
  const url = `pmtiles://${href}`;
  const background = { id: "background", type: "background", paint: { "background-color": (dark ? DARK : LIGHT).paper } };
  if (PICTURES.includes(tileType)) {
    return /** @type {any} */ ({ version: 8, sources: { archive: { type: "raster", url, tileSize: 256 } }, layers: [background, { id: "archive", type: "raster", source: "archive" }] });
  }
  const held = (metadata.vector_layers ?? []).map((/** @type {{id: string}} */ { id }) => id);
  if (tileType !== VECTOR || !BASEMAP_LAYERS.some((id) => held.includes(id))) throw new Error("the archive contains neither a Protomaps basemap nor raster tiles");
  const drawn = layers("archive", flavor(dark), { lang: navigator.language.split("-")[0] });
  // A small archive may lack some of the basemap's layers.
  const isHeld = (/** @type {any} */ layer) => layer.type === "background" || held.includes(layer["source-layer"]);
  return { version: 8, sources: { archive: { type: "vector", url } }, layers: drawn.filter((layer) => isHeld(layer) && !LEFT_OUT.includes(layer.id)).map(withDeviceFonts) };
}
