/**
 * The networks on the map: tracks which are in view, drawn or in trouble, counts their vehicles, and
 * jumps from one to another.
 */
import { byId, element, replaceContent } from "../plain/dom.js";
import { isUnreliable } from "../plain/states.js";
import { Bubbles } from "./bubbles.js";
import { coveredSides } from "./camera.js";
import { shownLines } from "./find.js";
import { grantedPlace } from "./location.js";
import { foldPanel, removeIgnoredValues } from "./panel.js";
import { REGION_ZOOM_MAX, boundsOfMost, chooseRegion, contains, currentRegion, filterRegion, lastVisited, recountByType, regionCountWords, regionsInView, regionsOutside, rememberVisited, union, withoutEdges } from "./regions.js";
import { fold } from "./route_query.js";
import { STANDSTILL, liveState, liveWords, showTrouble, troubleIn } from "./trouble.js";
import { modeOf, routeAddress } from "./view.js";

/** Interval at which the counts of networks are fetched, in milliseconds. */
const COUNTS_MS = 30_000;
/** The interval with a recording, whose clock jumps, in milliseconds. */
const RECORDING_MS = 10_000;
const DAY_S = 86_400;
/** Minimum zoom at which the network in the middle of the map counts as visited. */
const VISITED_ZOOM_MIN = 7;

/**
 * @typedef {import("./regions.js").Region} Region
 * @typedef {import("./main.js").Network} Network
 */

/** Returns the panel's links to networks. @returns {HTMLElement[]} */
const links = () => [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".panel [data-region]"))];

/** @param {Region} region */
function showCount(region) {
  const shown = links().find((link) => link.dataset.region === region.id)?.querySelector(".region-count");
  if (shown) shown.textContent = regionCountWords(region);
}

/** Scrolls the panel's list of networks to the current one. */
function revealCurrent() {
  const link = links().find((each) => each.hasAttribute("aria-current"));
  const list = link?.closest("ul");
  if (!link || !list) return;
  const [box, frame] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  const isInside = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
  if (box.width === 0 || isInside) return;
  list.scrollBy({ left: (box.left + box.right - frame.left - frame.right) / 2, top: (box.top + box.bottom - frame.top - frame.bottom) / 2, behavior: "instant" });
}

/** Shows the panel's recordings of networks in view, or of networks without a known place. @param {Region[]} regions @param {Region[]} visible */
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

