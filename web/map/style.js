/**
 * The map's style: the base map (the operator's style, the operator's tiles, the server's GeoJSON,
 * or a plain background), the networks' lines and stops above it, and the selection on top. Every
 * change creates a new style, and MapLibre applies the difference.
 *
 * Without `glyphs`, all text is drawn with the device's fonts and no font server is needed. An
 * operator's style with `glyphs` has a font server that knows only its own fonts: then all text is
 * drawn with one of them.
 *
 * @typedef {import("maplibre-gl").StyleSpecification} Style
 * @typedef {import("maplibre-gl").LayerSpecification} Layer
 * @typedef {{id: string, name: string, routes: string|null, stops: string|null}} Network
 * @typedef {object} Shown
 * @property {boolean} dark
 * @property {Style|null} ground       the operator's style, already loaded
 * @property {string|null} baseMap     GeoJSON of land, water and streets
 * @property {string|null} [world]     GeoJSON of the world's land, borders and large towns, used without the two above
 * @property {boolean} [hasVehicles]   true if place_names.js draws the names of places above vehicles
 * @property {string[]} [cells]        the base map cells to draw (cells.js)
 * @property {Network[]} networks
 * @property {{url: string, name: string}[]} raw  GeoJSON feeds
 * @property {string[]} routeTypes     the route types to show as texts; none means all
 * @property {string[]} routes         the routes to show, as `<feed>:<route>`; none means all
 * @property {import("geojson").FeatureCollection|null} [rentals]  stations and free vehicles of GBFS systems (bikes.js)
 * @property {import("geojson").GeoJSON|null} selected  the selected trip's shape, stop or rental
 */
import { CELL_ZOOM_MIN, cellUrl } from "./cells.js";
import { DARK, FONT, LIGHT } from "./ink.js";
import { withNamesAbove } from "./place_names.js";

/** Attribution of the data of Lineside's own base map. The map shows that of the sources in use, and equal ones once. */
const ATTRIBUTION = '<a href="https://www.openstreetmap.org/copyright">© OpenStreetMap contributors</a>, GeoNames, Natural Earth';

/** The source of stations and free vehicles, and the layers on which a click finds them. */
export const RENTALS = "rentals";
export const RENTAL_LAYERS = ["rental-stations", "rental-vehicles"];
/** Minimum zoom for the letters or names of a station's platforms. */
const PLATFORM_NAME_ZOOM = 16;
/** Minimum zoom at which a rental station has room for its count. */
const RENTAL_COUNT_ZOOM = 13.2;

/** Brightness (0 to 255) of lines with an outline: from this on with a light background, up to this with a dark one. */
const PALE_MIN = 190;
const DARK_MAX = 55;

/** @param {...any} stops zoom, value, … @returns {any} */
const byZoom = (...stops) => ["interpolate", ["exponential", 1.5], ["zoom"], ...stops];
/** From this zoom on the shores are not exact enough, so water fades. */
const WATER_ZOOM_FADE = 13;
/** From this zoom on small water fades, which may be a piece of a river (cells.js). */
const PIECE_ZOOM_FADE = 10;
/** Minimum population of a named town, by zoom. */
const TOWN_SIZES = [0, 3_000_000, 4, 1_000_000, 5, 400_000, 6, 150_000, 7, 60_000, 8, 25_000, 9, 10_000, 10, 4_000, 11, 1_500, 12, 0];

/** @param {string} kind @param {string[]} classes @returns {any} */
const isKind = (kind, ...classes) => (classes.length ? ["all", ["==", ["get", "kind"], kind], ["in", ["get", "class"], ["literal", classes]]] : ["==", ["get", "kind"], kind]);

/** Returns layers of continents and borders, used without another base map. @param {typeof LIGHT} ink @returns {Layer[]} */
function worldLayers(ink) {
  return /** @type {any} */ ([
    { id: "world-land", type: "fill", source: "world", filter: isKind("land"), maxzoom: CELL_ZOOM_MIN, paint: { "fill-color": ink.paper } },
  ]);
}

