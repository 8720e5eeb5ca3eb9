import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { landFeature } from "./land.js";

/** Writes the land of the earth where the map imports it from. @returns {string} its path */
function makeLand() {
  const atlas = createRequire(import.meta.url).resolve("world-atlas/land-50m.json");
  const folder = fileURLToPath(new URL("node_modules/.lineside/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}land.json`, JSON.stringify(landFeature(JSON.parse(readFileSync(atlas, "utf8")))));
  return `${folder}land.json`;
}

/**
 * Bundles what needs packages: the map. The files of plain/ are served as they are, so that a server
 * built without npm lacks only the map. The manifest tells the server which file is whose.
 */
export default defineConfig({
  base: "/assets/",
  publicDir: false,
  worker: { format: "es" },
  resolve: { alias: [{ find: /^lineside:land\.json/, replacement: makeLand() }] },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsDir: "",
    assetsInlineLimit: 0,
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 1_500,
    rolldownOptions: { input: ["map/main.js", "map/feed.js"] },
  },
});
