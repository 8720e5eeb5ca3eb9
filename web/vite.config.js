import { defineConfig } from "vite";
import { groundFiles } from "./ground/files.js";

/**
 * Bundles what needs packages: the map. The files of plain/ are served as they are, so that a server
 * built without npm lacks only the map. The manifest tells the server which file is whose.
 */
export default defineConfig({
  base: "/assets/",
  publicDir: false,
  worker: { format: "es" },
  plugins: [groundFiles()],
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
