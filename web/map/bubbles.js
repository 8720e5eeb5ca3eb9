/** Networks that are too small to be drawn, as buttons on the map with their names and numbers. */
import { Marker } from "maplibre-gl";
import { element } from "../plain/dom.js";
import { numberWords } from "../plain/words.js";
import { clusterRegions } from "./regions.js";

/** @typedef {import("./regions.js").Region} Region */

/** @param {{vehicles: number, stations: number}} counts */
function countWords({ vehicles, stations }) {
  const words = (/** @type {number} */ n, /** @type {string} */ what) => `${numberWords(n)} ${what}${n === 1 ? "" : "s"}`;
  return vehicles > 0 || stations === 0 ? words(vehicles, "vehicle") : words(stations, "station");
}

export class Bubbles {
  #map;
  #regions;
  #go;
  /** @type {Map<string, {marker: Marker, button: HTMLElement}>} by the ids of their networks */
  #shown = new Map();

  /**
   * @param {import("maplibre-gl").Map} map @param {Region[]} regions in the server's order
   * @param {(bounds: import("./regions.js").Bounds) => void} go shows a box
   */
  constructor(map, regions, go) {
    this.#map = map;
    this.#regions = regions;
    this.#go = go;
  }

  /** Shows what the zoom asks for, with the numbers of the moment. */
  show() {
    const clusters = new Map(clusterRegions(this.#regions, this.#map.getZoom()).map((cluster) => [cluster.regions.map(({ id }) => id).join("\n"), cluster]));
    for (const [key, { marker }] of this.#shown) {
      if (clusters.has(key)) continue;
      marker.remove();
      this.#shown.delete(key);
    }
    for (const [key, cluster] of clusters) {
      const { button } = this.#shown.get(key) ?? this.#add(key, cluster);
      label(button, cluster.regions);
    }
  }

  /** @param {string} key @param {import("./regions.js").Cluster} cluster */
  #add(key, { center, bounds }) {
    const button = element("button.region-bubble", { type: "button" }, element("strong"), element("span"));
    button.addEventListener("click", (event) => {
      // Otherwise the map takes it for a click on what lies beneath.
      event.stopPropagation();
      this.#go(bounds);
      this.#map.getCanvas().focus({ preventScroll: true });
    });
    const shown = { marker: new Marker({ element: button }).setLngLat(center).addTo(this.#map), button };
    this.#shown.set(key, shown);
    return shown;
  }
}

/** @param {HTMLElement} button @param {Region[]} regions */
function label(button, regions) {
  const counts = { vehicles: 0, stations: 0 };
  for (const { vehicles, stations } of regions) {
    counts.vehicles += vehicles;
    counts.stations += stations;
  }
  const name = regions.length === 1 ? regions[0].name : `${regions.length} networks`;
  const [figure, text] = button.children;
  const count = counts.vehicles > 0 ? counts.vehicles : counts.stations;
  figure.textContent = count > 0 ? numberWords(count) : "";
  text.textContent = name;
  button.setAttribute("aria-label", `${regions.length === 1 ? name : regions.map((region) => region.name).join(", ")}: ${countWords(counts)}. Show on the map.`);
}