/** Returns the layers of a cell's water and islands. @param {string} name @param {typeof LIGHT} ink @returns {Layer[]} */
function cellLayers(name, ink) {
  const source = `cell-${name}`;
  const color = (/** @type {string} */ water) => ["match", ["get", "kind"], "water", water, ink.paper];
  return /** @type {any} */ ([
    {
      id: `${source}-water`, type: "fill", source, filter: ["any", isKind("water"), isKind("land")], minzoom: CELL_ZOOM_MIN, layout: { "fill-sort-key": ["get", "order"] },
      // Antialiasing draws outlines above all fills: outlines of the sea would show at the edges of cells without water.
      paint: { "fill-antialias": false, "fill-opacity": ["interpolate", ["linear"], ["zoom"], PIECE_ZOOM_FADE, 1, PIECE_ZOOM_FADE + 1, ["case", ["get", "is_piece"], 0, 1]], "fill-color": ["interpolate", ["linear"], ["zoom"], WATER_ZOOM_FADE, color(ink.sea), WATER_ZOOM_FADE + 2.5, color(ink.paper)] },
    },
  ]);
}

/** Returns layers of borders and of the names of countries and towns. @param {string[]} cells @param {typeof LIGHT} ink @returns {Layer[]} */
function worldNames(cells, ink) {
  /** @param {string} id @param {string} source @param {any} range @returns {any} */
  const towns = (id, source, range) => ({
    id, type: "symbol", source, ...range,
    filter: ["all", isKind("town"), [">=", ["get", "population"], ["step", ["zoom"], ...TOWN_SIZES.slice(1)]]],
    layout: {
      "text-field": ["get", "name"], "text-font": FONT, "text-max-width": 8, "text-padding": 4, "symbol-sort-key": ["-", 0, ["get", "population"]],
      "text-size": ["interpolate", ["linear"], ["get", "population"], 0, 11, 100_000, 12.5, 1_000_000, 15],
    },
    paint: { "text-color": ink.textSoft, "text-halo-color": ink.halo, "text-halo-width": 1.4 },
  });
  return /** @type {any} */ ([
    { id: "borders", type: "line", source: "world", filter: isKind("border"), maxzoom: 11, paint: { "line-color": ink.border, "line-width": byZoom(3, 0.6, 8, 1.2), "line-dasharray": [3, 2], "line-opacity": ["interpolate", ["linear"], ["zoom"], 9, 1, 11, 0] } },
    towns("towns", "world", { maxzoom: CELL_ZOOM_MIN }),
    ...cells.map((name) => towns(`cell-${name}-towns`, `cell-${name}`, { minzoom: CELL_ZOOM_MIN, maxzoom: 14.5 })),
    {
      id: "countries", type: "symbol", source: "world", filter: ["all", isKind("country"), [">=", ["get", "size"], ["step", ["zoom"], 60, 3, 15, 4, 3, 5, 0]]], maxzoom: CELL_ZOOM_MIN,
      layout: { "text-field": ["get", "name"], "text-font": FONT, "text-size": 12, "text-letter-spacing": 0.12, "text-transform": "uppercase", "text-max-width": 7, "symbol-sort-key": ["-", 0, ["get", "size"]] },
      paint: { "text-color": ink.textSoft, "text-halo-color": ink.halo, "text-halo-width": 1.4 },
    },
  ]);
}

/** Returns layers of land, water, parks and streets. @param {typeof LIGHT} ink @returns {Layer[]} */
function groundLayers(ink) {
  const source = "ground";
  /** @param {string} id @param {any} filter @param {any} color @param {any} [more] @returns {Layer} */
  const fill = (id, filter, color, more) => ({ id, type: "fill", source, filter, paint: { "fill-color": color }, ...more });
  /** @param {string} id @param {any} filter @param {string} color @param {any} width @param {number} [minzoom] @returns {Layer} */
  const line = (id, filter, color, width, minzoom = 0) => ({ id, type: "line", source, filter, minzoom, layout: { "line-cap": "round", "line-join": "round" }, paint: { "line-color": color, "line-width": width } });
  const small = isKind("street", "street", "collector", "lane");
  const main = isKind("street", "main", "avenue");
  const motorway = isKind("street", "motorway");
  return [
    fill("land", isKind("land"), ink.land),
    fill("grounds", isKind("ground"), ["match", ["get", "class"], "beach", ink.beach, "runway", ink.runway, "meadow", ink.meadow, "port", ink.port, "apron", ink.apron, ink.urban]),
    fill("parks", isKind("park"), ["match", ["get", "class"], "wood", ink.wood, "square", ink.port, ink.park]),
    fill("water", isKind("water"), ink.water),
    line("street", small, ink.street, byZoom(10, 0.3, 13, 1.2, 16, 7, 18, 20), 11),
    line("main-casing", main, ink.casing, byZoom(10, 1.2, 13, 3.6, 16, 13, 18, 30), 11),
    line("motorway-casing", motorway, ink.casing, byZoom(8, 1.2, 13, 5, 16, 17, 18, 38), 9),
    line("main", main, ink.main, byZoom(10, 0.8, 13, 2.6, 16, 11, 18, 27), 9),
    line("motorway", motorway, ink.motorway, byZoom(8, 0.8, 13, 3.6, 16, 14, 18, 34), 7),
    line("rail", isKind("rail"), ink.rail, byZoom(10, 0.6, 14, 1.6, 17, 3)),
  ];
}

