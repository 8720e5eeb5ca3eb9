/**
 * The map page. What is shown follows from three things: the page's address (view.js), what the
 * server sends (plain/events.js), and what is loaded of the networks (routes.js). This file connects
 * them; each part knows only its own.
 */
import { DataClock } from "../plain/clock.js";
import { byId, element, encodeSegment, island, replaceContent } from "../plain/dom.js";
import { CHANNELS_MAX, Events } from "../plain/events.js";
import { keyOf } from "../plain/state.js";
import { TROUBLE, connectionSign } from "../plain/states.js";
import { stopCard, tripChannels, vehicleCard } from "./detail.js";
import { boundsOfRoute, findRoutes, findStops } from "./find.js";
import { FollowedArea } from "./area.js";
import { Bikes, isRental, rentalOf, systemsAmong } from "./bikes.js";
import { Filters } from "./filters.js";
import { canDraw, loadGround, makeMap } from "./ground.js";
import { countWords, nameColumns, showList } from "./list.js";
import { unproject } from "./motion.js";
import { VehicleTypes, freeCard, stationCard } from "./rental.js";
import { Routes } from "./routes.js";
import { setUpSearch } from "./search.js";
import { makeStyle, networkOfSource, stopLayerIds } from "./style.js";
import { Vehicles } from "./vehicles.js";
import { formatRef, formatView, modeOf, parseView } from "./view.js";
import "./rental.css";

/** Channels kept free of cells, for what is selected. */
const CHANNELS_DETAIL = 8;
/** How often the list, the count and the open card are looked at again, in milliseconds. */
const TICK_MS = 1_000;
/** Where the panel stands beside the map and not over it, as in the style sheet. */
const WIDE = "(min-width: 46.01rem)";
/** How near the map goes to something picked from the search. */
const PICKED_ZOOM = 15;

/**
 * @typedef {{id: string, name: string, timezone: string, routes: string|null, stops: string|null, feeds: string[], behind: number, bounds: [number, number, number, number]|null}} Network
 * @type {{now: number, base_map: string|null, style: string|null, pmtiles: string|null, networks: Network[], raw: {url: string, name: string}[], bounds: [number, number, number, number]|null}}
 */
const page = island("map-data");
const clock = new DataClock(page.now);
const view = parseView(location.search);
const routes = new Routes(page.networks);
const { systems, others } = systemsAmong(page.raw);
const bikes = new Bikes();
const types = new VehicleTypes(() => tick());
const dark = matchMedia("(prefers-color-scheme: dark)");
const networkOf = (/** @type {string} */ feed) => page.networks.find(({ id, feeds }) => id === feed || feeds.includes(feed));

/** The time of a feed's data, in seconds; a recording lies behind the server's. @param {string} feed */
const nowOf = (feed) => clock.wall() / 1000 - (networkOf(feed)?.behind ?? 0);

/** @type {import("maplibre-gl").Map|null} */
let map = null;
/** @type {Vehicles|null} */
let vehicles = null;
/** @type {import("maplibre-gl").StyleSpecification|null} */
let ground = null;

// ---- what is selected ---------------------------------------------------------------------------

/**
 * @typedef {{network: string, calls: import("./calls.js").Call[], headsign: string|null, shape: [number, number][], color: string|null}} Trip
 * @type {{trip: Trip|null, tripId: string|null, rental: import("./bikes.js").Rental|null, stop: {feed: string, id: string, name: string, platform: string|null, latitude: number, longitude: number}|null}}
 */
const selected = { trip: null, tripId: null, rental: null, stop: null };
/** @type {HTMLElement|null} where the keyboard was before a card opened */
let cameFrom = null;

const selectedVehicle = () => (view.vehicle ? (vehicles?.all.get(keyOf({ ...view.vehicle, kind: "vehicle" })) ?? null) : null);

const isSelected = () => Boolean(view.vehicle || view.stop || view.station);

/** The station or free vehicle that is selected, also where no cell holds it; it stays when it is gone. */
function selectedRental() {
  const ref = view.station ? { ...view.station, kind: "station" } : view.vehicle ? { ...view.vehicle, kind: "vehicle" } : null;
  if (!ref) return null;
  const held = events.store.find(ref);
  const known = held && isRental(held) ? rentalOf(held) : bikes.all.get(keyOf(ref));
  return (selected.rental = known ?? selected.rental);
}

