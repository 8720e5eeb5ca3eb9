/**
 * The networks on the map: which are in view and drawn, which of them are in trouble, how many
 * vehicles each has, and jumping from one to another.
 */
import { element } from "../plain/dom.js";
import { isUnreliable } from "../plain/states.js";
import { numberWords } from "../plain/words.js";
import { Bubbles } from "./bubbles.js";
import { coveredSides } from "./camera.js";
import { grantedPlace } from "./location.js";
import { REGION_ZOOM_MAX, boundsOfMost, chooseRegion, currentRegion, lastVisited, regionsInView, rememberVisited } from "./regions.js";
import { fold } from "./route_query.js";
import { STANDSTILL, liveWords, showTrouble, troubleIn } from "./trouble.js";

/** How often the numbers of networks that are not followed as a whole are read, in milliseconds. */
const COUNTS_MS = 30_000;
/** From this zoom on the network in the middle of the map counts as visited. */
const VISITED_ZOOM_MIN = 7;

/**
 * @typedef {import("./regions.js").Region} Region
 * @typedef {import("./main.js").Network} Network
 */

/** The links of the panel. @returns {HTMLElement[]} */
const links = () => [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".panel [data-region]"))];

/** @param {Region} region */
function showCount({ id, vehicles, stations }) {
  const shown = links().find((link) => link.dataset.region === id)?.querySelector(".region-count");
  if (shown) shown.textContent = vehicles + stations > 0 ? numberWords(vehicles || stations) : "";
}

/** Shows the panel's recordings of the networks in view, and of those whose place is not known. @param {Region[]} regions @param {Region[]} visible */
function showRecordings(regions, visible) {
  const list = /** @type {HTMLElement|null} */ (document.querySelector(".panel .recordings"));
  if (!list) return;
  const isAway = (/** @type {string} */ id) => regions.some((region) => region.id === id) && !visible.some((region) => region.id === id);
  const named = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("[data-recording-of]"))];
  for (const tag of named) tag.closest("li")?.toggleAttribute("hidden", isAway(tag.dataset.recordingOf ?? ""));
  const rest = visible.filter(({ id, recording }) => recording && !named.some((tag) => tag.dataset.recordingOf === id)).length;
  const last = /** @type {HTMLElement|null} */ (list.querySelector("li.soft"));
  if (last) Object.assign(last, { hidden: rest === 0, textContent: `and ${rest} more recording${rest === 1 ? "" : "s"}` });
  list.hidden = !list.querySelector("li:not([hidden])");
}

export class NetworkViews {
  /** @type {import("maplibre-gl").Map|null} */
  #map = null;
  /** @type {import("./camera.js").Camera|null} */
  #camera = null;
  /** @type {Bubbles|null} */
  #bubbles = null;
  /** @type {(jump: () => void) => void} */
  #jumping = (jump) => jump();
  /** The network that the reader chose, or that the address or the last visit named. @type {string|null} */
  #chosen = null;
  /** Networks whose lines and stops are on the map: those that were in view. @type {Set<string>} */
  #drawn = new Set();
  /** @type {Map<string, import("./trouble.js").State>} the state of each feed that was received */
  #states = new Map();

  /** @param {Region[]} regions in the server's order @param {Network[]} networks @param {string[]} systems of GBFS */
  constructor(regions, networks, systems) {
    this.regions = regions;
    this.networks = networks;
    this.systems = systems;
  }

  /** @param {import("maplibre-gl").Map} map @param {import("./camera.js").Camera} camera */
  attach(map, camera) {
    this.#map = map;
    this.#camera = camera;
    this.#bubbles = new Bubbles(map, this.regions, (regions, bounds) => this.#jumpTo(bounds, regions.length === 1 ? regions[0] : null));
    map.on("zoom", () => this.#bubbles?.show());
  }

  /** @param {import("./regions.js").Bounds} bounds @param {Region|null} chosen the network that they are of */
  #jumpTo(bounds, chosen) {
    if (chosen) this.#choose(chosen.id);
    this.#jumping(() => this.#camera?.fit(bounds, REGION_ZOOM_MAX));
  }