/** Returns the layers of the base map's names. @param {typeof LIGHT} ink @returns {Layer[]} */
function groundNames(ink) {
  /** @param {string} id @param {any} filter @param {string} color @param {any} layout @param {number} minzoom @param {number} maxzoom @returns {Layer} */
  const names = (id, filter, color, layout, minzoom, maxzoom) => ({
    id, type: "symbol", source: "ground", filter, minzoom, maxzoom,
    layout: { "text-field": ["get", "name"], "text-font": FONT, "text-max-width": 8, ...layout },
    paint: { "text-color": color, "text-halo-color": ink.halo, "text-halo-width": 1.4 },
  });
  return [
    names("water-names", ["all", isKind("water"), ["has", "name"]], ink.waterText, { "text-size": 11, "text-letter-spacing": 0.05 }, 12.5, 24),
    names("park-names", ["all", isKind("park", "park", "wood"), ["has", "name"]], ink.parkText, { "text-size": 11 }, 13, 24),
    names("district-names", isKind("district"), ink.textSoft, { "text-size": byZoom(10, 10.5, 14, 15), "text-letter-spacing": 0.14, "text-transform": "uppercase", "text-offset": [0, -1.3] }, 10, 14),
  ];
}

/** Makes place_names.js draw the names of towns and districts. @param {Layer[]} layers @param {Shown} shown @returns {Layer[]} */
const raised = (layers, { hasVehicles }) => (hasVehicles ? layers.map((layer) => (/^(district-names|towns|cell-.*-towns)$/.test(layer.id) ? withNamesAbove(layer) : layer)) : layers);

/** Returns the color of a feature from its `route_color`, with or without `#`. @returns {any} */
const routeColor = () => [
  "let", "color", ["coalesce", ["get", "route_color"], ""],
  ["case", ["==", ["length", ["var", "color"]], 6], ["to-color", ["concat", "#", ["var", "color"]], "#5b6770"],
    ["==", ["length", ["var", "color"]], 7], ["to-color", ["var", "color"], "#5b6770"], "#5b6770"],
];

/** Returns the outline color of a line: the text's color for a line as pale or as dark as the background. @param {typeof LIGHT} ink @param {string} casing the outline color of other lines @returns {any} */
function casingColor(ink, casing) {
  const part = (/** @type {number} */ index) => ["at", index, ["to-rgba", routeColor()]];
  const brightness = ["+", ["*", 0.3, part(0)], ["*", 0.59, part(1)], ["*", 0.11, part(2)]];
  return ["case", ink === DARK ? ["<", brightness, DARK_MAX] : [">", brightness, PALE_MIN], ink.textSoft, casing];
}

/** Matches rail, metro, tram and other rail-bound routes, which are drawn wider and on top. @returns {any} */
const isRail = () => ["any", ["in", ["get", "route_type"], ["literal", [0, 1, 2, 5, 7, 12]]], ["all", [">=", ["get", "route_type"], 100], ["<", ["get", "route_type"], 200]], ["all", [">=", ["get", "route_type"], 400], ["<", ["get", "route_type"], 700]], ["all", [">=", ["get", "route_type"], 900], ["<", ["get", "route_type"], 1000]]];

/** @param {Network} network @param {Shown} shown @returns {any} */
function routeFilter(network, { routes, routeTypes }) {
  const filter = [];
  if (routeTypes.length > 0) filter.push(["in", ["to-string", ["get", "route_type"]], ["literal", routeTypes]]);
  if (routes.length > 0) filter.push(["in", ["concat", network.id, ":", ["get", "route_id"]], ["literal", routes]]);
  return filter;
}