/** @param {import("./view.js").Ref|null} vehicle @param {import("./view.js").Ref|null} stop @param {import("./view.js").Ref|null} [station] */
function select(vehicle, stop, station = null) {
  if (!isSelected()) cameFrom = /** @type {HTMLElement|null} */ (document.activeElement);
  Object.assign(view, { vehicle, stop, station });
  Object.assign(selected, { trip: null, tripId: null, rental: null, stop: null });
  vehicles?.select(vehicle ? keyOf({ ...vehicle, kind: "vehicle" }) : null);
  if (stop) loadStop(stop);
  detailIsNew = true;
  follow();
  showDetail();
  restyle();
  writeAddress();
}

let detailIsNew = false;

function closeDetail() {
  select(null, null);
  (cameFrom?.isConnected ? cameFrom : map?.getCanvas())?.focus({ preventScroll: true });
}

/** @param {import("./view.js").Ref} stop */
async function loadStop({ feed, id }) {
  const reply = await fetch(`/map/stop?${new URLSearchParams({ feed, stop_id: id })}`);
  if (!reply.ok || view.stop?.id !== id) return;
  selected.stop = await reply.json();
  showDetail();
  restyle();
}

/** The timetable of the selected vehicle's trip, once per trip. */
async function loadTrip() {
  const vehicle = selectedVehicle();
  const trip = vehicle?.record.trip;
  if (!vehicle || !trip?.trip_id || selected.tripId === trip.trip_id) return;
  selected.tripId = trip.trip_id;
  selected.trip = null;
  follow();
  const network = networkOf(vehicle.feed)?.id ?? vehicle.feed;
  const query = { feed: network, trip_id: trip.trip_id, start_date: trip.start_date ?? "", start_time: trip.start_time ?? "" };
  const reply = await fetch(`/map/trip?${new URLSearchParams(query)}`);
  if (!reply.ok || selected.tripId !== trip.trip_id) return;
  selected.trip = { ...(await reply.json()), network, color: vehicle.color };
  showDetail();
  restyle();
}

function showDetail() {
  const card = byId("detail");
  const vehicle = selectedVehicle();
  const rental = selectedRental();
  const around = {
    timezone: networkOf(view.stop?.feed ?? view.vehicle?.feed ?? "")?.timezone ?? "UTC",
    now: () => nowOf(view.stop?.feed ?? view.vehicle?.feed ?? ""),
    close: closeDetail,
    pickStop: (/** @type {string} */ feed, /** @type {string} */ id) => select(null, { feed, id }),
  };
  /** @type {Node[]} */
  let content = [];
  if (view.stop && selected.stop) content = stopCard(selected.stop, heldDepartures(), around);
  else if (vehicle) content = vehicleCard(vehicle, selected.trip, heldUpdate(), around);
  else if (rental?.kind === "station") content = stationCard(rental, types.of(rental.feed), around);
  else if (rental) content = freeCard(rental, bikes.all.has(rental.key), types.of(rental.feed), around);
  replaceContent(card, content);
  card.hidden = content.length === 0;
  document.body.classList.toggle("has-detail", content.length > 0);
  if (content.length > 0 && detailIsNew) {
    detailIsNew = false;
    byId("detail-title").focus({ preventScroll: true });
  }
}

/** @returns {{id: string, record: any}[]|null} */
function heldDepartures() {
  const holding = stopChannel() ? events.store.holdings.get(/** @type {string} */ (stopChannel())) : null;
  return holding?.whole ? [...holding.records.values()].filter(({ kind }) => kind === "departure") : null;
}

function heldUpdate() {
  const held = events.store.list("trip_update").filter(({ record }) => record.trip?.trip_id === selected.tripId);
  const startDate = selectedVehicle()?.record.trip?.start_date;
  return (held.find(({ record }) => record.trip.start_date === startDate) ?? held[0])?.record ?? null;
}

const stopChannel = () => (view.stop ? `stop/${view.stop.feed}/${encodeSegment(view.stop.id)}` : null);

// ---- what is followed ---------------------------------------------------------------------------

const events = new Events({
  onStatus: connectionSign("live"),
  onChange(applied, message) {
    clock.observe(message.data.at);
    if (!applied.shown) return;
    if (applied.upserts.some(({ kind }) => kind === "feed")) showFeedStates();
    vehicles?.apply(applied, events.store);
    bikes.apply(applied, events.store);
    drawRentals();
    const concerns = [...applied.upserts, ...applied.removes].some(({ kind, id }) => (kind === "vehicle" ? id === view.vehicle?.id : kind === "station" ? id === view.station?.id : kind === "departure" || kind === "trip_update"));
    if (concerns) {
      goToNamed();
      loadTrip();
      showDetail();
    }
  },
});

