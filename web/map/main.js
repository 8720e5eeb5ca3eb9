/**
 * The map page. Its content derives from the page's address (view.js), the server's messages
 * (plain/events.js), and the loaded routes of the networks (routes.js). This file connects these
 * modules, which do not know each other.
 */
import { DataClock } from "../plain/clock.js";
import { byId, island } from "../plain/dom.js";
import { CHANNELS_MAX, Events } from "../plain/events.js";
import { keyOf } from "../plain/state.js";
import { liveSign } from "../plain/trouble.js";
import { DETAIL_CHANNELS_MAX, detailChannels, heldDepartures, heldUpdate, missingCard, selectedFeatures, stopCard, vehicleCard } from "./detail.js";
import { boundsOfRoutes } from "./find.js";
import { FollowedArea } from "./area.js";
import { Bikes, isRental, rentalOf, systemsAmong } from "./bikes.js";
import { Camera } from "./camera.js";
import { Card } from "./card.js";
import { Filters } from "./filters.js";
import { Finder } from "./finder.js";
import { CellsInView, WORLD, canDraw, loadGround, makeMap } from "./ground.js";
import { MapHistory } from "./history.js";
import { listenToKeys, trackInputDevice } from "./keys.js";
import { countInView } from "./list.js";
import { ListView } from "./list_view.js";
import { unproject } from "./motion.js";
import { NetworkViews } from "./networks.js";
import { foldPanel, listenToPanel } from "./panel.js";
import { VehicleTypes, freeCard, stationCard } from "./rental.js";
import { PlaceNames } from "./place_names.js";
import { REGION_ZOOM_MAX } from "./regions.js";
import { Routes } from "./routes.js";
import { Selection } from "./selection.js";
import { makeStyle, pickStopOf } from "./style.js";
import { UnplacedVehicles } from "./unplaced.js";
import { Vehicles, vehicleWithoutMap } from "./vehicles.js";
import { formatRef, formatView, hasSameSelection, modeOf, parseView } from "./view.js";
import "./rental.css";

/** Interval at which the list, the count and the open card are updated, in milliseconds. */
const TICK_MS = 1_000;
/** Zoom at which the map shows a stop, and a vehicle. */
const PICKED_ZOOM = 15;
const VEHICLE_ZOOM = 14;
/** Time without a connection after which vehicles turn grey, in milliseconds. */
const LOST_MS = 20_000;

/**
 * @typedef {{id: string, name: string, timezone: string, routes: string|null, stops: string|null, feeds: string[], behind: number, rate: number|null, measuredAt?: number, bounds: [number, number, number, number]|null}} Network
 * @type {{now: number, base_map: string|null, style: string|null, pmtiles: string|null, networks: Network[], raw: {url: string, name: string}[], regions: import("./regions.js").Region[], ignored_routes: string[]}}
 */
const page = island("map-data");
const clock = new DataClock(page.now);
const view = parseView(location.search);
view.routes = view.routes.filter((route) => !page.ignored_routes.includes(formatRef(route)));
const routes = new Routes(page.networks);
const { systems, others } = systemsAmong(page.raw);
const bikes = new Bikes();
const types = new VehicleTypes(() => tick());
const dark = matchMedia("(prefers-color-scheme: dark)");
const networks = new NetworkViews(page.regions, page.networks, systems, () => view.modes);
const cells = new CellsInView();
const networkOf = (/** @type {string} */ feed) => networks.of(feed);

/** Returns the time of a feed's data, in seconds; a recording lies behind the server's time. @param {string} feed */
const nowOf = (feed) => clock.wall() / 1000 - networks.behindOf(feed);

/** @type {import("maplibre-gl").Map|null} */
let map = null;
/** @type {Vehicles|null} */
let vehicles = null;
/** @type {Camera|null} */
let camera = null;
/** @type {import("maplibre-gl").StyleSpecification|null} */
let ground = null;

// ---- selection ----------------------------------------------------------------------------------

const selected = new Selection();
const card = new Card();

const selectedVehicle = () => (view.vehicle ? (vehicles?.all.get(keyOf({ ...view.vehicle, kind: "vehicle" })) ?? null) : null);