/** Returns the layers of a network's lines. @param {Network} network @param {Shown} shown @param {typeof LIGHT} ink @returns {Layer[]} */
function lineLayers(network, shown, ink) {
  if (!network.routes) return [];
  const filter = routeFilter(network, shown);
  const alone = shown.routes.length > 0;
  /** @param {string} id @param {any} which @param {any} color @param {any} width @param {any} opacity @returns {Layer} */
  const line = (id, which, color, width, opacity) => ({
    id: `${network.id}-${id}`, type: "line", source: `routes-${network.id}`, filter: ["all", which, ...filter],
    layout: { "line-cap": "round", "line-join": "round", "line-sort-key": ["-", 0, ["coalesce", ["get", "route_type"], 3]] },
    paint: { "line-color": color, "line-width": width, "line-opacity": opacity },
  });
  const rail = isRail();
  const busWidth = byZoom(9, 0.7, 12, 1.6, 15, 3.5, 18, 7);
  const railWidth = byZoom(9, 1.4, 12, 3, 15, 5, 18, 9);
  return [
    line("bus-casing", ["!", rail], casingColor(ink, "rgba(0, 0, 0, 0)"), byZoom(9, 1.5, 12, 2.8, 15, 5, 18, 9), alone ? 0.95 : byZoom(9, 0.45, 13, 0.6)),
    line("bus", ["!", rail], routeColor(), busWidth, alone ? 0.95 : byZoom(9, 0.45, 13, 0.6)),
    line("rail-casing", rail, casingColor(ink, ink.lineCasing), byZoom(9, 2.4, 12, 5, 15, 8, 18, 14), 0.9),
    line("rail", rail, routeColor(), railWidth, 0.95),
  ];
}

/** Returns filters for the stops that one of the shown modes, and one of the shown lines, serves. @param {Network} network @param {Shown} shown @returns {any[]} */
function servedFilters(network, { routeTypes, routes }) {
  const filters = [];
  if (routeTypes.length > 0) {
    const types = routeTypes.map(Number).filter(Number.isInteger);
    filters.push(["any", ...types.map((type) => ["in", type, ["get", "route_types"]])]);
  }
  if (routes.length > 0) {
    const own = routes.filter((route) => route.startsWith(`${network.id}:`)).map((route) => route.slice(network.id.length + 1));
    filters.push(["any", ...own.map((id) => ["in", id, ["get", "route_ids"]])]);
  }
  return filters;
}

/**
 * Returns the layers of a network's stops: stations first, then at higher zooms all stops with their names.
 * @param {Network} network @param {Shown} shown @param {typeof LIGHT} ink @returns {Layer[]}
 */
function stopLayers(network, shown, ink) {
  if (!network.stops) return [];
  const source = `stops-${network.id}`;
  /** @type {any} */
  const isStation = ["==", ["to-number", ["get", "location_type"], 0], 1];
  /** @type {any} */
  const isBoarding = ["in", ["to-number", ["get", "location_type"], 0], ["literal", [0, 1]]];
  /** @type {any} */
  const isInStation = ["to-boolean", ["get", "parent_station"]];
  const served = servedFilters(network, shown);
  /** @param {any} filter @returns {any} */
  const shownOnly = (filter) => (served.length === 0 ? filter : ["all", ...served, filter]);
  /** @param {string} id @param {any} filter @param {number} minzoom @param {any} radius @returns {Layer} */
  const dots = (id, filter, minzoom, radius) => ({
    id: `${network.id}-${id}`, type: "circle", source, filter: shownOnly(filter), minzoom,
    paint: { "circle-color": ink.stop, "circle-stroke-color": ink.stopRing, "circle-radius": radius, "circle-stroke-width": byZoom(11, 0.8, 16, 2) },
  });
  const name = ["coalesce", ["get", "stop_name"], ["get", "name"]];
  /** @param {string} id @param {any} filter @param {number} minzoom @param {any} size @param {any} [text] @returns {Layer} */
  const names = (id, filter, minzoom, size, text = name) => ({
    id: `${network.id}-${id}`, type: "symbol", source, filter: shownOnly(filter), minzoom,
    layout: { "text-field": text, "text-font": FONT, "text-size": size, "text-variable-anchor": ["left", "right", "top", "bottom"], "text-radial-offset": 0.75, "text-justify": "auto", "text-max-width": 9, "text-padding": 6 },
    paint: { "text-color": ink.text, "text-halo-color": ink.halo, "text-halo-width": 1.6 },
  });
  return [
    dots("stops", ["all", isBoarding, ["!", isStation], ["!", isInStation]], 12.5, byZoom(12, 1.4, 14, 2.6, 17, 6)),
    dots("platforms", ["all", isBoarding, ["!", isStation], isInStation], 15.5, byZoom(15, 2, 18, 5)),
    dots("stations", isStation, 10.5, byZoom(10, 1.8, 13, 3.8, 17, 8)),
    names("stop-names", ["all", isBoarding, ["!", isStation], ["!", isInStation]], 14.6, byZoom(14, 11, 17, 13)),
    names("platform-names", ["all", isBoarding, ["!", isStation], isInStation], PLATFORM_NAME_ZOOM, byZoom(16, 10.5, 18, 12.5), ["coalesce", ["get", "platform_code"], ["get", "stop_code"], name]),
    names("station-names", isStation, 12.4, byZoom(12, 11, 16, 14.5)),
  ];
}

