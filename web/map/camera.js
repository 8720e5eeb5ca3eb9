/** Moves the map so that a place or a box is visible next to the panel and the open card, and not below them. */

import { project } from "./motion.js";

/** Media query for screens on which the panel is at the side of the map, as in the style sheet. */
export const WIDE = "(min-width: 46.01rem)";
/** Margin around a box, in pixels. */
const MARGIN_PX = 24;
/** Margin at the sides of a wide screen, in pixels, with room for half of a place's name. */
const SIDE_MARGIN_PX = 56;
/** Additional margin for the zoom buttons, in pixels. */
const ZOOM_BUTTONS_PX = 24;
/** Height of the attribution on a wide screen before the map is made, in pixels. */
const ATTRIBUTION_PX = 36;
/** Minimum height and width of the free part of the map, in pixels; if it is smaller, the whole map counts as free. */
const FREE_PX_MIN = 64;
/** Maximum number of refits of a box: the panel's content depends on the view and must not move the map back and forth. */
const REFITS_MAX = 3;
/** The width of the world at zoom 0, in MapLibre. */
const WORLD_PX = 512;
/** A flight that would take longer becomes a jump, in milliseconds. */
const FLIGHT_MS_MAX = 3_000;

/** @typedef {{top: number, bottom: number, left: number, right: number}} Padding */

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {string} selector @returns {DOMRect|null} null if the element is hidden */
function boxOf(selector) {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  return box && box.width > 0 && box.height > 0 ? box : null;
}

