/**
 * The vehicles on the map, drawn on a separate canvas above the map's. There a moving vehicle costs one
 * image and not a new frame of the whole map, so several thousand can move at sixty frames per second.
 *
 * A vehicle glides from its shown position to the reported one (motion.js). It stays visible for a
 * moment after leaving a cell, because the message of its new cell may arrive later.
 */
import { keyOf } from "../plain/state.js";
import { glide, learnInterval, metersPerUnit, positionAt, project, rest } from "./motion.js";
import { NAMES_ZOOM_MAX } from "./place_names.js";
import { Sprites } from "./sprites.js";
import { modeOf } from "./view.js";

/** Time for which a vehicle stays visible after it moved out of a cell, or its cell left the view, in milliseconds. */
const GRACE_MS = 4_000;
/** Age from which on a position is drawn as stale, in seconds. */
const OLD_S = 120;
/** Color of vehicles with stale positions. */
const STALE_COLOR = "8d959c";
/** Minimum zooms at which a vehicle is a dot with its direction, and a badge with its route. */
const ZOOM_ARROW = 11.8;
const ZOOM_BADGE = NAMES_ZOOM_MAX;
/** Maximum distance of a click from a vehicle, in pixels. */
const PICK_PX = 16;
/** Bounds of the frames per second, which aim at six frames per pixel of movement. */
const FRAMES_MIN = 12;
const FRAMES_MAX = 60;
/** Speed of a fast bus or tram, from which the frame rate is computed. */
const TYPICAL_M_S = 15;
/** The width of a tile, and of the world at zoom 0, in MapLibre. */
const TILE_PX = 512;

/**
 * @typedef {object} Vehicle
 * @property {string} key @property {string} feed @property {string} id
 * @property {any} record  the VehiclePosition, with the fields that the server adds under `lineside`
 * @property {string} mode @property {string} label @property {string|null} color
 * @property {import("./motion.js").Path} path @property {number|null} heading
 * @property {number|null} interval @property {number} arrivedAt @property {number|null} leavesAt
 */

/** @param {any} record @returns {import("./motion.js").Point|null} */
function placeOf(record) {
  const { longitude, latitude } = record?.position ?? {};
  const valid = Number.isFinite(longitude) && Number.isFinite(latitude) && (longitude !== 0 || latitude !== 0);
  return valid ? project(longitude, latitude) : null;
}

/** Returns a vehicle for the list of a page without a map. @param {string} feed @param {string} id @param {any} record @returns {any} */
export function vehicleWithoutMap(feed, id, record) {
  const join = record.lineside ?? {};
  const routeId = join.route_id ?? record.trip?.route_id ?? "";
  return { key: keyOf({ feed, kind: "vehicle", id }), feed, id, record, mode: modeOf(join.route_type), label: String(join.route_short_name || routeId), color: join.route_color ?? null };
}

