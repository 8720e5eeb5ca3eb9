import { defineConfig } from "vite";
import { groundFiles } from "./ground/files.js";

/**
 * Bundles the map, which needs npm packages. The files of plain/ are served unbundled, so that a server
 * built without npm lacks only the map. The manifest maps sources to the bundle's files for the server.
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