/** Says which feeds are not as they should be: what stands still on the map may not stand still. */
function showFeedStates() {
  const troubled = events.store.list("feed").filter(({ record }) => TROUBLE.includes(record.state));
  byId("feed-states").replaceChildren(
    ...troubled.map(({ feed, record }) => {
      const template = document.getElementById(`state-${record.state}`);
      const sign = element("span.state", { "data-state": record.state });
      if (template instanceof HTMLTemplateElement) sign.append(template.content.cloneNode(true));
      return element("li", {}, sign, " ", element("a", { href: `/feeds/${feed}` }, feed), ` ${record.reason}`);
    }),
  );
  byId("feed-states").hidden = troubled.length === 0;
}

const area = new FollowedArea(CHANNELS_MAX - CHANNELS_DETAIL);

/** Subscribes to what the view and the selection need. */
function follow() {
  const channels = [...viewChannels(), ...detailChannels()];
  const dropped = events.follow(channels.slice(0, CHANNELS_MAX));
  vehicles?.drop(dropped, events.store);
  bikes.drop(dropped, events.store);
}

function viewChannels() {
  const bounds = map?.getBounds();
  const cells = bounds ? area.cells({ west: bounds.getWest(), south: bounds.getSouth(), east: bounds.getEast(), north: bounds.getNorth() }) : [];
  // A view of half a country has too many cells: then whole feeds, as many as may be named.
  return cells.length > 0 ? cells.map((cell) => `area/${cell}`) : realtimeFeeds().map((feed) => `feed/${feed}`).slice(0, map ? area.most : undefined);
}

const realtimeFeeds = () => [...page.networks.flatMap(({ id, feeds }) => feeds.filter((feed) => feed !== id || feeds.length === 1)), ...systems];

function detailChannels() {
  const channels = [];
  if (view.vehicle) channels.push(`vehicle/${view.vehicle.feed}/${encodeSegment(view.vehicle.id)}`);
  if (view.station) channels.push(`station/${view.station.feed}/${encodeSegment(view.station.id)}`);
  const stop = stopChannel();
  if (stop) channels.push(stop);
  if (view.vehicle && selected.tripId) {
    const feeds = networkOf(view.vehicle.feed)?.feeds.filter((feed) => feed !== view.vehicle?.feed) ?? [];
    channels.push(...tripChannels(feeds.slice(0, CHANNELS_DETAIL - 2), selected.tripId));
  }
  return channels;
}

// ---- filters ------------------------------------------------------------------------------------

/** @param {import("./vehicles.js").Vehicle} vehicle */
const isShown = (vehicle) => vehicle.key === vehicles?.selected || filters.passes(vehicle);

const filters = new Filters(view, routes, (feed) => networkOf(feed)?.id, systems.length > 0, () => {
  restyle();
  vehicles?.refresh();
  tick();
  writeAddress();
});

// ---- the map ------------------------------------------------------------------------------------

function selection() {
  /** @type {any[]} */
  const features = [];
  if (selected.trip) {
    const color = selected.trip.color ? `#${selected.trip.color}` : null;
    if (selected.trip.shape.length > 1) features.push({ type: "Feature", properties: color ? { color } : {}, geometry: { type: "LineString", coordinates: selected.trip.shape } });
  }
  if (selected.stop && Number.isFinite(selected.stop.longitude)) {
    features.push({ type: "Feature", properties: { role: "stop" }, geometry: { type: "Point", coordinates: [selected.stop.longitude, selected.stop.latitude] } });
  }
  const rental = selectedRental();
  if (rental) features.push({ type: "Feature", properties: { role: "stop" }, geometry: { type: "Point", coordinates: rental.place } });
  return { type: /** @type {"FeatureCollection"} */ ("FeatureCollection"), features };
}

function style() {
  const types = new Set([...routes.all.values()].filter(({ type }) => view.modes.has(modeOf(type))).map(({ type }) => String(type)));
  const routeTypes = view.modes.size > 0 ? [...types, "none"] : [];
  return makeStyle({ dark: dark.matches, ground, baseMap: page.base_map, networks: page.networks, raw: others, rentals: systems.length > 0 ? rentalFeatures() : null, routeTypes, routes: view.routes.map(formatRef), selected: selection() });
}

function restyle() {
  map?.setStyle(style(), { diff: true });
}

const rentalFeatures = () => bikes.features(filters.showsBikes, selectedRental()?.key ?? null);
const drawRentals = () => bikes.drawSoon(map, rentalFeatures);