  /** @param {string} id */
  #choose(id) {
    this.#chosen = id;
    rememberVisited(id);
  }

  /** Shows a network. @param {Region} region */
  go(region) {
    this.#jumpTo(region.frame, region);
  }

  /** The networks of whose names a word, or several, begin as the question does. @param {string} question @returns {Region[]} none where there is only one, or no map */
  find(question) {
    const folded = fold(question);
    if (folded === "" || !this.#map || this.regions.length < 2) return [];
    return this.regions.filter(({ name }) => ` ${fold(name)}`.includes(` ${folded}`));
  }

  /** The network of a feed. @param {string|undefined} feed */
  of(feed) {
    return this.networks.find(({ id, feeds }) => feed !== undefined && (id === feed || feeds.includes(feed)));
  }

  /** @param {string|undefined} feed */
  regionOf(feed) {
    return this.regions.find(({ feeds }) => feed !== undefined && feeds.includes(feed));
  }

  /** The view's west, south, east and north. @returns {import("./regions.js").Bounds|null} */
  viewBounds() {
    const bounds = this.#map?.getBounds();
    return bounds ? [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()] : null;
  }

  /** The networks in view. */
  visible() {
    return regionsInView(this.regions, this.viewBounds());
  }

  /** @param {string} id */
  isDrawn = (id) => this.#drawn.has(id);

  /** The real-time feeds and rental systems in view, those of networks with most vehicles first. */
  realtimeFeeds() {
    const live = [...this.networks.flatMap(({ id, feeds }) => feeds.filter((feed) => feed !== id || feeds.length === 1)), ...this.systems];
    if (!this.#map) return live;
    const visible = this.visible().flatMap(({ feeds }) => feeds);
    return [...visible.filter((feed) => live.includes(feed)), ...live.filter((feed) => !this.regionOf(feed))];
  }

  /**
   * Where the map opens: at the place that the address names; else at the network that it names, the one visited last, the
   * nearest where the browser may say the place, or the first.
   * @param {import("./view.js").View} view @returns {Promise<Partial<import("maplibre-gl").MapOptions>>}
   */
  async startView(view) {
    this.#chosen = view.network ?? lastVisited();
    if (view.at) return { center: [view.at.longitude, view.at.latitude], zoom: view.at.zoom };
    const named = view.network ?? this.regionOf((view.stop ?? view.vehicle ?? view.station ?? view.routes[0])?.feed)?.id ?? null;
    const isKnown = this.regions.some((region) => region.id === named || region.id === lastVisited());
    const place = isKnown || this.regions.length < 2 ? null : await grantedPlace();
    const region = chooseRegion(this.regions, { named, lastVisited: lastVisited(), place });
    if (!region) return { center: [10, 50], zoom: 3 };
    this.#chosen = region.id;
    return { bounds: region.frame, fitBoundsOptions: { padding: coveredSides(), maxZoom: REGION_ZOOM_MAX } };
  }

  /**
   * Lets the panel's links and the bubbles move the map in place of loading the page again, and keeps their numbers.
   * @param {(jump: () => void) => void} jumping has the map jump
   */
  listen(jumping) {
    this.#jumping = jumping;
    if (links().length > 0) setInterval(() => document.hidden || this.#readCounts(), COUNTS_MS);
    const title = document.querySelector(".panel .regions-title");
    const showAll = () => this.#jumpTo(boundsOfMost(this.regions, this.#camera?.widestSpan() ?? 360), null);
    if (title && this.regions.length > 1) title.append(" ", element("button.link.target", { type: "button", id: "show-all-networks", onclick: showAll }, "Show all"));
    for (const link of links()) {
      link.addEventListener("click", (event) => {
        const region = this.regions.find(({ id }) => id === link.dataset.region);
        if (!region || !this.#camera || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        this.go(region);
      });
    }
  }

  /** The map has moved. @param {number} zoom @returns {boolean} whether more networks are drawn */
  moved(zoom) {
    this.#bubbles?.show();
    const inView = this.visible();
    showRecordings(this.regions, inView);
    const visible = inView.flatMap(({ feeds }) => feeds);
    const added = this.networks.filter(({ id }) => !this.#drawn.has(id) && (visible.includes(id) || !this.regionOf(id)));
    for (const { id } of added) this.#drawn.add(id);
    const middle = zoom >= VISITED_ZOOM_MIN ? this.#camera?.freeMiddle() : null;
    const current = middle ? currentRegion(this.regions, middle, this.#chosen) : null;
    if (current) rememberVisited(current.id);
    for (const link of links()) {
      if (link.dataset.region === current?.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    return added.length > 0;
  }

  /** Says which networks in view are in trouble. @param {import("../plain/state.js").Store} store @param {number} now seconds */
  showStates(store, now) {
    const known = store.list("feed");
    for (const { feed, record } of known) this.#states.set(feed, record);
    const visible = this.visible();
    showTrouble(troubleIn(known, visible), visible, (feed) => this.of(feed)?.timezone ?? "UTC", now);
  }

  /** What the connection's sign says in place of "Live". */
  liveWords() {
    const visible = this.visible();
    return this.regions.length > 0 && visible.length === 0 ? "No network in view" : liveWords([...this.#states].map(([feed, record]) => ({ feed, record })), visible);
  }

  /** How many vehicles of the networks in view report no position. */
  countUnplaced() {
    return this.visible().reduce((sum, { unplaced }) => sum + unplaced, 0);
  }

  /** Whether a feed brings nothing new. @param {string} feed */
  isStandstill = (feed) => STANDSTILL.includes(this.#states.get(feed)?.state ?? "") && this.isInTrouble(feed);

  /** Whether a feed's data may be out of date. @param {string} feed */
  isInTrouble = (feed) => isUnreliable(this.#states.get(feed) ?? {});

  /** Reads the numbers of all networks: at the zoom of a city no feed is followed as a whole. */
  async #readCounts() {
    const reply = await fetch("/map/counts").catch(() => null); // the server is away: the sign above says so
    if (!reply?.ok) return;
    for (const { id, vehicles, stations, unplaced } of await reply.json()) {
      const region = this.regions.find((each) => each.id === id);
      if (region) showCount(Object.assign(region, { vehicles, stations, unplaced }));
    }
  }

  /**
   * Counts the networks whose feeds are followed as a whole, as they are now.
   * @param {import("../plain/state.js").Store} store @param {{feed: string}[]} vehicles @param {{feed: string, kind: string}[]} rentals
   */
  count(store, vehicles, rentals) {
    for (const region of this.regions) {
      const feeds = region.feeds.filter((feed) => store.holdings.get(`feed/${feed}`)?.whole);
      if (feeds.length === 0) continue;
      const isOf = (/** @type {{feed: string}} */ { feed }) => feeds.includes(feed);
      const own = rentals.filter(isOf);
      region.stations = own.filter(({ kind }) => kind === "station").length;
      // As the server counts: vehicles that may not be there any more are none.
      region.vehicles = vehicles.filter((vehicle) => isOf(vehicle) && !this.isInTrouble(vehicle.feed)).length + own.length - region.stations;
      showCount(region);
    }
    this.#bubbles?.show();
  }
}
