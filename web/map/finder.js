/** Connects the search box with the map: the origin of distances, and "Near me". */
import { byId } from "../plain/dom.js";
import { readFavourites, refOf } from "../plain/favourites.js";
import { fetchJson } from "./fetch_json.js";
import { findRoutes, findStops } from "./find.js";
import { Location } from "./location.js";
import { nearestRegion } from "./regions.js";
import { setUpSearch } from "./search.js";
import { formatRef } from "./view.js";

/** Zoom at which the map shows the reader's location. */
const HERE_ZOOM = 15;

/** @typedef {{map: import("maplibre-gl").Map, camera: import("./camera.js").Camera}} Shown */

export class Finder {
  #here = new Location();
  /** True while the map moves to the reader, whose location already is the origin. */
  #goesHere = false;
  /** @type {() => Shown|null} */
  #shown;
  #networks;
  #search;

  /**
   * @param {object} options
   * @param {() => Shown|null} options.shown  returns null without a map
   * @param {import("./networks.js").NetworkViews} options.networks @param {import("./routes.js").Routes} options.routes
   * @param {(stop: import("./search.js").FoundStop) => void} options.pickStop
   * @param {(route: import("./routes.js").Route) => void} options.pickRoute
   */
  constructor({ shown, networks, routes, pickStop, pickRoute }) {
    this.#shown = shown;
    this.#networks = networks;
    this.#search = setUpSearch({
      input: /** @type {HTMLInputElement} */ (byId("search")), results: byId("results"), from: byId("results-from"), pickStop, pickRoute,
      findStops: (question) => this.#findStops(question),
      findRoutes: (question) => findRoutes(routes, question),
      findNetworks: (question) => networks.find(question),
      pickNetwork: (region) => networks.go(region),
      favourites: readFavourites,
      pickFavourite: (favourite) => this.#pickFavourite(favourite, { routes, pickStop, pickRoute }),
    });
  }

  /** @returns {{place: import("./regions.js").Place|null, isHere: boolean}} the reader's location while it is in view, else the middle of the map */
  #origin() {
    const map = this.#shown()?.map;
    const place = this.#here.place;
    if (place && (!map || this.#goesHere || map.getBounds().contains([place.longitude, place.latitude]))) return { place, isHere: true };
    const center = map?.getCenter();
    return { place: center ? { latitude: center.lat, longitude: center.lng } : null, isHere: false };
  }

  /** @param {string} question */
  async #findStops(question) {
    const { place, isHere } = this.#origin();
    const nameOf = (/** @type {string} */ feed) => (this.#networks.networks.length > 1 ? (this.#networks.of(feed)?.name ?? feed) : null);
    const stops = await findStops(question, place, nameOf);
    const from = place && `${question ? "Distances from" : "Nearest to"} ${isHere ? "you" : "the middle of the map"}`;
    return { stops, from };
  }

  /**
   * Shows a favourite on the map, or opens its page if the map does not have it.
   * @param {import("../plain/favourites.js").Favourite} favourite
   * @param {{routes: import("./routes.js").Routes, pickStop: (stop: any) => void, pickRoute: (route: import("./routes.js").Route) => void}} map
   */
  async #pickFavourite(favourite, { routes, pickStop, pickRoute }) {
    const ref = refOf(favourite);
    const route = favourite.kind === "line" ? routes.all.get(formatRef(ref)) : undefined;
    if (route) return pickRoute(route);
    const stop = favourite.kind === "stop" ? await fetchJson("/map/stop", { feed: ref.feed, stop_id: ref.id }) : null;
    if (stop) pickStop(stop);
    else location.assign(favourite.href);
  }

  /** Moves the map to the reader and lists the nearest stops. @param {() => void} before called when the location is known */
  async locate(before) {
    const place = await this.#here.ask();
    if (!place) return;
    const nearest = nearestRegion(this.#networks.regions, place);
    if (nearest && !nearest.isNear) return this.#here.offerNearest(nearest.region.name, nearest.meters, () => this.#networks.go(nearest.region));
    before();
    const shown = this.#shown();
    if (shown) {
      this.#goesHere = true;
      this.#here.showDot(shown.map);
      shown.camera.moveTo([place.longitude, place.latitude], HERE_ZOOM);
      shown.map.once("moveend", () => (this.#goesHere = false));
    }
    this.#search.showNearest();
  }

  close() {
    this.#search.close();
  }

  /** Focuses the search box without opening its results. */
  focusQuietly() {
    this.#search.focusQuietly();
  }
}