function startView() {
  if (view.at) return { center: /** @type {[number, number]} */ ([view.at.longitude, view.at.latitude]), zoom: view.at.zoom };
  const besidePanel = matchMedia(WIDE).matches ? { top: 30, bottom: 30, left: 200, right: 30 } : { top: 170, bottom: 30, left: 20, right: 20 };
  if (page.bounds) return { bounds: page.bounds, fitBoundsOptions: { padding: besidePanel, maxZoom: 13 } };
  return { center: /** @type {[number, number]} */ ([10, 50]), zoom: 3 };
}

async function startMap() {
  ground = await loadGround(page, dark.matches).catch((error) => {
    announce(`The map's ground cannot be loaded: ${error.message}`);
    return null;
  });
  map = makeMap(byId("map"), style(), startView());
  map.getCanvas().setAttribute("aria-label", "Map. Arrow keys move it, plus and minus zoom. The list shows the same as a table.");
  vehicles = new Vehicles(map, { linesOf: (feed, id) => routes.linesOf(feed, id), isShown, nowOf });
  if (view.vehicle) vehicles.select(keyOf({ ...view.vehicle, kind: "vehicle" }));
  map.on("moveend", () => {
    const { lng: longitude, lat: latitude } = /** @type {import("maplibre-gl").Map} */ (map).getCenter();
    view.at = { longitude, latitude, zoom: /** @type {import("maplibre-gl").Map} */ (map).getZoom() };
    follow();
    tick();
    writeAddress();
  });
  map.on("click", (event) => clicked(event.point));
  map.on("mousemove", (event) => {
    const canvas = /** @type {import("maplibre-gl").Map} */ (map).getCanvas();
    canvas.style.cursor = vehicles?.pick(event.point) || rentalAt(event.point, 0) || stopAt(event.point) || rentalAt(event.point, 6) ? "pointer" : "";
  });
  dark.addEventListener("change", async () => {
    if (page.pmtiles) ground = await loadGround(page, dark.matches).catch(() => null);
    restyle();
  });
}

/** @param {import("maplibre-gl").PointLike & {x: number, y: number}} point */
function stopAt(point) {
  if (!map?.isStyleLoaded()) return null;
  const layers = stopLayerIds(page.networks).filter((id) => map?.getLayer(id));
  const [feature] = map.queryRenderedFeatures([[point.x - 6, point.y - 6], [point.x + 6, point.y + 6]], { layers });
  return feature ? { feed: networkOfSource(feature.source), id: String(feature.properties.stop_id) } : null;
}

/** @param {{x: number, y: number}} point @param {number} near */
const rentalAt = (point, near) => (map ? bikes.pick(map, point, near) : null);

/** @param {{x: number, y: number}} point */
function clicked(point) {
  const vehicle = vehicles?.pick(point);
  const covering = vehicle ? null : rentalAt(point, 0);
  const stop = vehicle || covering ? null : stopAt(/** @type {any} */ (point));
  const rental = vehicle || stop ? null : (covering ?? rentalAt(point, 6));
  if (!vehicle && !stop && !rental && !isSelected()) return;
  if (rental) selectRental(rental);
  else select(vehicle ? { feed: vehicle.feed, id: vehicle.id } : null, stop);
  if (vehicle) loadTrip();
}

/** @param {import("./bikes.js").Rental} rental */
function selectRental({ kind, feed, id }) {
  if (kind === "station") select(null, null, { feed, id });
  else select({ feed, id }, null);
}

/** @param {[number, number]} center @param {number} [zoom] */
function moveTo(center, zoom = PICKED_ZOOM) {
  if (!map) return;
  const isWide = matchMedia(WIDE).matches;
  const target = { center, zoom: Math.max(map.getZoom(), zoom), padding: isWide ? { left: 380, top: 0, right: 0, bottom: 0 } : { top: 120, bottom: 280, left: 0, right: 0 } };
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (still) map.jumpTo(target);
  else map.flyTo({ ...target, speed: 2.2 });
}

/** Whether the address named a vehicle or station and no place: then the map goes to it when it is known. */
let goesToNamed = (view.vehicle ?? view.station) !== null && view.at === null;

function goToNamed() {
  const vehicle = selectedVehicle();
  const place = vehicle && vehicles?.whereIs(vehicle.key);
  const coordinates = place ? unproject(place) : selectedRental()?.place;
  if (!goesToNamed || !coordinates) return;
  goesToNamed = false;
  moveTo(coordinates, 14);
  restyle();
}

// ---- search, list, address ----------------------------------------------------------------------

/** @param {string} question */
function findStopsHere(question) {
  const center = map?.getCenter();
  return findStops(question, center ? { latitude: center.lat, longitude: center.lng } : null, page.networks.length > 1);
}