export class Vehicles {
  /**
   * @param {import("maplibre-gl").Map} map
   * @param {object} options
   * @param {(feed: string, routeId: string) => import("./motion.js").Line[]} options.linesOf
   * @param {(vehicle: Vehicle) => boolean} options.isShown
   * @param {(feed: string) => number} options.nowOf  returns the time of a feed's data, in seconds
   * @param {{isStandstill: (feed: string) => boolean, isInTrouble: (feed: string) => boolean}} options.networks  the states of feeds
   * @param {import("./place_names.js").PlaceNames} options.names  drawn above the vehicles
   */
  constructor(map, { linesOf, isShown, nowOf, networks, names }) {
    this.map = map;
    this.linesOf = linesOf;
    this.isShown = isShown;
    this.nowOf = nowOf;
    this.networks = networks;
    this.names = names;
    /** @type {Map<string, Vehicle>} */
    this.all = new Map();
    this.sprites = new Sprites();
    /** @type {string|null} */
    this.selected = null;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.canvas = document.createElement("canvas");
    this.canvas.className = "vehicles";
    this.canvas.setAttribute("aria-hidden", "true");
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    map.getCanvas().after(this.canvas);
    this.drawnAt = 0;
    this.dirty = true;
    map.on("render", () => this.#draw(performance.now()));
    map.on("resize", () => (this.dirty = true));
    this.dark.addEventListener("change", () => (this.dirty = true));
    const frame = (/** @type {number} */ now) => {
      this.#frame(now);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** Applies the changes of a message. @param {import("../plain/state.js").Applied} applied @param {import("../plain/state.js").Store} store */
  apply(applied, store) {
    const now = performance.now();
    for (const held of applied.upserts) {
      if (held.kind === "vehicle" && store.find(held)?.at === held.at) this.#put(held, now);
    }
    for (const held of applied.removes) {
      if (held.kind !== "vehicle" || store.find(held)) continue;
      if (/** @type {any} */ (held).why === "gone") this.#remove(keyOf(held));
      else this.#expire(keyOf(held), now);
    }
    this.dirty = true;
  }

  /** Lets these records expire, because their cells are no longer followed. @param {import("../plain/state.js").StoredRecord[]} dropped @param {import("../plain/state.js").Store} store */
  drop(dropped, store) {
    const now = performance.now();
    for (const held of dropped) if (held.kind === "vehicle" && !store.find(held)) this.#expire(keyOf(held), now);
  }

  /** @param {import("../plain/state.js").StoredRecord} held @param {number} now */
  #put(held, now) {
    const place = placeOf(held.record);
    const key = keyOf(held);
    if (!place) return this.#remove(key);
    const known = this.all.get(key);
    const join = held.record.lineside ?? {};
    const routeId = join.route_id ?? held.record.trip?.route_id ?? "";
    const vehicle = known ?? /** @type {Vehicle} */ ({ key, feed: held.feed, id: held.id, path: rest(place, now), heading: null, interval: null, arrivedAt: now, leavesAt: null });
    vehicle.record = held.record;
    vehicle.mode = modeOf(join.route_type);
    vehicle.label = String(join.route_short_name || routeId || "");
    vehicle.color = join.route_color ?? null;
    vehicle.leavesAt = null;
    const bearing = held.record.position.bearing;
    if (Number.isFinite(bearing)) vehicle.heading = (bearing * Math.PI) / 180;
    if (known) this.#glide(vehicle, place, this.linesOf(held.feed, routeId), now);
    this.all.set(key, vehicle);
  }

  /** @param {Vehicle} vehicle @param {import("./motion.js").Point} place @param {import("./motion.js").Line[]} lines @param {number} now */
  #glide(vehicle, place, lines, now) {
    const end = vehicle.path.points[vehicle.path.points.length - 1];
    if (end.x === place.x && end.y === place.y) return;
    vehicle.interval = learnInterval(vehicle.interval, now - vehicle.arrivedAt);
    vehicle.arrivedAt = now;
    if (this.still.matches) {
      vehicle.path = rest(place, now);
      return;
    }
    const shown = positionAt(vehicle.path, now);
    // A little longer than the expected interval, so that the vehicle does not stop before the next report.
    vehicle.path = glide(shown, place, lines, now, vehicle.interval * 1.1);
  }

  /** @param {string} key @param {number} now */
  #expire(key, now) {
    const vehicle = this.all.get(key);
    if (vehicle) vehicle.leavesAt ??= now + GRACE_MS;
  }