const isSelected = () => Boolean(view.vehicle || view.stop || view.station);

/** Returns the selected station or free vehicle. It stays selected after it is gone or its cell was left. */
function selectedRental() {
  const ref = view.station ? { ...view.station, kind: "station" } : view.vehicle ? { ...view.vehicle, kind: "vehicle" } : null;
  if (!ref) return null;
  const held = events.store.find(ref);
  const known = held && isRental(held) ? rentalOf(held) : bikes.all.get(keyOf(ref));
  return (selected.rental = known ?? selected.rental);
}

/** Opens a card, which Back closes. @param {import("./view.js").Ref|null} vehicle @param {import("./view.js").Ref|null} stop @param {import("./view.js").Ref|null} [station] */
function select(vehicle, stop, station = null) {
  if (!isSelected()) card.rememberFocus();
  entries.open(isSelected(), () => show(vehicle, stop, station));
}

/** @param {import("./view.js").Ref|null} vehicle @param {import("./view.js").Ref|null} stop @param {import("./view.js").Ref|null} station */
function show(vehicle, stop, station) {
  camera?.release();
  goesToNamed = false;
  hasArrived = true;
  Object.assign(view, { vehicle, stop, station });
  selected.clear();
  vehicles?.select(vehicle ? keyOf({ ...vehicle, kind: "vehicle" }) : null);
  if (stop) loadStop(stop);
  card.renew();
  follow();
  showDetail();
  restyle();
}

/** @param {import("./view.js").View} past the view of the entry that Back or Forward has reached */
function restore(past) {
  networks.closeMembers();
  if (filters.restore(past)) showFiltered();
  if (map && past.list !== view.list) showListView(past.list);
  const isSame = hasSameSelection(past, view);
  if (!isSame) {
    const wasSelected = isSelected();
    show(past.vehicle, past.stop, past.station);
    goesToNamed = isSelected();
    goToNamed();
    if (wasSelected && !isSelected()) returnFocus();
  }
  if (past.at && (isSame || !isSelected())) camera?.restore(past.at);
}

const entries = new MapHistory(() => formatView(view), restore);
const writeAddress = () => entries.write();

function closeDetail() {
  show(null, null, null);
  entries.close();
  returnFocus();
}

/** Returns the focus to the element that had it before the card opened. */
function returnFocus() {
  const target = card.formerFocus() ?? map?.getCanvas() ?? byId("search");
  if (target === byId("search")) finder.focusQuietly();
  else target.focus({ preventScroll: true });
}

/** @param {import("./view.js").Ref} stop */
async function loadStop(stop) {
  if (!(await selected.loadStop(stop, () => view.stop))) return;
  networks.followRecording(stop.feed).then(showDetail);
  restyle();
  goToNamed();
}

async function loadTrip() {
  const vehicle = selectedVehicle();
  const network = networkOf(vehicle?.feed ?? "")?.id ?? vehicle?.feed ?? "";
  if (!(await selected.loadTrip(vehicle, network, follow))) return;
  showDetail();
  restyle();
}

/** @param {import("./vehicles.js").Vehicle} vehicle */
function routeOf({ feed, record }) {
  const network = networkOf(feed)?.id ?? feed;
  return routes.all.get(`${network}:${record.lineside?.route_id ?? record.trip?.route_id}`) ?? null;
}