/** Returns the layers of a GeoJSON feed. @param {number} index @param {typeof LIGHT} ink @returns {Layer[]} */
function rawLayers(index, ink) {
  const source = `raw-${index}`;
  const color = ink.rental;
  const isLine = ["==", ["geometry-type"], "LineString"];
  return /** @type {any} */ ([
    { id: `${source}-fill`, type: "fill", source, filter: ["==", ["geometry-type"], "Polygon"], paint: { "fill-color": color, "fill-opacity": 0.15, "fill-outline-color": color } },
    { id: `${source}-line`, type: "line", source, filter: isLine, paint: { "line-color": color, "line-width": 2 } },
    { id: `${source}-point`, type: "circle", source, filter: ["==", ["geometry-type"], "Point"], paint: { "circle-color": color, "circle-radius": 5, "circle-stroke-color": ink.lineCasing, "circle-stroke-width": 1.5 } },
  ]);
}

/**
 * Returns the layers of rentals: stations with the number of available vehicles, hollow if there are none; free vehicles as dots.
 * @param {typeof LIGHT} ink @returns {Layer[]}
 */
function rentalLayers(ink) {
  const source = RENTALS;
  const isStation = ["==", ["get", "kind"], "station"];
  const isOpen = ["get", "isOpen"];
  const paint = { "circle-color": ["case", isOpen, ink.rental, ink.stop], "circle-stroke-color": ["case", isOpen, ink.lineCasing, ink.rental], "circle-stroke-width": byZoom(9, 0.6, 14, 1.6) };
  return /** @type {any} */ ([
    { id: "rental-vehicles", type: "circle", source, filter: ["!", isStation], paint: { ...paint, "circle-radius": byZoom(8, 1.2, 12, 2.4, 15, 4.5, 18, 7) } },
    { id: "rental-stations", type: "circle", source, filter: isStation, paint: { ...paint, "circle-radius": byZoom(8, 2, 12, 4, RENTAL_COUNT_ZOOM, 8.5, 17, 12) } },
    {
      id: "rental-counts", type: "symbol", source, filter: isStation, minzoom: RENTAL_COUNT_ZOOM,
      layout: { "text-field": ["get", "sign"], "text-font": FONT, "text-size": byZoom(RENTAL_COUNT_ZOOM, 10.5, 17, 14), "text-allow-overlap": true, "text-ignore-placement": true },
      paint: { "text-color": ["case", isOpen, ink.rentalText, ink.text] },
    },
  ]);
}

/** @param {typeof LIGHT} ink @returns {Layer[]} */
function selectedLayers(ink) {
  return /** @type {any} */ ([
    { id: "selected-line", type: "line", source: "selected", filter: ["==", ["geometry-type"], "LineString"], layout: { "line-cap": "round", "line-join": "round" }, paint: { "line-color": ["coalesce", ["get", "color"], ink.selected], "line-width": byZoom(9, 3, 13, 6, 16, 9) } },
    { id: "selected-calls", type: "circle", source: "selected", filter: ["==", ["get", "role"], "call"], paint: { "circle-color": ink.stop, "circle-radius": byZoom(9, 1.5, 13, 3, 17, 6), "circle-stroke-color": ink.selected, "circle-stroke-width": 1.5 } },
    { id: "selected-stop", type: "circle", source: "selected", filter: ["==", ["get", "role"], "stop"], paint: { "circle-color": ink.stop, "circle-radius": byZoom(9, 6, 16, 11), "circle-stroke-color": ink.selected, "circle-stroke-width": 3.5 } },
  ]);
}