  /** @param {string} key */
  #remove(key) {
    this.all.delete(key);
    this.dirty = true;
  }

  /** @param {number} now */
  #frame(now) {
    for (const vehicle of this.all.values()) {
      if (vehicle.leavesAt !== null && now > vehicle.leavesAt) this.#remove(vehicle.key);
    }
    const center = this.map.getCenter();
    const metersPerPixel = metersPerUnit(project(center.lng, center.lat).y) / (TILE_PX * 2 ** this.map.getZoom());
    const frames = Math.min(Math.max((TYPICAL_M_S / metersPerPixel) * 6, FRAMES_MIN), FRAMES_MAX);
    const due = now - this.drawnAt >= 1000 / frames - 2;
    if (this.dirty || (due && !this.still.matches && this.#anyMoves(now))) this.#draw(now);
  }

  /** @param {number} now */
  #anyMoves(now) {
    for (const { path } of this.all.values()) if (path.points.length > 1 && now <= path.end + 100) return true;
    return false;
  }

  /** Returns the projection to pixels; the map is never rotated or tilted. */
  #screen() {
    const { lng, lat } = this.map.getCenter();
    const center = project(lng, lat);
    const middle = this.map.project([lng, lat]);
    const world = TILE_PX * 2 ** this.map.getZoom();
    return (/** @type {import("./motion.js").Point} */ { x, y }) => {
      const dx = x - center.x;
      return { x: (dx - Math.round(dx)) * world + middle.x, y: (y - center.y) * world + middle.y };
    };
  }

  /** @param {number} now */
  #draw(now) {
    this.drawnAt = now;
    this.dirty = false;
    const { canvas, context } = this;
    const ratio = Math.max(globalThis.devicePixelRatio || 1, 1);
    const { clientWidth: width, clientHeight: height } = this.map.getContainer();
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      this.sprites.clear();
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const zoom = this.map.getZoom();
    let selected = null;
    let stale = 0;
    const place = this.#screen();
    for (const vehicle of this.all.values()) {
      if (!this.isShown(vehicle)) continue;
      const position = positionAt(vehicle.path, now);
      if (position.heading !== null) vehicle.heading = position.heading;
      const { x, y } = place(position);
      if (x < -30 || y < -30 || x > width + 30 || y > height + 30) continue;
      if (this.isStale(vehicle)) stale += 1;
      if (vehicle.key === this.selected) selected = { vehicle, x, y };
      else this.#drawOne(vehicle, x, y, zoom, false);
    }
    const names = String(this.names.draw(context, place, this.dark.matches));
    if (canvas.dataset.names !== names) canvas.dataset.names = names;
    if (selected) this.#drawOne(selected.vehicle, selected.x, selected.y, Math.max(zoom, ZOOM_BADGE), true);
    if (canvas.dataset.stale !== String(stale)) canvas.dataset.stale = String(stale);
  }

  /** Returns true if a vehicle's position is stale. Without a timestamp the feed's state decides. @param {Vehicle} vehicle */
  isStale({ feed, record }) {
    if (this.networks.isStandstill(feed)) return true;
    return record.timestamp ? this.nowOf(feed) - Number(record.timestamp) > OLD_S : this.networks.isInTrouble(feed);
  }

  /** Greys all vehicles while the connection is lost. @param {boolean} isLost */
  showLost(isLost) {
    this.canvas.classList.toggle("is-lost", isLost);
  }

  /** @param {Vehicle} vehicle @param {number} x @param {number} y @param {number} zoom @param {boolean} selected */
  #drawOne(vehicle, x, y, zoom, selected) {
    const { context, sprites } = this;
    const ring = this.dark.matches ? "#0d1318" : "#ffffff";
    const isStale = this.isStale(vehicle);
    const color = isStale ? STALE_COLOR : vehicle.color;
    context.globalAlpha = isStale && !selected ? 0.7 : 1;
    const asBadge = zoom >= ZOOM_BADGE && vehicle.label !== "";
    const sprite = asBadge ? sprites.badge(vehicle.label, color, ring) : sprites.dot(color, zoom < 10 ? 3 : zoom < ZOOM_ARROW ? 4.5 : 5.5, ring);
    if (selected) {
      context.beginPath();
      context.roundRect(x - sprite.width / 2 - 3, y - sprite.height / 2 - 3, sprite.width + 6, sprite.height + 6, 9);
      context.fillStyle = this.dark.matches ? "rgb(255 255 255 / 0.9)" : "rgb(11 28 42 / 0.9)";
      context.fill();
    }
    if (vehicle.heading !== null && zoom >= ZOOM_ARROW) {
      const arrow = sprites.arrow(color, ring);
      const half = asBadge ? edge(sprite.width - 4, sprite.height - 4, vehicle.heading) : sprite.width / 2 - 2;
      // The arrow's base lies below the dot or badge, so that the two look like one shape.
      const far = half + (asBadge ? 1.8 : 2.4) + (selected ? 4 : 0);
      context.save();
      context.translate(x + Math.sin(vehicle.heading) * far, y - Math.cos(vehicle.heading) * far);
      context.rotate(vehicle.heading);
      context.drawImage(arrow.canvas, -arrow.width / 2, -arrow.height / 2, arrow.width, arrow.height);
      context.restore();
    }
    context.drawImage(sprite.canvas, x - sprite.width / 2, y - sprite.height / 2, sprite.width, sprite.height);
    context.globalAlpha = 1;
  }

  /** Returns the vehicle at a point on the screen. @param {{x: number, y: number}} point @returns {Vehicle|null} */
  pick(point) {
    const now = performance.now();
    const place = this.#screen();
    let best = null;
    let bestAway = PICK_PX;
    for (const vehicle of this.all.values()) {
      if (!this.isShown(vehicle)) continue;
      const { x, y } = place(positionAt(vehicle.path, now));
      const away = Math.hypot(x - point.x, y - point.y);
      if (away <= bestAway) [best, bestAway] = [vehicle, away];
    }
    return best;
  }

  /** Returns the shown vehicles in view, sorted by route. @returns {Vehicle[]} */
  inView() {
    const now = performance.now();
    const place = this.#screen();
    const { clientWidth: width, clientHeight: height } = this.map.getContainer();
    const inside = [...this.all.values()].filter((vehicle) => {
      if (!this.isShown(vehicle)) return false;
      const { x, y } = place(positionAt(vehicle.path, now));
      return x >= 0 && y >= 0 && x <= width && y <= height;
    });
    return inside;
  }

  /** Returns the current shown position of a vehicle. @param {string} key */
  whereIs(key) {
    const vehicle = this.all.get(key);
    return vehicle ? positionAt(vehicle.path, performance.now()) : null;
  }

  /** @param {string|null} key */
  select(key) {
    this.selected = key;
    this.dirty = true;
  }

  /** Redraws after the filters or states have changed. */
  refresh() {
    this.dirty = true;
  }
}

/** Returns the distance from the middle of a box to its edge in a direction. @param {number} width @param {number} height @param {number} heading */
function edge(width, height, heading) {
  const across = Math.abs(Math.sin(heading)) / (width / 2);
  const up = Math.abs(Math.cos(heading)) / (height / 2);
  return 1 / Math.max(across, up);
}
