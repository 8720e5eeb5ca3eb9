/** Bubbles: buttons on the map for networks that are too small to be drawn, with their names and counts. */
import { Marker } from "maplibre-gl";
import { element } from "../plain/dom.js";
import { numberWords } from "../plain/words.js";
import { bubbleCount, bubbleName, clusterRegions } from "./clusters.js";
import { isCovered } from "./camera.js";
import { filterRegion, sumCounts, summaryWords } from "./regions.js";

/** @typedef {import("./regions.js").Region} Region */

export class Bubbles {
  #map;
  #regions;
  #go;
  #modes;
  /** @type {Map<string, {marker: Marker, button: HTMLElement}>} by the ids of their networks */
  #shown = new Map();

  /**
   * @param {import("maplibre-gl").Map} map @param {Region[]} regions in the server's order
   * @param {(regions: Region[], bounds: import("./regions.js").Bounds) => void} go shows the networks of a bubble, and the box around them
   * @param {() => Set<string>} modes returns the modes whose networks are shown, empty for all
   */
  constructor(map, regions, go, modes) {
    this.#modes = modes;
    this.#map = map;
    this.#regions = regions;
    this.#go = go;
  }

  /** Updates the bubbles for the current zoom and counts. */
  show() {
    const screen = { longitude: this.#map.getCenter().lng, width: this.#map.getContainer().clientWidth };
    const clusters = new Map(clusterRegions(this.#regions.flatMap((region) => filterRegion(region, this.#modes()) ?? []), this.#map.getZoom(), screen).map((cluster) => [cluster.regions.map(({ id }) => id).join("\n"), cluster]));
    for (const [key, { marker }] of this.#shown) {
      if (clusters.has(key)) continue;
      marker.remove();
      this.#shown.delete(key);
    }
    for (const [key, cluster] of clusters) {
      const { button } = this.#shown.get(key) ?? this.#add(key, cluster);
      label(button, cluster);
    }
  }

  /** Returns true if the middle of a network's bubble is covered. @param {string} id of the network */
  isCovered(id) {
    return [...this.#shown].some(([key, { button }]) => key.split("\n").includes(id) && isCovered(button));
  }

  /** @param {string} key @param {import("./clusters.js").Cluster} cluster */
  #add(key, { regions, center, bounds }) {
    const button = element("button.region-bubble", { type: "button", "data-networks": regions.map(({ id }) => id).join(" ") }, element("span"), " ", element("strong"));
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

/** @param {HTMLElement} button @param {import("./clusters.js").Cluster} cluster */
function label(button, { regions, hasFigure, isDrawn, label: side, shift }) {
  const [text, figure] = button.children;
  figure.textContent = hasFigure ? numberWords(bubbleCount(regions)) : "";
  text.textContent = bubbleName(regions);
  button.dataset.label = side;
  button.classList.toggle("is-drawn", isDrawn);
  button.style.setProperty("--label-shift", `${shift}px`);
  const members = regions.map((region) => region.name).join(", ");
  if (regions.length > 1) button.title = members;
  // The accessible name begins with the visible text.
  const names = members === bubbleName(regions) ? "" : ` ${members}.`;
  button.setAttribute("aria-label", `${bubbleName(regions)}: ${summaryWords(sumCounts(regions))}.${names} Show on the map.`);
}
