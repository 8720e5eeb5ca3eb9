/** An operator's own map: a tile archive on the server's disk, and a style whose tiles are elsewhere. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { DARK, LIGHT } from "../../map/ink.js";
import { PNG, VECTOR, archive, cornerOf, pngTile, vectorTile } from "./archive.js";
import { launch, openPage, startServer, until } from "./support.js";

const ZOOM = 8;
const TILE = { x: 132, y: 88 };
const CENTER = cornerOf(ZOOM, TILE.x + 0.5, TILE.y + 0.5);
/** One zoom above the tiles' zoom: a tile is 1024 pixels wide, so four tile units are one pixel. */
const VIEW = `/map?at=${CENTER.latitude},${CENTER.longitude},${ZOOM + 1}`;
const UNITS_PER_PIXEL = 4;
const GREEN = /** @type {[number, number, number]} */ ([40, 160, 90]);
const FONT = "Own Regular";

/** @param {number} left @param {number} top @param {number} width @param {number} height @returns {[number, number][]} */
const box = (left, top, width, height) => [[left, top], [left + width, top], [left + width, top + height], [left, top + height]];

/** A square of land with a lake in its middle, a motorway below and a town above. */
const basemap = () => archive({
  type: VECTOR, zoom: ZOOM,
  tiles: [{ ...TILE, data: vectorTile({
    earth: [{ kind: "Polygon", path: box(0, 0, 4096, 4096), properties: { kind: "earth" } }],
    water: [{ kind: "Polygon", path: box(1848, 1848, 400, 400), properties: { kind: "lake" } }],
    roads: [{ kind: "LineString", path: [[0, 2848], [4096, 2848]], properties: { kind: "highway", kind_detail: "motorway" } }],
    places: [{ kind: "Point", path: [[2848, 1248]], properties: { kind: "locality", kind_detail: "city", name: "Mittelstadt", population_rank: 12, min_zoom: 2 } }],
  }) }],
  metadata: { name: "region", attribution: '<a href="https://example.org/makers">The Makers of this Region</a>', vector_layers: ["earth", "water", "roads", "places"].map((id) => ({ id, fields: {} })) },
});

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {string} */
let folder;

before(async () => {
  browser = await launch();
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
});
after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true });
});

/** Starts a server with this map and opens its map page. @param {string} config @param {(page: import("playwright-core").Page, base: string) => Promise<void>} look */
async function visit(config, look, address = VIEW) {
  const server = await startServer(folder, config);
  const { page, context, faults } = await openPage(browser, { reducedMotion: "reduce" });
  try {
    /** @type {import("playwright-core").Response[]} */
    const pieces = [];
    page.on("response", (reply) => reply.url().endsWith(".pmtiles") && pieces.push(reply));
    await page.goto(`${server.base}${address}`, { waitUntil: "load" });
    await page.waitForSelector(".maplibregl-canvas");
    await look(page, server.base);
    assert.ok(pieces.every((reply) => reply.status() === 206), "the archive is read with range requests");
    assert.equal(pieces.length > 0, config.includes("pmtiles"), "the archive is read where one is configured");
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
    await server.stop();
  }
}