function showDetail() {
  const vehicle = selectedVehicle();
  const rental = selectedRental();
  const around = {
    timezone: networkOf(view.stop?.feed ?? view.vehicle?.feed ?? "")?.timezone ?? "UTC",
    now: () => nowOf(view.stop?.feed ?? view.vehicle?.feed ?? ""),
    nameOf: (/** @type {string} */ feed) => networks.regionOf(feed)?.name ?? feed,
    live: isLost() ? /** @type {const} */ ("lost") : networks.liveStateOf(view.stop?.feed ?? "", selected.stop?.times_feeds ?? []),
    isRecording: networks.regionOf(view.stop?.feed)?.recording ?? false,
    isStale: vehicle ? (vehicles?.isStale(vehicle) ?? false) : rental ? networks.isInTrouble(rental.feed) : false,
    close: closeDetail,
    pickStop: (/** @type {string} */ feed, /** @type {string} */ id) => select(null, { feed, id }),
  };
  /** @type {Node[]} */
  let content = [];
  if (view.stop && selected.stop) content = stopCard(selected.stop, heldDepartures(events.store, view.stop), around);
  else if (vehicle) content = vehicleCard(vehicle, selected.trip, heldUpdate(events.store, vehicle.record.trip), routeOf(vehicle), around);
  else if (rental?.kind === "station") content = stationCard(rental, types.of(rental.feed), around);
  else if (rental) content = freeCard(rental, bikes.all.has(rental.key), types.of(rental.feed), around);
  const missing = content.length === 0 && map ? selected.findMissing(view, events.store) : null;
  card.show(missing ? missingCard(missing.kind, missing.id, networks.regionOf(missing.feed), closeDetail) : content);
}

// ---- subscriptions ------------------------------------------------------------------------------

const sign = liveSign("live", () => networks.liveWords(clock.wall() / 1000));
/** Time at which the connection was lost, by the page's clock; 0 while it is open. */
let lostAt = 0;
const isLost = () => lostAt > 0 && performance.now() - lostAt > LOST_MS;