/** Returns the covered width at each side of the map, in pixels. @returns {Padding} */
export function coveredSides() {
  const whole = /** @type {DOMRect} */ (document.querySelector("#map")?.getBoundingClientRect());
  const sides = { top: MARGIN_PX, bottom: MARGIN_PX, left: MARGIN_PX, right: MARGIN_PX };
  const panel = boxOf(".panel");
  if (matchMedia(WIDE).matches) {
    const [buttons, attribution] = [boxOf(".map-buttons"), boxOf("#map .maplibregl-ctrl-attrib")];
    const isAttributionKnown = document.querySelector("#map .maplibregl-ctrl-attrib") !== null;
    sides.left = SIDE_MARGIN_PX + (panel ? panel.right - whole.left : 0);
    sides.right = SIDE_MARGIN_PX + ZOOM_BUTTONS_PX;
    if (buttons) sides.top += buttons.bottom - whole.top;
    sides.bottom += attribution ? whole.bottom - attribution.top : isAttributionKnown ? 0 : ATTRIBUTION_PX;
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

/** Returns true if the middle of an element on the map is outside of the map, or behind the panel, the card or the buttons. @param {Element} each */
export function isCovered(each) {
  const { left, top, width, height } = each.getBoundingClientRect();
  const isInside = (/** @type {DOMRect|null} */ box) => box !== null && left + width / 2 >= box.left && left + width / 2 <= box.right && top + height / 2 >= box.top && top + height / 2 <= box.bottom;
  return !isInside(boxOf("#map")) || [".panel-search", "#detail", ".map-buttons"].some((selector) => isInside(boxOf(selector)));
}

/** Margin around a view of all networks, in pixels: bubbles and their labels extend beyond the places of networks. */
const OVERVIEW_MARGIN_PX = { narrow: 32, members: 64, wide: 64, label: 40 };

/** Returns the space at each side of the map that is covered, or where a bubble would be covered, in pixels. @param {number} [narrow] margin on a narrow screen @returns {Padding} */
function overviewSides(narrow = OVERVIEW_MARGIN_PX.narrow) {
  const { top, bottom, left, right } = coveredSides();
  if (matchMedia(WIDE).matches) return { top, bottom: bottom + OVERVIEW_MARGIN_PX.label - MARGIN_PX, left: left + OVERVIEW_MARGIN_PX.wide - SIDE_MARGIN_PX, right: right + OVERVIEW_MARGIN_PX.wide - MARGIN_PX };
  const whole = /** @type {DOMRect} */ (document.querySelector("#map")?.getBoundingClientRect());
  const attribution = boxOf("#map .maplibregl-ctrl-attrib");
  const below = attribution ? whole.bottom - attribution.top : 0;
  const aside = narrow - MARGIN_PX;
  return { top, bottom: Math.max(bottom, below) + OVERVIEW_MARGIN_PX.label, left: left + aside, right: right + aside };
}

export class Camera {
  #map;
  /** The place that stays in the free part while a card grows, until the reader moves the map. @type {[number, number]|null} */
  #pinned = null;
  /** The box that is refitted when the panel or the attribution grows, and the remaining refits, until the reader moves the map. @type {{bounds: [number, number, number, number], maxZoom: number, refits: number, sides: () => Padding}|null} */
  #fitted = null;

  /** @param {import("maplibre-gl").Map} map @param {any} [bounds] the initial box @param {number} [maxZoom] */
  constructor(map, bounds, maxZoom = 14) {
    this.#map = map;
    if (bounds) this.#fitted = { bounds, maxZoom, refits: REFITS_MAX, sides: coveredSides };
    const letGo = (/** @type {{originalEvent?: any}} */ event) => {
      if (event.originalEvent) this.#pinned = this.#fitted = null;
    };
    map.on("dragstart", letGo);
    map.on("zoomstart", letGo);
    map.on("movestart", letGo);
    const observer = new ResizeObserver(() => {
      // On a phone the list begins below the panel.
      document.body.style.setProperty("--panel-height", `${boxOf(".panel-search")?.height ?? 0}px`);
      this.#revealPinned();
      if (this.#fitted && this.#fitted.refits > 0) {
        this.#fitted.refits -= 1;
        this.#fitAgain(false);
      }
    });
    for (const card of document.querySelectorAll(".panel > *")) observer.observe(card);
    // It is empty until the base map is loaded.
    const attribution = map.getContainer().querySelector(".maplibregl-ctrl-attrib");
    if (attribution) observer.observe(attribution);
    this.#listenToZoomButtons();
  }

  /** Returns the offset of the middle of the free part from the middle of the map, in pixels. @returns {[number, number]} */
  #offset() {
    const { top, bottom, left, right } = coveredSides();
    return [(left - right) / 2, (top - bottom) / 2];
  }

  /** Returns the box of the inner half of the free part: west, south, east and north. @returns {[number, number, number, number]} */
  freeMiddle() {
    const { top, bottom, left, right } = coveredSides();
    const [x, y] = this.#offset();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    const [aside, up] = [(width - left - right) / 4, (height - top - bottom) / 4];
    const northWest = this.#map.unproject([width / 2 + x - aside, height / 2 + y - up]);
    const southEast = this.#map.unproject([width / 2 + x + aside, height / 2 + y + up]);
    return [northWest.lng, southEast.lat, southEast.lng, northWest.lat];
  }

  /**
   * Returns the most degrees of longitude that a view of all networks can show. The earth always fills the map's height, so a place far in the
   * north can be kept above the panel only at a larger zoom.
   * @param {[number, number, number, number]} bounds the box that must fit into the free part
   */
  widestSpan([west, south, east, north]) {
    const { top, bottom, left, right } = overviewSides();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    const [above, below] = [project(west, north).y, 1 - project(east, south).y];
    const world = Math.max(WORLD_PX * 2 ** this.#map.getMinZoom(), height, top / above, bottom / below);
    return Math.min(((width - left - right) / world) * 360, 360);
  }

  /** Restores a view of the history. @param {{longitude: number, latitude: number, zoom: number}} at */
  restore({ longitude, latitude, zoom }) {
    this.#pinned = this.#fitted = null;
    this.#map.jumpTo({ center: [longitude, latitude], zoom });
  }

  /** Returns the place in the middle of the free part. */
  #freePoint() {
    const [x, y] = this.#offset();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    return this.#map.unproject([width / 2 + x, height / 2 + y]);
  }

  /** Makes the zoom buttons zoom around the middle of the free part instead of the middle of the map. */
  #listenToZoomButtons() {
    for (const [name, step] of /** @type {[string, number][]} */ ([["in", 1], ["out", -1]])) {
      const zoom = (/** @type {Event} */ event) => {
        event.stopImmediatePropagation();
        this.#map.easeTo({ zoom: this.#map.getZoom() + step, around: this.#freePoint(), animate: !isStill() }, { originalEvent: event });
      };
      this.#map.getContainer().querySelector(`.maplibregl-ctrl-zoom-${name}`)?.addEventListener("click", zoom, { capture: true });
    }
  }

  /** @param {[number, number]} center longitude and latitude @param {number} zoom minimum zoom */
  moveTo(center, zoom) {
    const target = { center, zoom: Math.max(this.#map.getZoom(), zoom), offset: this.#offset() };
    if (isStill()) this.#map.easeTo({ ...target, animate: false });
    else this.#map.flyTo({ ...target, speed: 2.2, maxDuration: FLIGHT_MS_MAX });
    this.#pinned = center;
    this.#fitted = null;
  }

  /** @param {[number, number, number, number]} bounds @param {number} [maxZoom] */
  fit(bounds, maxZoom = 14) {
    this.#fit({ bounds, maxZoom, refits: REFITS_MAX, sides: coveredSides });
  }

  /** Fits a box around networks, with room for their bubbles. @param {[number, number, number, number]} bounds @param {number} maxZoom */
  fitOverview(bounds, maxZoom) {
    this.#fit({ bounds, maxZoom, refits: REFITS_MAX, sides: () => overviewSides() });
  }

  /** Fits a box around the networks of one bubble, with room for their own bubbles and labels. @param {[number, number, number, number]} bounds @param {number} maxZoom */
  fitMembers(bounds, maxZoom) {
    this.#fit({ bounds, maxZoom, refits: REFITS_MAX, sides: () => overviewSides(OVERVIEW_MARGIN_PX.members) });
  }

  /** @param {{bounds: [number, number, number, number], maxZoom: number, refits: number, sides: () => Padding}} fitted */
  #fit(fitted) {
    this.#pinned = null;
    this.#fitted = fitted;
    this.#fitAgain(!isStill());
  }

  /** @param {boolean} animate */
  #fitAgain(animate) {
    if (this.#fitted) this.#map.fitBounds(this.#fitted.bounds, { padding: this.#fitted.sides(), maxZoom: this.#fitted.maxZoom, animate, maxDuration: FLIGHT_MS_MAX });
  }

  /** Moves the map by the least distance that makes a place visible. @param {[number, number]} place */
  reveal(place) {
    this.#pinned = place;
    this.#fitted = null;
    this.#revealPinned();
  }

  /** Moves a place into the middle of the free part. @param {[number, number]} place */
  center(place) {
    this.#pinned = place;
    this.#fitted = null;
    this.#map.easeTo({ center: place, offset: this.#offset(), animate: !isStill() });
  }

  release() {
    this.#pinned = null;
  }

  #revealPinned() {
    const place = this.#pinned;
    if (!place) return;
    if (this.#map.isMoving()) {
      this.#map.once("moveend", () => this.#revealPinned());
      return;
    }
    const { top, bottom, left, right } = coveredSides();
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    const { x, y } = this.#map.project(place);
    const isFree = x >= left && x <= width - right && y >= top && y <= height - bottom;
    if (!isFree) this.#map.easeTo({ center: place, offset: this.#offset(), animate: !isStill() });
  }
}