/** @param {import("./search.js").FoundStop} stop */
function pickStop(stop) {
  select(null, { feed: stop.feed, id: stop.id });
  if (Number.isFinite(stop.longitude)) moveTo([stop.longitude, stop.latitude]);
}

/** @param {import("./routes.js").Route} route */
function pickRoute(route) {
  filters.toggleRoute(route);
  const bounds = boundsOfRoute(route);
  if (map && bounds) map.fitBounds(bounds, { padding: 60, animate: !matchMedia("(prefers-reduced-motion: reduce)").matches });
}

/** @param {string} text */
function announce(text) {
  byId("announcement").textContent = text;
}

function locate() {
  navigator.geolocation.getCurrentPosition(
    ({ coords }) => {
      moveTo([coords.longitude, coords.latitude]);
      /** @type {HTMLInputElement} */ (byId("search")).focus();
    },
    () => announce("Your place is not known: the browser did not tell it."),
    { timeout: 10_000, maximumAge: 60_000 },
  );
}

/** @param {boolean} list */
function showListView(list) {
  view.list = list;
  byId("list").classList.toggle("is-shown", list);
  byId("show-list").setAttribute("aria-pressed", String(list));
  byId("show-list-words").textContent = list ? "Map" : "List";
  tick();
  writeAddress();
}

function shownVehicles() {
  if (map && vehicles) return vehicles.inView();
  return events.store.list("vehicle").filter((held) => !isRental(held)).map(({ feed, id, record }) => withoutMap(feed, id, record)).filter(isShown);
}

/** A vehicle where no map is. @param {string} feed @param {string} id @param {any} record @returns {any} */
function withoutMap(feed, id, record) {
  const join = record.lineside ?? {};
  const routeId = join.route_id ?? record.trip?.route_id ?? "";
  return { key: keyOf({ feed, kind: "vehicle", id }), feed, id, record, mode: modeOf(join.route_type), label: String(join.route_short_name || routeId), color: join.route_color ?? null };
}

let ticks = 0;

function tick() {
  const shown = shownVehicles();
  bikes.sweep(selectedRental()?.key);
  drawRentals();
  const rentals = filters.showsBikes ? bikes.inView(map?.getBounds() ?? null) : [];
  const words = countWords(shown, rentals, page.networks.length > 0);
  if (byId("count").textContent !== words) byId("count").textContent = words;
  if (view.list || !map) {
    const body = /** @type {HTMLElement} */ (document.querySelector("#list tbody"));
    if (ticks % 2 === 0) showList(body, shown, rentals, { nowOf, typesOf: (feed) => types.of(feed), pick: selectFromList });
  }
  if (isSelected()) showDetail();
  if (view.vehicle) loadTrip();
}

/** @param {string} key */
function selectFromList(key) {
  const [feed, , id] = key.split("\n");
  const rental = bikes.all.get(key);
  if (rental) selectRental(rental);
  else select({ feed, id }, null);
  const place = vehicles?.whereIs(key);
  if (place || rental) moveTo(place ? unproject(place) : /** @type {any} */ (rental).place);
  if (map) showListView(false);
  loadTrip();
}

let writing = 0;

/** The address follows what is shown, a moment later: browsers count how often it changes. */
function writeAddress() {
  clearTimeout(writing);
  writing = /** @type {any} */ (setTimeout(() => history.replaceState(null, "", `${location.pathname}${formatView(view)}`), 200));
}

async function start() {
  filters.show();
  setUpSearch({ input: /** @type {HTMLInputElement} */ (byId("search")), results: byId("results"), findStops: findStopsHere, findRoutes: (question) => findRoutes(routes, question), pickStop, pickRoute });
  byId("show-list").addEventListener("click", () => showListView(!view.list));
  byId("locate").addEventListener("click", locate);
  byId("locate").hidden = !("geolocation" in navigator) || !isSecureContext;
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key === "Escape" && !isTyping && isSelected()) closeDetail();
    else if (event.key === "/" && !isTyping) {
      event.preventDefault();
      byId("search").focus();
    }
  });
  if (canDraw()) await startMap();
  else {
    document.body.classList.add("no-map");
    byId("no-webgl").hidden = false;
    byId("show-list").hidden = true;
  }
  if (view.list) showListView(true);
  if (view.stop) loadStop(view.stop);
  if (view.vehicle || view.station) detailIsNew = true;
  if (systems.length > 0) nameColumns(byId("list"));
  follow();
  setInterval(() => {
    ticks += 1;
    if (!document.hidden) tick();
  }, TICK_MS);
  await routes.load(() => {
    filters.show();
    restyle();
  });
}

start();
