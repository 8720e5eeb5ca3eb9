/** Bubbles: buttons on the map for networks that are too small to be drawn, with their names and counts. */
import { Marker } from "maplibre-gl";
import { element } from "../plain/dom.js";
import { numberWords } from "../plain/words.js";
import { bubbleCount, bubbleName, clusterRegions } from "./regions.js";

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
  /** The dots of networks whose bubble is in another place. @type {Map<string, Marker>} by their ids */
  #dots = new Map();

  /**
   * @param {import("maplibre-gl").Map} map @param {Region[]} regions in the server's order
   * @param {(regions: Region[], bounds: import("./regions.js").Bounds) => void} go shows the networks of a bubble, and the box around them
   */
  constructor(map, regions, go) {
    this.#map = map;
    this.#regions = regions;
    this.#go = go;
  }

  /** Updates bubbles and dots for the current zoom and counts. */
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
    this.#showDots([...clusters.values()].flatMap(({ dots }) => dots));
  }

  /** @param {{id: string, center: [number, number]}[]} dots */
  #showDots(dots) {
    for (const [id, marker] of this.#dots) {
      if (dots.some((dot) => dot.id === id)) continue;
      marker.remove();
      this.#dots.delete(id);
    }
    for (const { id, center } of dots) {
      if (!this.#dots.has(id)) this.#dots.set(id, new Marker({ element: element("span.region-dot", { "aria-hidden": "true", "data-network": id }) }).setLngLat(center).addTo(this.#map));
    }
  }

  /** @param {string} key @param {import("./regions.js").Cluster} cluster */
  #add(key, { regions, center, bounds }) {
    const button = element("button.region-bubble", { type: "button" }, element("span"), " ", element("strong"));
    button.addEventListener("click", (event) => {
      // Otherwise the map handles the click, too.
      event.stopPropagation();
      this.#go(regions, bounds);
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
  const [text, figure] = button.children;
  const count = bubbleCount(regions);
  figure.textContent = count > 0 ? numberWords(count) : "";
  text.textContent = bubbleName(regions);
  // The accessible name begins with the visible text.
  const names = regions.length > 1 ? ` ${regions.map((region) => region.name).join(", ")}.` : "";
  button.setAttribute("aria-label", `${bubbleName(regions)}: ${countWords(counts)}.${names} Show on the map.`);
}