const events = new Events({
  onStatus(status, transport) {
    sign.show(status, transport);
    if (status === "live" || status === "idle") lostAt = 0;
    else lostAt ||= performance.now();
  },
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

/** Shows which feeds are in trouble, and greys vehicles whose positions may be out of date. */
function showFeedStates() {
  networks.showStates(events.store, clock.wall() / 1000);
  sign.update();
  vehicles?.refresh();
  bikes.isDirty = true;
}

const area = new FollowedArea(CHANNELS_MAX - DETAIL_CHANNELS_MAX);

/** Subscribes to the channels that the view and the selection need. */
function follow() {
  const channels = [...viewChannels(), ...detailChannels(view, selected.tripId, networkOf(view.vehicle?.feed ?? "")?.feeds ?? [])];
  const dropped = events.follow(channels.slice(0, CHANNELS_MAX));
  vehicles?.drop(dropped, events.store);
  bikes.drop(dropped, events.store);
}

/** Returns the channels of the cells in view, or of whole feeds in view if there are too many cells. */
function viewChannels() {
  const channels = area.channels(networks.viewBounds());
  return channels.length > 0 ? channels : networks.realtimeFeeds().map((feed) => `feed/${feed}`).slice(0, map ? area.most : undefined);
}

// ---- filters ------------------------------------------------------------------------------------

/** @param {import("./vehicles.js").Vehicle} vehicle */
const isShown = (vehicle) => vehicle.key === vehicles?.selected || filters.passes(vehicle);

function showFiltered() {
  restyle();
  vehicles?.refresh();
  tick();
}

const filters = new Filters(view, routes, (feed) => networkOf(feed)?.id, () => networks.modesInView(), (change) => {
  entries.enter(change);
  showFiltered();
});

// ---- the map ------------------------------------------------------------------------------------

function style() {
  const types = new Set([...routes.all.values()].filter(({ type }) => view.modes.has(modeOf(type))).map(({ type }) => String(type)));
  const routeTypes = view.modes.size > 0 ? [...types, "none"] : [];
  return makeStyle({ hasVehicles: true, dark: dark.matches, ground, baseMap: page.base_map, world: WORLD, cells: cells.names, networks: page.networks.filter(({ id }) => networks.isDrawn(id)), raw: others, rentals: systems.length > 0 ? rentalFeatures() : null, routeTypes, routes: view.routes.map(formatRef), selected: selectedFeatures(selected.trip, selected.stop, selectedRental()) });
}

/** True once the first style is loaded; before, the map cannot compute a difference. */
let isStyled = false;

function restyle() {
  if (isStyled) map?.setStyle(style(), { diff: true });
}

const rentalFeatures = () => bikes.features(filters.showsBikes, selectedRental()?.key ?? null, networks.isInTrouble);
const drawRentals = () => bikes.drawSoon(map, rentalFeatures);

/** Updates everything that depends on the map's view. */
function moved() {
  if (!map) return;
  const { lng: longitude, lat: latitude } = map.getCenter();
  view.at = { longitude, latitude, zoom: map.getZoom() };
  const hasNewGround = cells.update(map);
  if (networks.moved(view.at.zoom) || hasNewGround) restyle();
  showLines();
  follow();
  showFeedStates();
  tick();
}

/** Shows which modes the networks in view have, and which lines cannot be drawn. */
function showLines() {
  filters.show();
  networks.showIdleLines(routes);
}

async function startMap() {
  ground = await loadGround(page, dark.matches).catch((error) => {
    byId("announcement").textContent = `The background map could not be loaded: ${error.message}`;
    return null;
  });
  const start = await networks.startView(view);
  map = makeMap(byId("map"), style(), start);
  camera = new Camera(map, start.bounds, REGION_ZOOM_MAX);
  networks.attach(map, camera);
  map.once("style.load", () => {
    isStyled = true;
    restyle();
  });
  map.getCanvas().setAttribute("aria-label", "Map. Arrow keys move it, plus and minus zoom. The list shows its vehicles as a table.");
  vehicles = new Vehicles(map, { linesOf: (feed, id) => routes.linesOf(feed, id), isShown, nowOf, networks, names: new PlaceNames(map, () => vehicles?.refresh()) });
  if (view.vehicle) vehicles.select(keyOf({ ...view.vehicle, kind: "vehicle" }));
  map.on("moveend", () => {
    moved();
    writeAddress();
  });
  map.on("dragstart", () => finder.close());
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

/** @param {{x: number, y: number}} point */
const stopAt = (point) => (map ? pickStopOf(map, page.networks, point) : null);

/** @param {{x: number, y: number}} point @param {number} near */
const rentalAt = (point, near) => (map ? bikes.pick(map, point, near) : null);

/** @param {{x: number, y: number}} point */
function clicked(point) {
  finder.close();
  const vehicle = vehicles?.pick(point);
  const covering = vehicle ? null : rentalAt(point, 0);
  const stop = vehicle || covering ? null : stopAt(point);
  const rental = vehicle || stop ? null : (covering ?? rentalAt(point, 6));
  if (rental) selectRental(rental);
  else if (vehicle || stop) select(vehicle ? { feed: vehicle.feed, id: vehicle.id } : null, stop);
  else if (isSelected()) closeDetail();
  if (vehicle) loadTrip();
  // The card may cover the clicked place.
  if ((vehicle || stop || rental) && map) camera?.reveal(/** @type {any} */ (map.unproject(/** @type {any} */ (point)).toArray()));
}

/** @param {import("./bikes.js").Rental} rental */
function selectRental({ kind, feed, id }) {
  if (kind === "station") select(null, null, { feed, id });
  else select({ feed, id }, null);
}

/** True until the map has moved to the selection from the address or the history; its place may not be known yet. */
let goesToNamed = isSelected();
/** True if the address contains a view, whose zoom the map keeps. */
const isPlaced = view.at !== null;
/** True once the map shows the selection from the address. A link may come from a screen of another size, so the map centres it. */
let hasArrived = false;

/** @returns {[number, number]|null} the place of the selection */
function selectedPlace() {
  const vehicle = selectedVehicle();
  const place = vehicle && vehicles?.whereIs(vehicle.key);
  if (place) return unproject(place);
  return selected.stop ? selected.stopPlace() : (selectedRental()?.place ?? null);
}

function goToNamed() {
  const place = goesToNamed ? selectedPlace() : null;
  if (!place || !camera) return;
  goesToNamed = false;
  showDetail();
  if (hasArrived) camera.reveal(place);
  else if (isPlaced) camera.center(place);
  else camera.moveTo(place, view.vehicle ? VEHICLE_ZOOM : PICKED_ZOOM);
  hasArrived = true;
  restyle();
}

/** True until the map has moved to the lines in the address, which it does once they are loaded. */
let goesToRoutes = view.routes.length > 0 && !isPlaced && !isSelected();

function goToRoutes() {
  if (!goesToRoutes || !camera) return;
  const bounds = boundsOfRoutes(routes, view.routes);
  if (!bounds) return;
  goesToRoutes = false;
  camera.fit(bounds);
}

// ---- search, list, address ----------------------------------------------------------------------

/** @param {import("./search.js").FoundStop} stop */
function pickStop(stop) {
  select(null, { feed: stop.feed, id: stop.id });
  if (Number.isFinite(stop.longitude)) camera?.moveTo([stop.longitude, stop.latitude], PICKED_ZOOM);
}

/** @param {import("./routes.js").Route} route */
function pickRoute(route) {
  filters.toggleRoute(route);
  if (route.bounds) camera?.fit(route.bounds);
  map?.getCanvas().focus({ preventScroll: true });
}

const finder = new Finder({ shown: () => (map && camera ? { map, camera } : null), networks, routes, pickStop, pickRoute });

const locate = () => finder.locate(() => {
  if (view.list && map) showListView(false);
});

/** @param {boolean} list */
function showListView(list) {
  view.list = list;
  listView.show(list);
  foldPanel(list);
  tick();
  writeAddress();
}

function shownVehicles() {
  if (map && vehicles) return vehicles.inView();
  return events.store.list("vehicle").filter((held) => !isRental(held)).map(({ feed, id, record }) => vehicleWithoutMap(feed, id, record)).filter(isShown);
}

const listView = new ListView();
const unplacedVehicles = new UnplacedVehicles();

function tick() {
  const shown = shownVehicles();
  bikes.sweep(selectedRental()?.key);
  drawRentals();
  const rentals = filters.showsBikes ? bikes.inView(map?.getBounds() ?? null) : [];
  networks.count(events.store, [...(vehicles?.all.values() ?? [])], [...bikes.all.values()]);
  showFeedStates();
  vehicles?.showLost(isLost());
  const words = countInView(shown, rentals, { hasNetworks: page.networks.length > 0, hasLive: networks.hasLive(), onlyRentals: filters.showsOnlyBikes, unplaced: view.routes.length > 0 ? 0 : networks.countUnplaced(), onlyBikes: networks.visible().every((region) => region.only_bikes), isOld: networks.isInTrouble });
  if (byId("count").textContent !== words) byId("count").textContent = words;
  if (view.list || !map) {
    const isStale = (/** @type {import("./vehicles.js").Vehicle} */ vehicle) => vehicles?.isStale(vehicle) ?? networks.isStandstill(vehicle.feed);
    const unplaced = unplacedVehicles.of(networks.visible(), () => listView.refresh()).filter(({ vehicle }) => filters.passes(vehicle));
    listView.update(shown, rentals, unplaced, networks.visible(), filters.isSet, { nowOf, networkOf: (feed) => networkOf(feed)?.id, regionOf: (feed) => networks.regionOf(feed), timezoneOf: (feed) => networkOf(feed)?.timezone ?? "UTC", typesOf: (feed) => types.of(feed), isOld: networks.isInTrouble, isStale, pick: selectFromList });
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
  if (map) showListView(false);
  if (place || rental) camera?.moveTo(place ? unproject(place) : /** @type {any} */ (rental).place, PICKED_ZOOM);
  loadTrip();
}

async function start() {
  filters.show();
  byId("show-list").addEventListener("click", () => showListView(!view.list));
  byId("locate").addEventListener("click", locate);
  networks.listen((jump) => {
    finder.close();
    entries.enter(() => {
      if (isSelected()) show(null, null, null);
      jump();
    });
  });
  listenToKeys(finder, isSelected, closeDetail);
  listenToPanel();
  trackInputDevice();
  if (canDraw()) await startMap();
  else {
    document.body.classList.add("no-map");
    byId("no-webgl").hidden = false;
    byId("show-list").hidden = true;
  }
  if (view.list) showListView(true);
  if (view.stop) loadStop(view.stop);
  if (view.vehicle || view.station) card.renew();
  if (map) moved();
  else follow();
  writeAddress();
  setInterval(() => document.hidden || tick(), TICK_MS);
  const loaded = () => {
    showLines();
    restyle();
    goToRoutes();
  };
  await routes.load(loaded, networks.isDrawn);
}

start();