/** Returns the colors at places given in pixels from the middle of the map. @param {import("playwright-core").Page} page @param {[number, number][]} places @returns {Promise<string[]>} */
async function colorsAt(page, places) {
  const picture = (await page.locator("#map").screenshot()).toString("base64");
  return page.evaluate(async ({ picture, places }) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
    context.drawImage(image, 0, 0);
    return places.map(([right, down]) => {
      const [r, g, b] = context.getImageData(Math.floor(image.width / 2) + right, Math.floor(image.height / 2) + down, 1, 1).data;
      return `#${[r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    });
  }, { picture, places });
}

/** @param {import("playwright-core").Page} page @param {Record<string, [[number, number], string]>} expected */
async function looksLike(page, expected) {
  const places = Object.values(expected).map(([place]) => place);
  const wanted = Object.values(expected).map(([, color]) => color.toLowerCase());
  let seen = [];
  await until(async () => (seen = await colorsAt(page, places)).join() === wanted.join(), "the map's colors").catch(() => {});
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name, at) => [name, seen[at]])), Object.fromEntries(Object.keys(expected).map((name, at) => [name, wanted[at]])));
}

const LAKE = /** @type {[number, number]} */ ([0, 0]);
const ROAD = /** @type {[number, number]} */ ([100, 800 / UNITS_PER_PIXEL]);
const LAND = /** @type {[number, number]} */ ([100, 100]);
const TOWN = /** @type {[number, number]} */ ([800 / UNITS_PER_PIXEL, -800 / UNITS_PER_PIXEL]);

test("an archive's basemap is drawn in the page's colors, light and dark, with its attribution", async () => {
  await writeFile(path.join(folder, "region.pmtiles"), basemap());
  await visit('[map]\npmtiles = "region.pmtiles"\n', async (page) => {
    await looksLike(page, { lake: [LAKE, LIGHT.water], land: [LAND, LIGHT.land], road: [ROAD, LIGHT.motorway] });
    const aroundTown = Array.from({ length: 60 }, (_, at) => /** @type {[number, number]} */ ([TOWN[0] - 30 + at, TOWN[1]]));
    await until(async () => (await colorsAt(page, aroundTown)).some((color) => color !== LIGHT.land), "the town's name");
    const makers = page.locator(".maplibregl-ctrl-attrib a", { hasText: "The Makers of this Region" });
    assert.ok(await makers.isVisible());
    await page.emulateMedia({ colorScheme: "dark" });
    await looksLike(page, { lake: [LAKE, DARK.water], land: [LAND, DARK.land], road: [ROAD, DARK.motorway] });
  });
});

test("an archive of raster tiles is drawn unchanged", async () => {
  await writeFile(path.join(folder, "photo.pmtiles"), archive({ type: PNG, zoom: ZOOM, tiles: [{ ...TILE, data: pngTile(GREEN) }], metadata: {} }));
  await visit('[map]\npmtiles = "photo.pmtiles"\n', (page) => looksLike(page, { middle: [LAKE, "#28a05a"], beside: [LAND, "#28a05a"] }));
});

/** Starts a tile and font server on another origin. */
async function startElsewhere() {
  /** @type {string[]} */
  const asked = [];
  const server = createServer((request, reply) => {
    const address = decodeURIComponent(request.url ?? "");
    asked.push(address);
    const isKnown = address.startsWith("/tiles/") || address.startsWith(`/fonts/${FONT}/`);
    // A range without glyphs is an empty message.
    reply.writeHead(isKnown ? 200 : 404, { "access-control-allow-origin": "*" }).end(address.startsWith("/tiles/") ? pngTile(GREEN) : "");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { asked, origin: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

/** Writes a schedule with one station, in the middle of the view. */
async function writeSchedule() {
  const files = {
    agency: "agency_id,agency_name,agency_url,agency_timezone\na,A,https://example.org,Etc/UTC\n",
    stops: `stop_id,stop_name,stop_lat,stop_lon,location_type\ns,Hauptbahnhof,${CENTER.latitude},${CENTER.longitude},1\n`,
    routes: "route_id,agency_id,route_short_name,route_type\nr,a,1,3\n",
    trips: "route_id,service_id,trip_id\n",
    stop_times: "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n",
    calendar: "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n",
  };
  await mkdir(path.join(folder, "plan"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, "plan", `${name}.txt`), text);
}

test("a style's tiles and fonts load from another origin, with and without an allowlist", async () => {
  const elsewhere = await startElsewhere();
  await writeSchedule();
  const style = {
    version: 8,
    glyphs: `${elsewhere.origin}/fonts/{fontstack}/{range}.pbf`,
    sources: {
      photo: { type: "raster", tileSize: 256, attribution: "The Painters", tiles: [`${elsewhere.origin}/tiles/{z}/{x}/{y}.png`] },
      names: { type: "geojson", data: { type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [CENTER.longitude + 0.1, CENTER.latitude] } } },
    },
    layers: [
      { id: "photo", type: "raster", source: "photo" },
      { id: "names", type: "symbol", source: "names", layout: { "text-field": "Aue", "text-font": [FONT] } },
    ],
  };
  await writeFile(path.join(folder, "style.json"), JSON.stringify(style));
  const feed = '[[feed]]\nid = "plan"\nurl = "plan"\nformat = "gtfs"\n';
  const near = `/map?at=${CENTER.latitude},${CENTER.longitude},14`;
  try {
    for (const origins of ["", `origins = ["${elsewhere.origin}"]\n`]) {
      elsewhere.asked.length = 0;
      await visit(`[map]\nstyle = "style.json"\n${origins}${feed}`, async (page, base) => {
        await looksLike(page, { ground: [LAND, "#28a05a"] });
        assert.ok(await page.locator(".maplibregl-ctrl-attrib", { hasText: "The Painters" }).isVisible());
        await until(() => elsewhere.asked.some((address) => address.startsWith("/fonts/")), "glyphs for the station's name");
        const policy = (await fetch(`${base}/map`)).headers.get("content-security-policy") ?? "";
        assert.equal(policy.includes("https:"), origins === "", policy);
      }, near);
      const foreign = elsewhere.asked.filter((address) => address.startsWith("/fonts/") && !address.startsWith(`/fonts/${FONT}/`));
      assert.deepEqual(foreign, [], "only the style's own font is requested");
    }
  } finally {
    elsewhere.stop();
  }
});
