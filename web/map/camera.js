/** Moving the map so that what is to be seen lies beside the panel and the open card, not under them. */

/** Where the panel stands beside the map and not over it, as in the style sheet. */
export const WIDE = "(min-width: 46.01rem)";
/** Room around what is shown, in pixels. */
const MARGIN_PX = 24;
/** The least height and width of the free part of the map: with less the whole of it counts as free. */
const FREE_PX_MIN = 64;
/** How often a box is fitted again: what the panel says of a view must not move the map to and fro. */
const REFITS_MAX = 2;
/** The width of the world at zoom 0, in MapLibre. */
const WORLD_PX = 512;
/** A longer flight than this is a jump. */
const FLIGHT_MS_MAX = 3_000;

/** @typedef {{top: number, bottom: number, left: number, right: number}} Padding */

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {string} selector @returns {DOMRect|null} of an element that is shown */
function boxOf(selector) {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  return box && box.width > 0 && box.height > 0 ? box : null;
}

/** How much of each side of the map is covered. @returns {Padding} */
export function coveredSides() {
  const whole = /** @type {DOMRect} */ (document.querySelector("#map")?.getBoundingClientRect());
  const sides = { top: MARGIN_PX, bottom: MARGIN_PX, left: MARGIN_PX, right: MARGIN_PX };
  const panel = boxOf(".panel");
  if (matchMedia(WIDE).matches) {
    if (panel) sides.left += panel.right - whole.left;
  } else {
    const [search, card, buttons] = [boxOf(".panel-search"), boxOf("#detail"), boxOf(".map-buttons")];
    if (search) sides.top += search.bottom - whole.top;
    const lowest = card ?? buttons;
    if (lowest) sides.bottom += whole.bottom - lowest.top;
  }
  if (whole.height - sides.top - sides.bottom < FREE_PX_MIN) Object.assign(sides, { top: MARGIN_PX, bottom: MARGIN_PX });
  if (whole.width - sides.left - sides.right < FREE_PX_MIN) Object.assign(sides, { left: MARGIN_PX, right: MARGIN_PX });
  return sides;
}

export class Camera {
  #map;
  /** What stays in the free part while a card grows, until somebody moves the map. @type {[number, number]|null} */
  #kept = null;
  /** The box that is fitted again when the panel grows, and how often yet, until somebody moves the map. @type {{bounds: [number, number, number, number], maxZoom: number, refits: number}|null} */
  #fitted = null;

  /** @param {import("maplibre-gl").Map} map @param {any} [bounds] the box at which it opens @param {number} [maxZoom] */
  constructor(map, bounds, maxZoom = 14) {
    this.#map = map;
    if (bounds) this.#fitted = { bounds, maxZoom, refits: REFITS_MAX };
    const letGo = (/** @type {{originalEvent?: any}} */ event) => {
      if (event.originalEvent) this.#kept = this.#fitted = null;
    };
    map.on("dragstart", letGo);
    map.on("zoomstart", letGo);
    map.on("movestart", letGo);
    const observer = new ResizeObserver(() => {
      // The list begins below the panel where it lies over the map.
      document.body.style.setProperty("--panel-height", `${boxOf(".panel-search")?.height ?? 0}px`);
      this.#keep();
      if (this.#fitted && this.#fitted.refits > 0) {
        this.#fitted.refits -= 1;
        this.#fitAgain(false);
      }
    });
    for (const card of document.querySelectorAll(".panel > *")) observer.observe(card);
    this.#listenToZoomButtons();
  }

  /** How a place comes to the middle of the free part: the map's own middle stays its middle. @returns {[number, number]} */
  #offset() {
    const { top, bottom, left, right } = coveredSides();
    return [(left - right) / 2, (top - bottom) / 2];
  }

  /** The inner half of the free part: its west, south, east and north. @returns {[number, number, number, number]} */
  freeMiddle() {
    const { top, bottom, left, right } = coveredSides();
    const [x, y] = this.#offset();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    const [aside, up] = [(width - left - right) / 4, (height - top - bottom) / 4];
    const northWest = this.#map.unproject([width / 2 + x - aside, height / 2 + y - up]);
    const southEast = this.#map.unproject([width / 2 + x + aside, height / 2 + y + up]);
    return [northWest.lng, southEast.lat, southEast.lng, northWest.lat];
  }

  /** How many degrees of longitude the free part shows at most: the earth always fills the map's height. */
  widestSpan() {
    const { left, right } = coveredSides();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    const world = Math.max(WORLD_PX * 2 ** this.#map.getMinZoom(), height);
    return Math.min(((width - left - right) / world) * 360, 360);
  }

  /** Shows a view of the past as it was. @param {{longitude: number, latitude: number, zoom: number}} at */
  restore({ longitude, latitude, zoom }) {
    this.#kept = this.#fitted = null;
    this.#map.jumpTo({ center: [longitude, latitude], zoom });
  }

  /** The point in the middle of the free part. */
  #freePoint() {
    const [x, y] = this.#offset();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    return this.#map.unproject([width / 2 + x, height / 2 + y]);
  }

  /** Has the buttons of the map zoom around the middle of the free part: what lies beside the panel stays there. */
  #listenToZoomButtons() {
    for (const [name, step] of /** @type {[string, number][]} */ ([["in", 1], ["out", -1]])) {
      const zoom = (/** @type {Event} */ event) => {
        event.stopImmediatePropagation();
        this.#map.easeTo({ zoom: this.#map.getZoom() + step, around: this.#freePoint(), animate: !isStill() }, { originalEvent: event });
      };
      this.#map.getContainer().querySelector(`.maplibregl-ctrl-zoom-${name}`)?.addEventListener("click", zoom, { capture: true });
    }
  }

  /** @param {[number, number]} center longitude and latitude @param {number} zoom at least */
  moveTo(center, zoom) {
    const target = { center, zoom: Math.max(this.#map.getZoom(), zoom), offset: this.#offset() };
    if (isStill()) this.#map.easeTo({ ...target, animate: false });
    else this.#map.flyTo({ ...target, speed: 2.2, maxDuration: FLIGHT_MS_MAX });
    this.#kept = center;
    this.#fitted = null;
  }

  /** @param {[number, number, number, number]} bounds @param {number} [maxZoom] */
  fit(bounds, maxZoom = 14) {
    this.#kept = null;
    this.#fitted = { bounds, maxZoom, refits: REFITS_MAX };
    this.#fitAgain(!isStill());
  }

  /** @param {boolean} animate */
  #fitAgain(animate) {
    if (this.#fitted) this.#map.fitBounds(this.#fitted.bounds, { padding: coveredSides(), maxZoom: this.#fitted.maxZoom, animate, maxDuration: FLIGHT_MS_MAX });
  }

  /** Moves the map as little as it takes if a place is covered or out of view. @param {[number, number]} place */
  reveal(place) {
    this.#kept = place;
    this.#fitted = null;
    this.#keep();
  }

  release() {
    this.#kept = null;
  }

  #keep() {
    const place = this.#kept;
    if (!place) return;
    if (this.#map.isMoving()) {
      this.#map.once("moveend", () => this.#keep());
      return;
    }
    const { top, bottom, left, right } = coveredSides();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    const { x, y } = this.#map.project(place);
    const isFree = x >= left - MARGIN_PX / 2 && x <= width - right + MARGIN_PX / 2 && y >= top - MARGIN_PX / 2 && y <= height - bottom + MARGIN_PX / 2;
    if (!isFree) this.#map.easeTo({ center: place, offset: this.#offset(), animate: !isStill() });
  }
}