/** @param {Shown} shown @returns {Style} */
export function makeStyle(shown) {
  const ink = shown.dark ? DARK : LIGHT;
  /** @type {Style["sources"]} */
  const sources = { ...shown.ground?.sources };
  /** @type {Layer[]} */
  const layers = [...(shown.ground?.layers ?? [])];
  if (!shown.ground) {
    layers.push({ id: "paper", type: "background", paint: { "background-color": shown.baseMap ? ink.sea : shown.world ? ["step", ["zoom"], ink.sea, CELL_ZOOM_MIN, ink.paper] : ink.paper } });
    if (shown.baseMap) {
      sources.ground = { type: "geojson", data: shown.baseMap, tolerance: 0.4 };
      layers.push(...groundLayers(ink), ...raised(groundNames(ink), shown));
    } else if (shown.world) {
      const cells = shown.cells ?? [];
      sources.world = { type: "geojson", data: shown.world, maxzoom: 9, attribution: ATTRIBUTION };
      for (const name of cells) sources[`cell-${name}`] = { type: "geojson", data: cellUrl(name), maxzoom: 12, tolerance: 0.25, attribution: ATTRIBUTION };
      layers.push(...worldLayers(ink), ...cells.flatMap((name) => cellLayers(name, ink)));
    }
  }
  sources.selected = { type: "geojson", data: shown.selected ?? { type: "FeatureCollection", features: [] } };
  for (const network of shown.networks) {
    if (network.routes) sources[`routes-${network.id}`] = { type: "geojson", data: network.routes, tolerance: 0.3 };
    if (network.stops) sources[`stops-${network.id}`] = { type: "geojson", data: network.stops };
  }
  for (const [index, { url }] of shown.raw.entries()) {
    sources[`raw-${index}`] = { type: "geojson", data: url };
    layers.push(...rawLayers(index, ink));
  }
  for (const network of shown.networks) layers.push(...lineLayers(network, shown, ink));
  if (sources.world) layers.push(...raised(worldNames(shown.cells ?? [], ink), shown));
  layers.push(...selectedLayers(ink).slice(0, 1));
  for (const network of shown.networks) layers.push(...stopLayers(network, shown, ink));
  layers.push(...selectedLayers(ink).slice(1));
  if (shown.rentals) {
    sources[RENTALS] = { type: "geojson", data: shown.rentals };
    layers.push(...rentalLayers(ink));
  }
  const { glyphs, sprite } = shown.ground ?? {};
  const font = glyphs ? fontOf(shown.ground?.layers ?? []) : null;
  const lettered = font ? layers.map((layer) => withFont(layer, font)) : layers;
  return { version: 8, sources, layers: lettered, ...(glyphs ? { glyphs } : {}), ...(sprite ? { sprite } : {}) };
}

/** Returns the first font in a style's layers. @param {any[]} layers @returns {string[]|null} */
function fontOf(layers) {
  for (const { layout } of layers) {
    const font = layout?.["text-font"];
    const names = font?.[0] === "literal" ? font[1] : font;
    if (Array.isArray(names) && names.every((name) => typeof name === "string")) return names;
  }
  return null;
}

/** Returns one of our layers with another font. @param {any} layer @param {string[]} font @returns {Layer} */
const withFont = (layer, font) => (layer.layout?.["text-font"] === FONT ? { ...layer, layout: { ...layer.layout, "text-font": font } } : layer);

/**
 * Returns the stop at a point on the screen.
 * @param {import("maplibre-gl").Map} map @param {Network[]} networks @param {{x: number, y: number}} point
 * @returns {import("./view.js").Ref|null}
 */
export function pickStopOf(map, networks, { x, y }) {
  if (!map.isStyleLoaded()) return null;
  const names = ["stops", "platforms", "stations", "stop-names", "platform-names", "station-names"];
  const layers = networks.flatMap(({ id }) => names.map((name) => `${id}-${name}`)).filter((id) => map.getLayer(id));
  const [feature] = map.queryRenderedFeatures([[x - 6, y - 6], [x + 6, y + 6]], { layers });
  return feature ? { feed: feature.source.replace(/^stops-/, ""), id: String(feature.properties.stop_id) } : null;
}