/** Returns the time of the newest position by feed, in seconds. @param {import("../plain/state.js").Store} store */
function newestPositions(store) {
  /** @type {Map<string, number>} */
  const newest = new Map();
  for (const { feed, record } of store.list("vehicle")) {
    const at = Number(record.timestamp);
    if (at > (newest.get(feed) ?? 0)) newest.set(feed, at);
  }
  return newest;
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
  /** The network that the reader chose, or the one in the address, or the last visited one. @type {string|null} */
  #chosen = null;
  /** Networks whose lines and stops are on the map: all that have been in view. @type {Set<string>} */
  #drawn = new Set();
  /** @type {Map<string, import("./trouble.js").State>} the received states by feed */
  #states = new Map();
  /** The network in the middle of the map. @type {Region|null} */
  #current = null;
  /** True after "Show all", until the map moves to some of the networks. */
  #isOverview = false;
  /** True from "Show all" until the map shows a single network again. */
  #isFolded = false;
  /** The networks of the bubble that the reader opened. @type {Region[]} */
  #members = [];

  /** The time at which the page's data were read, in milliseconds. */
  #openedAt = performance.now();
  /** The zoom at which the bubble was opened. */
  #membersZoom = 0;
  /** The time of the newest position by feed, in seconds. @type {Map<string, number>} */
  #newest = new Map();
  #modes;

  /** @param {Region[]} regions in the server's order @param {Network[]} networks @param {string[]} systems of GBFS @param {() => Set<string>} [modes] returns the shown modes, empty for all */
  constructor(regions, networks, systems, modes = () => new Set()) {
    this.#modes = modes;
    this.regions = regions;
    this.networks = networks;
    this.systems = systems;
    for (const { states } of regions) this.#keepStates(states);
  }

  /** @param {import("./trouble.js").FeedState[]} states */
  #keepStates(states) {
    for (const { feed, record } of states) this.#states.set(feed, record);
  }

  /** Returns the latest known states of all feeds. @returns {import("./trouble.js").FeedState[]} */
  #knownStates() {
    return [...this.#states].map(([feed, record]) => ({ feed, record }));
  }

  /** @param {import("maplibre-gl").Map} map @param {import("./camera.js").Camera} camera */
  attach(map, camera) {
    this.#map = map;
    this.#camera = camera;
    this.#bubbles = new Bubbles(map, this.regions, (regions, bounds) => this.#jumpTo(bounds, regions), this.#modes);
    map.on("zoom", () => this.#bubbles?.show());
  }

  /** @param {import("./regions.js").Bounds} bounds @param {Region[]} regions the networks with these bounds */
  #jumpTo(bounds, regions) {
    const chosen = regions.length === 1 ? regions[0] : null;
    if (chosen) this.#choose(chosen.id);
    document.getElementById("missing-network")?.remove();
    removeIgnoredValues();
    this.#jumping(() => {
      this.#members = chosen ? [] : this.regions.filter(({ id }) => regions.some((region) => region.id === id));
      this.#membersZoom = this.#map?.getZoom() ?? 0;
      if (chosen) {
        this.#leaveOverview();
        this.#camera?.fit(bounds, REGION_ZOOM_MAX);
      } else {
        this.#isOverview = false;
        this.#camera?.fitMembers(bounds, REGION_ZOOM_MAX);
      }
    });
  }

  /** Shows all networks, or as many as fit, and folds the panel of a small screen. */
  #showAll() {
    this.#jumping(() => {
      foldPanel(true);
      this.#members = [];
      this.#isOverview = this.#isFolded = true;
      const all = union(this.regions.map(({ frame }) => frame));
      this.#camera?.fitOverview(boundsOfMost(this.regions, this.#camera.widestSpan(all)), REGION_ZOOM_MAX);
    });
  }

  #leaveOverview() {
    if (this.#isFolded) foldPanel(false);
    this.#isOverview = this.#isFolded = false;
  }

  /** Returns true if the view contains all networks except their edges, so that "Show all" would show nothing new. */
  #isAllInView() {
    const view = this.viewBounds();
    return view !== null && this.regions.every(({ frame }) => contains(view, withoutEdges(frame)));
  }

  /** Links the networks of the shown modes that are outside of the view of all networks, or behind the panel. */
  #showOutside() {
    const shown = this.#isOverview ? this.regions.filter((region) => filterRegion(region, this.#modes())) : [];
    const beyond = regionsOutside(shown, this.viewBounds());
    const outside = shown.filter((region) => beyond.includes(region) || this.#bubbles?.isCovered(region.id));
    replaceContent(byId("outside"), outside.length > 0 ? this.#linkAll("Not in this view: ", outside, "data-outside") : []);
    byId("outside").hidden = outside.length === 0;
  }

  /** Returns a text and buttons that show networks. @param {string} words @param {Region[]} regions @param {string} attribute of the buttons, with the network's id */
  #linkAll(words, regions, attribute) {
    const buttons = regions.map((region) => element("button.link.target", { type: "button", [attribute]: region.id, onclick: () => this.go(region) }, region.name));
    return [words, ...buttons.flatMap((button, at) => (at > 0 ? [", ", button] : [button]))].map((each) => (typeof each === "string" ? document.createTextNode(each) : each));
  }

  /** Names the networks of the opened bubble, and marks them in the panel, while at least two are in view and the map is not zoomed out again. */
  #showMembers() {
    const isOpen = (this.#map?.getZoom() ?? 0) >= this.#membersZoom && this.#members.length - regionsOutside(this.#members, this.viewBounds()).length > 1;
    const members = isOpen ? this.#members : [];
    replaceContent(byId("members"), members.length > 0 ? this.#linkAll("Networks here: ", members, "data-member") : []);
    byId("members").hidden = members.length === 0;
    for (const link of links()) link.toggleAttribute("data-is-member", members.some(({ id }) => id === link.dataset.region));
  }

  /** @param {string} id */
  #choose(id) {
    this.#chosen = id;
    this.#remember(this.regions.find((region) => region.id === id));
  }

  /** Makes the map open at this network the next time; it does not open at rental systems. @param {Region|null|undefined} region */
  #remember(region) {
    if (region && !region.only_rentals) rememberVisited(region.id);
  }

  /** Call it when Back or Forward has left the opened bubble. */
  closeMembers() {
    this.#members = [];
    this.#showMembers();
  }

  /** Shows a network. @param {Region} region */
  go(region) {
    this.#jumpTo(region.frame, [region]);
  }

  /** Finds networks with the question at the start of a word of their name. @param {string} question @returns {Region[]} empty without a map, or if there is only one network */
  find(question) {
    const folded = fold(question);
    if (folded === "" || !this.#map || this.regions.length < 2) return [];
    return this.regions.filter(({ name }) => ` ${fold(name)}`.includes(` ${folded}`));
  }

  /** Returns the network of a feed. @param {string|undefined} feed */
  of(feed) {
    return this.networks.find(({ id, feeds }) => feed !== undefined && (id === feed || feeds.includes(feed)));
  }

  /** @param {string|undefined} feed */
  regionOf(feed) {
    return this.regions.find(({ feeds }) => feed !== undefined && feeds.includes(feed));
  }

  /** Returns the view as west, south, east and north. @returns {import("./regions.js").Bounds|null} */
  viewBounds() {
    const bounds = this.#map?.getBounds();
    return bounds ? [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()] : null;
  }

  /** Returns the networks in view. */
  visible() {
    return regionsInView(this.regions, this.viewBounds());
  }

  /** Returns the networks in view that have lines or vehicles of the shown modes. */
  #shown() {
    return this.visible().filter((region) => filterRegion(region, this.#modes()));
  }

  /** @param {string} id */
  isDrawn = (id) => this.#drawn.has(id);

  /** Returns the real-time feeds and rental systems in view, those of networks with most vehicles first. */
  realtimeFeeds() {
    const live = [...this.networks.flatMap(({ id, feeds }) => feeds.filter((feed) => feed !== id || feeds.length === 1)), ...this.systems];
    if (!this.#map) return live;
    const visible = this.visible().flatMap(({ feeds }) => feeds);
    return [...visible.filter((feed) => live.includes(feed)), ...live.filter((feed) => !this.regionOf(feed))];
  }

  /**
   * Returns the initial view: the place in the address, else the first of these networks that exists: the one in the address,
   * the last visited one, the nearest one if the location permission is granted, or the first.
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
   * Makes the panel's links and the bubbles move the map instead of loading the page, and updates their counts.
   * @param {(jump: () => void) => void} jumping runs a jump of the map
   */
  listen(jumping) {
    this.#jumping = jumping;
    const hasRecording = this.networks.some(({ rate }) => rate !== null);
    if (links().length > 0 || hasRecording) setInterval(() => document.hidden || this.#readCounts(), hasRecording ? RECORDING_MS : COUNTS_MS);
    const title = document.querySelector(".panel .regions-title");
    if (title && this.regions.length > 1) title.append(" ", element("button.link.target", { type: "button", id: "show-all-networks", onclick: () => this.#showAll() }, "Show all"));
    // The list also loses its scroll position while it is hidden.
    const list = document.querySelector(".panel .regions ul");
    if (list) new ResizeObserver(revealCurrent).observe(list);
    for (const link of links()) {
      link.addEventListener("click", (event) => {
        const region = this.regions.find(({ id }) => id === link.dataset.region);
        if (!region || !this.#camera || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        this.go(region);
      });
    }
  }

  /** Call it after the map has moved. @param {number} zoom @returns {boolean} true if more networks are drawn */
  moved(zoom) {
    this.#bubbles?.show();
    const inView = this.visible();
    const visible = inView.flatMap(({ feeds }) => feeds);
    const added = this.networks.filter(({ id }) => !this.#drawn.has(id) && (visible.includes(id) || !this.regionOf(id)));
    for (const { id } of added) this.#drawn.add(id);
    const middle = zoom >= VISITED_ZOOM_MIN ? this.#camera?.freeMiddle() : null;
    const current = middle ? currentRegion(this.regions, middle, this.#chosen) : null;
    this.#remember(current);
    if (current) this.#leaveOverview();
    this.#current = current;
    this.#showOutside();
    this.#showMembers();
    const showAll = document.getElementById("show-all-networks");
    if (showAll) showAll.hidden = this.#isAllInView();
    for (const link of links()) {
      if (link.dataset.region === current?.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    revealCurrent();
    return added.length > 0;
  }

  /** Names the lines of the current network that have no trips, and that the map therefore cannot draw. @param {import("./routes.js").Routes} routes */
  showIdleLines(routes) {
    const { idle, total } = this.#current ? routes.idleOf(this.#current.id) : { idle: [], total: 0 };
    const { shown, more } = shownLines(idle);
    const names = shown.flatMap((route, at) => [at > 0 ? ", " : "", element("a", { href: routeAddress(route) }, route.name)]);
    const words = idle.length === 0 ? [] : [`${idle.length} of ${total} lines ${idle.length === 1 ? "has" : "have"} no trips in the timetable, so the map does not draw ${idle.length === 1 ? "it" : "them"}: `, ...names, more > 0 ? ` and ${more} more` : ""];
    const note = byId("idle-lines");
    replaceContent(note, words.map((word) => (typeof word === "string" ? document.createTextNode(word) : word)));
    note.dataset.count = String(idle.length);
    note.hidden = idle.length === 0;
  }

  /** Shows which networks in view are in trouble. @param {import("../plain/state.js").Store} store @param {number} now seconds */
  showStates(store, now) {
    this.#keepStates(store.list("feed"));
    this.#newest = newestPositions(store);
    const shown = this.#shown();
    showRecordings(this.regions, shown);
    showTrouble(troubleIn(this.#knownStates(), shown), shown, {
      timezoneOf: (feed) => this.of(feed)?.timezone ?? "UTC",
      ageOf: (feed) => this.#positionAge(feed, now),
      isRecorded: (feed) => this.regionOf(feed)?.recording ?? false,
      now,
    });
  }

  /** Returns the age of a feed's newest position in seconds, or null if it is not known. @param {string} feed @param {number} now seconds */
  #positionAge(feed, now) {
    const newest = this.#newest.get(feed);
    return newest === undefined ? null : now - this.behindOf(feed) - newest;
  }

  /** Returns the text that the connection status shows instead of "Live", or null. @param {number} now seconds */
  liveWords(now) {
    if (this.regions.length > 0 && this.visible().length === 0) return "No network in view";
    const shown = this.#shown();
    return liveWords(this.#knownStates(), shown.length > 0 ? shown : this.visible(), (feed) => this.#positionAge(feed, now));
  }

  /** Returns the state of a network's live times; positions do not affect them. @param {string} feed of the network @param {string[]} live its feeds with times */
  liveStateOf(feed, live) {
    const region = this.regionOf(feed);
    return region ? liveState(this.#knownStates(), [{ ...region, live }]) : null;
  }

  /** Returns the modes of the lines in view; rentals are bikes. @returns {Set<string>} */
  modesInView() {
    const visible = this.visible();
    const modes = new Set(visible.flatMap(({ route_types: types }) => types.map(modeOf)));
    if (this.systems.some((feed) => visible.some(({ feeds }) => feeds.includes(feed)))) modes.add("bike");
    return modes;
  }

  /** Returns the seconds by which the data of a feed are behind the server's clock; more than 0 for a recording. @param {string} feed */
  behindOf(feed) {
    const network = this.of(feed);
    if (!network) return 0;
    network.measuredAt ??= this.#openedAt;
    return network.behind - (((network.rate ?? 1) - 1) * (performance.now() - network.measuredAt)) / 1000;
  }

  /**
   * Sets the clock of a network. After the end of a recording, and after its jump to another day, the page is loaded again.
   * @param {Network} network @param {number} behind @param {number|null} rate
   */
  #followRecording(network, behind, rate) {
    const hasEnded = rate === 0 && network.rate !== 0;
    const isOtherDay = rate !== null && Math.abs(behind - this.behindOf(network.id)) >= DAY_S;
    Object.assign(network, { behind, rate, measuredAt: performance.now() });
    if (hasEnded || isOtherDay) location.reload();
  }

  /** Reads the clock of a feed's network if it is a recording: it may have jumped over a gap since the page was opened. @param {string} feed */
  async followRecording(feed) {
    if ((this.of(feed)?.rate ?? null) !== null) await this.#readCounts();
  }

  /** Returns false if networks are in view and none of them has live data. */
  hasLive() {
    const visible = this.visible();
    return visible.length === 0 || visible.some(({ live, only_rentals: isRental }) => live.length > 0 || isRental);
  }

  /** Counts the vehicles of the shown modes without a position in the networks in view. */
  countUnplaced() {
    return this.visible().reduce((sum, region) => sum + (filterRegion(region, this.#modes())?.unplaced ?? 0), 0);
  }

  /** Returns true if a feed receives no new positions. @param {string} feed */
  isStandstill = (feed) => STANDSTILL.includes(this.#states.get(feed)?.state ?? "") && this.isInTrouble(feed);

  /** Returns true if a feed's data may be out of date. @param {string} feed */
  isInTrouble = (feed) => isUnreliable(this.#states.get(feed) ?? {});

  /** Fetches the counts of all networks, because at city zoom no whole feed is followed. */
  async #readCounts() {
    const reply = await fetch("/map/counts").catch(() => null); // the server is unreachable; the status shows it
    if (!reply?.ok) return;
    for (const { id, states = [], behind, rate, ...counts } of await reply.json()) {
      const network = this.networks.find((each) => each.id === id);
      if (network) this.#followRecording(network, behind, rate);
      const region = this.regions.find((each) => each.id === id);
      if (region) showCount(Object.assign(region, counts));
      this.#keepStates(states);
    }
  }

  /**
   * Updates the counts of networks whose whole feeds are followed.
   * @param {import("../plain/state.js").Store} store @param {{feed: string, record: any}[]} vehicles @param {{feed: string, kind: string}[]} rentals
   */
  count(store, vehicles, rentals) {
    for (const region of this.regions) {
      const feeds = region.feeds.filter((feed) => store.channels.get(`feed/${feed}`)?.hasState);
      if (feeds.length === 0) continue;
      const isOf = (/** @type {{feed: string}} */ { feed }) => feeds.includes(feed);
      const own = rentals.filter((rental) => isOf(rental) && !this.isInTrouble(rental.feed));
      region.stations = own.filter(({ kind }) => kind === "station").length;
      // Like the server's counts, the first ones exclude vehicles whose positions may be out of date.
      const [reliable, old] = [false, true].map((isOld) => vehicles.filter((vehicle) => isOf(vehicle) && this.isInTrouble(vehicle.feed) === isOld));
      Object.assign(region, { vehicles: reliable.length, old: old.length, by_type: recountByType(region.by_type, reliable, old) });
      region.rentals = own.length - region.stations;
      showCount(region);
    }
    this.#bubbles?.show();
    this.#showOutside();
  }
}
