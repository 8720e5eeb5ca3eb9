import assert from "node:assert/strict";
import { test } from "node:test";
import { landFeature, simplify, unwrapRing } from "../../ground/land.js";
import { bubbleBox, bubbleName, clusterRegions, collide, labelBox } from "../../map/clusters.js";
import { detailWords, distanceWords, shownLines } from "../../map/find.js";
import { countInView, findTwins } from "../../map/list.js";
import { groupByNetwork } from "../../map/list_groups.js";
import { emptyList, titleOf } from "../../map/list_view.js";
import { project } from "../../map/motion.js";
import { NAMES_ZOOM_MAX, linesOfName } from "../../map/place_names.js";
import { REGION_ZOOM_MAX, boundsOfMost, chooseRegion, contains, currentRegion, filterRegion, metersBetween, nearestRegion, recountByType, regionAt, regionCountWords, regionsInView, regionsOutside, sumCounts, summaryWords, union } from "../../map/regions.js";
import { makeStyle } from "../../map/style.js";
import { STANDSTILL, advice, liveState, liveWords, positionWords, troubleIn } from "../../map/trouble.js";
import { formatView, hasSameSelection, parseView } from "../../map/view.js";

/** @param {string} id @param {[number, number, number, number]} bounds @param {number} vehicles */
const region = (id, bounds, vehicles) => ({ id, name: id, feeds: [id, `${id}-vehicles`, `${id}-alerts`], live: [`${id}-trips`, `${id}-vehicles`], bounds, frame: bounds, ended: null, vehicles, rentals: 0, only_bikes: true, stations: 0, unplaced: 0, old: 0, idle: 0, route_types: [], by_type: {}, only_rentals: false, recording: false });
const oslo = region("oslo", [10.6, 59.8, 10.9, 60], 50);
const lisbon = region("lisbon", [-9.3, 38.6, -9, 38.9], 20);
const almada = region("almada", [-9.25, 38.6, -9.1, 38.7], 5);
const all = [oslo, lisbon, almada];

test("the map opens at the named network, else the last visited, else the nearest, else the first", () => {
  const place = { longitude: -9.1, latitude: 39 };
  assert.equal(chooseRegion(all, {})?.id, "oslo");
  assert.equal(chooseRegion(all, { place })?.id, "lisbon");
  assert.equal(chooseRegion(all, { lastVisited: "almada", place })?.id, "almada");
  assert.equal(chooseRegion(all, { named: "oslo", lastVisited: "almada", place })?.id, "oslo");
  assert.equal(chooseRegion(all, { named: "gone", lastVisited: "gone too" })?.id, "oslo");
  assert.equal(chooseRegion([], {}), null);
});

test("the smallest network around a place counts as visited", () => {
  assert.equal(regionAt(all, { longitude: -9.2, latitude: 38.65 })?.id, "almada");
  assert.equal(regionAt(all, { longitude: -9.2, latitude: 38.8 })?.id, "lisbon");
  assert.equal(regionAt(all, { longitude: 0, latitude: 0 }), null);
});

test("a chosen network stays current while the map shows it", () => {
  assert.equal(currentRegion(all, [-9.22, 38.64, -9.18, 38.66], null)?.id, "almada");
  assert.equal(currentRegion(all, [-9.22, 38.64, -9.18, 38.66], "lisbon")?.id, "lisbon");
  assert.equal(currentRegion(all, [-9.22, 38.64, -9.18, 38.66], "oslo")?.id, "almada");
  assert.equal(currentRegion(all, [-9.1, 38.5, -8.9, 38.59], "lisbon"), null, "the network is not in the middle");
});

test("a network across the date line is found from both sides", () => {
  const fiji = region("fiji", [177, -19, 182, -16], 1);
  for (const longitude of [178, -179]) assert.equal(regionAt([fiji], { longitude, latitude: -17 })?.id, "fiji");
  const samoa = region("samoa", [-173, -15, -171, -13], 9);
  assert.equal(chooseRegion([samoa, fiji], { place: { longitude: -178.5, latitude: -17 } })?.id, "fiji");
});

test("distances are great-circle distances", () => {
  const away = metersBetween({ longitude: 10.75, latitude: 59.91 }, { longitude: -9.14, latitude: 38.72 });
  assert.ok(Math.abs(away - 2_738_000) < 10_000, String(away));
});

test("networks that overlap the view are in view, also across the date line", () => {
  const fiji = region("fiji", [-180, -19, -178, -16], 1);
  assert.deepEqual(regionsInView([...all, fiji], [-10, 38, -8, 39]).map(({ id }) => id), ["lisbon", "almada"]);
  assert.deepEqual(regionsInView([...all, fiji], [177, -20, 183, -15]).map(({ id }) => id), ["fiji"]);
  assert.equal(regionsInView(all, null).length, 3);
});

test("all networks are shown at once, or as many as fit, also across the date line", () => {
  const [cairns, fiji, peru] = [region("cairns", [145, -17, 146, -16], 0), region("fiji", [177, -19, 182, -16], 0), region("peru", [-78, -13, -76, -11], 0)];
  assert.deepEqual(boundsOfMost([oslo, lisbon], 300), union([oslo.frame, lisbon.frame]));
  assert.deepEqual(boundsOfMost([oslo, cairns, peru, lisbon], 100), union([peru.frame, oslo.frame, lisbon.frame]));
  assert.deepEqual(boundsOfMost([cairns, fiji], 60), [145, -19, 182, -16]);
  assert.deepEqual(boundsOfMost([peru, cairns, fiji], 160), [145, -19, 284, -11]);
  assert.deepEqual(boundsOfMost([fiji], 1), fiji.frame, "the network is wider than the map");
});

test("networks too small to draw are bubbles, and near ones share a bubble", () => {
  assert.deepEqual(clusterRegions(all, 3).map(({ regions }) => regions.map(({ id }) => id)), [["oslo"], ["lisbon", "almada"]]);
  const [, cluster] = clusterRegions(all, 3);
  assert.deepEqual(cluster.bounds, union([lisbon.bounds, almada.bounds]));
  assert.deepEqual(clusterRegions(all, 12), [], "at this zoom each network is drawn");
});

test("bubbles and their labels never overlap at any zoom", () => {
  // Spread over the whole earth, including both sides of the date line.
  const many = Array.from({ length: 300 }, (_, at) => {
    const [longitude, latitude] = [((at * 137.5) % 360) - 180, ((at * 61.8) % 130) - 60];
    return region(`network ${at}`, [longitude, latitude, longitude + 0.02, latitude + 0.02], at);
  });
  for (let zoom = 0; zoom < 9; zoom += 0.5) {
    const world = 512 * 2 ** zoom;
    const clusters = clusterRegions(many, zoom);
    assert.equal(clusters.flatMap(({ regions }) => regions).length, many.length, `each network is in a bubble at zoom ${zoom}`);
    const boxes = clusters.map(({ center: [longitude, latitude], regions, hasFigure, label }) => {
      const { x, y } = project(longitude, latitude);
      const bubble = bubbleBox({ x: x * world, y: y * world, regions }, hasFigure);
      return { bubble, label: label === "none" ? null : labelBox(bubble, regions, label) };
    });
    for (const [at, a] of boxes.entries()) {
      for (const b of boxes.slice(at + 1)) {
        const aside = Math.abs(a.bubble.x - b.bubble.x) % world;
        assert.ok(Math.hypot(Math.min(aside, world - aside), a.bubble.y - b.bubble.y) >= 24, `zoom ${zoom}: a bubble can be hit apart from ${JSON.stringify([a, b])}`);
        for (const [one, other] of [[a.label, b.label], [a.label, b.bubble], [a.bubble, b.label]]) {
          // The places are converted to degrees and back.
          const shrunk = one && { ...one, aside: one.aside - 0.01, up: one.up - 0.01 };
          assert.ok(!shrunk || !other || !collide(shrunk, other, world), `zoom ${zoom}: ${JSON.stringify([one, other])}`);
        }
      }
    }
  }
});

test("a label names up to three networks, and a bubble whose label has no room joins its neighbour", () => {
  const [bart, caltrain, samtrans] = [region("BART", [-122.55, 37.4, -121.75, 38.05], 0), region("Caltrain", [-122.4, 37, -121.57, 37.78], 0), region("SamTrans", [-122.5, 37.37, -122.13, 37.78], 0)];
  for (let zoom = 1; zoom < 9; zoom += 0.25) {
    assert.ok(clusterRegions([bart, caltrain, samtrans], zoom).every(({ label }) => label !== "none"), `each bubble has a label at zoom ${zoom}`);
  }
  assert.equal(bubbleName(clusterRegions([bart, caltrain, samtrans], 3)[0].regions), "BART, Caltrain, SamTrans");
  assert.equal(bubbleName([region("Sound Transit", oslo.bounds, 0), region("Island Transit", oslo.bounds, 0), bart]), "3 networks");
  const drawn = clusterRegions([caltrain, oslo], 6.3);
  assert.deepEqual(drawn.map(({ regions, isDrawn }) => [regions[0].id, isDrawn]), [["Caltrain", true], ["oslo", false]]);
});

test("a bubble counts in the words of the panel", () => {
  const caltrain = { ...region("caltrain", oslo.bounds, 0), old: 14 };
  const subway = { ...region("subway", oslo.bounds, 0), unplaced: 64 };
  assert.equal(summaryWords(sumCounts([caltrain, { ...subway, old: 36 }])), countInView(Array.from({ length: 50 }, () => ({ feed: "old" })), [], { hasNetworks: true, isOld: () => true }));
  assert.equal(countInView([], [], { hasNetworks: true, hasLive: false }), "No live data");
  assert.equal(summaryWords(subway), countInView([], [], { hasNetworks: true, unplaced: 64 }));
  assert.equal(summaryWords(sumCounts([oslo, caltrain])), "50 vehicles, 14 vehicles with old positions");
});

test("all networks are in view if the view contains their frames, also across the date line", () => {
  assert.deepEqual([contains([0, 0, 20, 70], oslo.frame), contains([10.7, 0, 20, 70], oslo.frame), contains([170, -20, 190, -10], [-179, -18, -178, -16])], [true, false, true]);
});

test("networks share a bubble by the distance of their places, not by the size of their labels", () => {
  const [bay, seattle, portland] = [region("San Francisco Bay Area Transit", [-122.5, 37.4, -122, 38], 0), region("Sound Transit of Seattle", [-122.5, 47.2, -122.1, 48], 0), region("Portland", [-122.7, 45.4, -122.5, 45.6], 0)];
  const together = (/** @type {number} */ zoom) => clusterRegions([bay, seattle, portland], zoom).map(({ regions }) => regions.map(({ id }) => id));
  assert.deepEqual(together(1.3), [[bay.id], [seattle.id, portland.id]]);
  assert.deepEqual(together(4), [[bay.id], [seattle.id], [portland.id]]);
  const norway = region("Gjøvikbanen", [10.6, 59.9, 10.8, 60.8], 0);
  const kuopio = region("Kuopio", [27.2, 62.5, 28.3, 63.4], 0);
  const [first, second, ...none] = clusterRegions([norway, kuopio], 1);
  assert.deepEqual([first.regions[0].id, second.regions[0].id, none], ["Gjøvikbanen", "Kuopio", []]);
  assert.notEqual(first.label, second.label, "the labels have no room on the same side");
});

test("a label at the edge of the screen stays on it", () => {
  const [one] = clusterRegions([region("Sound Transit", [10, 50, 10.1, 50.1], 0)], 2, { longitude: 10.05, width: 390 });
  const [edge] = clusterRegions([region("Sound Transit", [10, 50, 10.1, 50.1], 0)], 2, { longitude: 40, width: 390 });
  assert.deepEqual([one.label, one.shift], ["below", 0]);
  assert.ok(edge.label === "right" || edge.shift > 0, JSON.stringify(edge));
});

test("a bubble without room has no figure, and the larger network keeps it", () => {
  const [large, small] = [region("large", [10, 50, 10.1, 50.1], 300), region("small", [24, 50, 24.1, 50.1], 3)];
  const [first, second] = clusterRegions([large, small], 1);
  assert.deepEqual([first.hasFigure, second.hasFigure], [true, false]);
  assert.deepEqual(clusterRegions([large, small], 3).map(({ hasFigure }) => hasFigure), [true, true]);
});

test("the nearest network is near within 100 km", () => {
  const place = (/** @type {number} */ longitude, /** @type {number} */ latitude) => nearestRegion(all, { longitude, latitude });
  assert.deepEqual([place(10.7, 59.9)?.region.id, place(10.7, 59.9)?.isNear], ["oslo", true]);
  assert.deepEqual([place(10.7, 59)?.region.id, place(10.7, 59)?.isNear], ["oslo", true]);
  assert.deepEqual([place(0, 51.5)?.region.id, place(0, 51.5)?.isNear], ["oslo", false]);
  assert.equal(nearestRegion([], { longitude: 0, latitude: 0 }), null);
});

test("networks outside of a view are listed", () => {
  assert.deepEqual(regionsOutside(all, [-20, 30, 5, 50]).map(({ id }) => id), ["oslo"]);
  assert.deepEqual(regionsOutside(all, null), []);
});

test("a network's count has its unit", () => {
  const words = (/** @type {any} */ counts) => regionCountWords({ vehicles: 0, rentals: 0, only_bikes: true, stations: 0, ...counts });
  assert.deepEqual([words({ vehicles: 1 }), words({ vehicles: 304, rentals: 5 }), words({ rentals: 122, stations: 9 }), words({ stations: 9 }), words({})], ["1 vehicle", "304 vehicles", "122 bikes", "9 stations", ""]);
  assert.equal(words({ rentals: 2, only_bikes: false }), "2 to rent");
});

test("distances over ten kilometers have no decimals", () => {
  assert.deepEqual([4, 996, 1_040, 9_949, 9_951, 1_154_040].map(distanceWords), ["0 m", "1000 m", "1.0 km", "9.9 km", "10 km", "1\u202f154 km"]);
});

test("the count mentions vehicles without a position if none is in view", () => {
  const [vehicle, station] = /** @type {any[]} */ ([{ kind: "vehicle" }, { kind: "station" }]);
  const words = (/** @type {any[]} */ vehicles, /** @type {any[]} */ rentals, unplaced = 0) => countInView(vehicles, rentals, { hasNetworks: true, unplaced, onlyBikes: true });
  assert.equal(words([], [], 160), "160 vehicles under way report no position");
  assert.equal(words([], [], 1), "1 vehicle under way reports no position");
  assert.equal(words([], [station], 2), "1 station in view, 2 vehicles under way report no position");
  assert.equal(words([vehicle], [], 160), "1 vehicle in view");
  assert.equal(words([], []), "0 vehicles in view");
  assert.equal(words([vehicle, vehicle], [{ kind: "vehicle" }, station]), "2 vehicles, 1 bike, 1 station in view");
});

test("with a filter for rentals only, the count has no vehicles", () => {
  const words = (/** @type {any[]} */ rentals) => countInView([], rentals, { hasNetworks: true, onlyRentals: true, onlyBikes: true });
  assert.ok(!words([{ kind: "station" }]).includes("0"), words([{ kind: "station" }]));
  assert.notEqual(words([]), countInView([], [], { hasNetworks: true, onlyBikes: true }));
});

test("rows are grouped by network", () => {
  const groups = groupByNetwork(["lisbon", "oslo", "nowhere", "lisbon"], (id) => all.find((each) => each.id === id));
  assert.deepEqual(groups.map(({ region: own, items }) => [own?.id, items.length]), [["lisbon", 2], ["oslo", 1], [undefined, 1]]);
});

test("twins have the same feed, line, destination and next stop", () => {
  const vehicle = (/** @type {string} */ label, /** @type {any} */ lineside, feed = "a") => /** @type {any} */ ({ feed, label, record: { lineside } });
  const vehicles = [vehicle("1", { headsign: "Quay" }), vehicle("1", { headsign: "Quay" }), vehicle("1", { headsign: "Quay", next_stop_name: "Mill" }), vehicle("2", { headsign: "Quay" }), vehicle("1", { headsign: "Quay" }, "b")];
  assert.deepEqual(vehicles.map(findTwins(vehicles)), [true, true, false, false, false]);
});

test("the count lists vehicles of feeds in trouble separately", () => {
  const [live, old] = [{ feed: "live" }, { feed: "old" }];
  const words = (/** @type {any[]} */ vehicles) => countInView(vehicles, [], { hasNetworks: true, unplaced: 9, isOld: (feed) => feed === "old" });
  assert.equal(words([old, old]), "2 vehicles with old positions");
  assert.equal(words([live, old]), "1 vehicle in view, 1 vehicle with an old position");
  const [station, oldStation] = [{ feed: "hire", kind: "station" }, { feed: "old", kind: "station" }];
  assert.equal(countInView([old], [station, oldStation], { hasNetworks: true, isOld: (feed) => feed === "old" }), "1 station in view, 1 vehicle with an old position");
  assert.equal(words([live]), "1 vehicle in view");
});

test("an empty list gives the reason", () => {
  const timetable = { ...region("kuopio", [27, 62, 28, 63], 0), live: [], ended: "2017-06-04" };
  const reason = (/** @type {any[]} */ visible, hasFilter = false) => emptyList(visible, hasFilter).reason;
  assert.equal(reason([]), "no_network");
  assert.equal(reason([timetable], true), "timetable_only", "the filter is not the reason");
  assert.equal(reason([oslo], true), "filtered");
  assert.equal(reason([oslo]), "no_vehicle");
  assert.match(emptyList([timetable], false).words, /kuopio.*4 June 2017/);
});

test("the title of a list without vehicles in view names their network", () => {
  const [unplaced, other] = [{ network: "oslo" }, { network: "lisbon" }];
  const inView = titleOf([{}], [], [], all);
  assert.equal(titleOf([{}], [{}], [unplaced], all), inView);
  assert.notEqual(titleOf([], [{}], [], all), inView, "rentals are not vehicles of lines");
  const ofOslo = titleOf([], [], [unplaced, unplaced], all);
  assert.ok(ofOslo !== inView && ofOslo.includes("oslo"), ofOslo);
  assert.ok(!/oslo|lisbon/.test(titleOf([], [], [unplaced, other], all)) && titleOf([], [], [unplaced, other], all) !== inView);
});

test("a network of one stop is a bubble only below the maximum zoom", () => {
  const tiny = region("tiny", [10.7, 59.9, 10.7, 59.9], 1);
  assert.equal(clusterRegions([tiny], 12.9).length, 1);
  assert.deepEqual(clusterRegions([tiny], REGION_ZOOM_MAX), []);
  assert.deepEqual(clusterRegions([tiny], 18), []);
});

test("notices list only networks in view, each once, with its worst live feed", () => {
  const since = "2026-01-02T07:53:00Z";
  const states = [
    { feed: "oslo", record: { state: "failing", unreliable_since: since } },
    { feed: "oslo-alerts", record: { state: "failing", unreliable_since: since } },
    { feed: "oslo-trips", record: { state: "late", unreliable_since: since } },
    { feed: "oslo-vehicles", record: { state: "failing", unreliable_since: since } },
    { feed: "lisbon-vehicles", record: { state: "stale", unreliable_since: since } },
  ];
  assert.deepEqual(troubleIn(states, [oslo]).map(({ name, feed }) => [name, feed]), [["oslo", "oslo-vehicles"]]);
  assert.deepEqual(troubleIn(states, [almada]), []);
  assert.deepEqual(troubleIn(states.slice(0, 2), [oslo]), [], "a timetable and alerts move no vehicle");
  assert.deepEqual(troubleIn([{ feed: "oslo-trips", record: { state: "stale" } }], [oslo]), [], "the last data are recent");
  assert.ok(STANDSTILL.includes("paused"));
  const now = Date.parse("2026-01-02T08:00:00Z") / 1000;
  assert.match(advice(states[3].record, "UTC", now), /07:53$/);
  assert.match(advice(states[3].record, "UTC", now + 400 * 86_400), /2\sJan\s2026, 07:53$/, "a time on another day has its date");
  assert.doesNotMatch(advice(states[3].record, "UTC", now, null, true), /\d/, "the server's time does not belong to the clock of a recording");
});

test("the status says Live only if something in view is live", () => {
  const timetable = { ...region("kuopio", [27, 62, 28, 63], 0), live: [] };
  const ended = { ...timetable, ended: "2016-12-31" };
  const failing = [{ feed: "oslo-vehicles", record: { state: "failing", unreliable_since: "2026-01-02T07:53:00Z" } }];
  const young = [{ feed: "oslo-vehicles", record: { state: "stale" } }];
  assert.equal(liveWords([], [oslo]), null);
  assert.equal(liveWords([], []), null);
  const words = [liveWords([], [timetable]), liveWords([], [ended]), liveWords(failing, [oslo]), liveWords(failing, [oslo, lisbon]), liveWords(young, [oslo])];
  assert.equal(liveWords([], [oslo, ended]), null, "an ended network next to a live one");
  assert.equal(liveWords(failing, [lisbon]), null, "it is not in view");
  assert.equal(new Set([null, ...words]).size, 6, words.join(" | "));
  const recording = { ...lisbon, recording: true };
  assert.equal(liveWords([], [recording]), "Recording");
  assert.equal(liveWords([], [recording, timetable]), "Recording", "no network in view is live");
  assert.equal(liveWords([], [recording, oslo]), null);
  assert.deepEqual([liveState([], [oslo]), liveState([], [recording]), liveState([], [ended]), liveState([], [timetable]), liveState(failing, [oslo]), liveState(young, [oslo])], ["live", "recording", "ended", "timetable", "missing", "delayed"]);
});

test("late data are described by the age of their positions", () => {
  const late = { state: "late", unreliable_since: "2026-01-02T07:53:00Z" };
  const states = [{ feed: "oslo-vehicles", record: late }];
  assert.equal(advice(late, "UTC", 0, 2_400), "positions are 40 min old");
  assert.equal(liveWords(states, [oslo], () => 2_400), "Positions are 40 min old");
  assert.equal(liveWords(states, [oslo, lisbon], () => 2_400), "Some positions are 40 min old");
  assert.equal(positionWords(60), null, "such a position is not old");
  assert.ok(!positionWords(400 * 86_400)?.includes("400"));
});

test("the filter by mode applies to the counts of a network", () => {
  const both = { ...oslo, stations: 4, route_types: [1, 3], by_type: /** @type {Record<string, [number, number, number]>} */ ({ 1: [0, 67, 0], 3: [5, 2, 4], "": [1, 0, 0] }) };
  const counts = (/** @type {string[]} */ ...modes) => {
    const found = filterRegion(both, new Set(modes));
    return found && [found.vehicles, found.unplaced, found.old, found.stations];
  };
  assert.deepEqual([counts("metro"), counts("bus", "metro"), counts("ferry"), counts("bike")], [[0, 67, 0, 0], [5, 69, 4, 0], null, [0, 0, 0, 4]]);
  assert.equal(filterRegion(both, new Set()), both);
  assert.deepEqual(recountByType({ 1: [9, 67, 3] }, [{ record: { lineside: { route_type: 3 } } }, { record: {} }], [{ record: { lineside: { route_type: 3 } } }]), { 1: [0, 67, 0], 3: [1, 0, 1], "": [1, 0, 0] });
});

test("a rental system is not a network of its own", () => {
  const bikes = { ...region("bikes", [10.6, 59.8, 10.8, 60], 9), only_rentals: true };
  const city = region("city", [10.5, 59.7, 10.9, 60.1], 0);
  assert.equal(regionAt([bikes, city], { longitude: 10.7, latitude: 59.9 })?.id, "city");
  assert.equal(chooseRegion([city, bikes], { place: { longitude: 10.7, latitude: 59.9 } })?.id, "city");
  assert.equal(bubbleName([bikes, city]), "city");
});

test("stops with the same name have distinguishing details", () => {
  assert.equal(detailWords({ code: "12", platform: "B", towards: ["Harbour", "Airport", "Park"] }), "Platform B · towards Harbour, Airport");
  assert.equal(detailWords({ code: "12", platform: null, towards: [] }), "Stop 12");
  assert.equal(detailWords({ code: null, platform: null, towards: [] }), "");
});

test("hidden lines are counted", () => {
  const lines = Array.from({ length: 15 }, (_, at) => ({ name: String(15 - at) }));
  const { shown, more } = shownLines(lines);
  assert.deepEqual([shown.map(({ name }) => name), more], [["1", "2", "3", "4", "5", "6", "7"], 8]);
  assert.deepEqual(shownLines(lines.slice(0, 8)).more, 0, "one hidden line is shown instead of its count");
});

test("the address contains the network until it contains a place", () => {
  const view = parseView("?network=lisbon");
  assert.equal(formatView(view), "?network=lisbon");
  assert.equal(formatView({ ...view, at: { latitude: 38.7, longitude: -9.1, zoom: 12 } }).includes("network"), false);
});

const shown = { dark: false, ground: null, baseMap: null, world: "/assets/land.json", networks: [{ id: "oslo", name: "Oslo", routes: null, stops: "/stops" }], raw: [], routeTypes: [], routes: [], selected: null };
const layer = (/** @type {any} */ style, /** @type {string} */ id) => style.layers.find((/** @type {any} */ each) => each.id === id);

test("stops are filtered by mode", () => {
  assert.ok(!JSON.stringify(layer(makeStyle(shown), "oslo-stops").filter).includes("route_types"));
  const { filter } = layer(makeStyle({ ...shown, routeTypes: ["0", "900", "none"] }), "oslo-stops");
  assert.deepEqual(filter[1], ["any", ["in", 0, ["get", "route_types"]], ["in", 900, ["get", "route_types"]]]);
  assert.deepEqual(layer(makeStyle({ ...shown, routeTypes: ["none"] }), "oslo-stations").filter[1], ["any"], "a mode that nothing runs in shows no stops");
  const ofLines = (/** @type {string[]} */ lines) => layer(makeStyle({ ...shown, routes: lines }), "oslo-stops").filter[1];
  assert.deepEqual(ofLines(["oslo:1", "other:2", "oslo:a:b"]), ["any", ["in", "1", ["get", "route_ids"]], ["in", "a:b", ["get", "route_ids"]]]);
  assert.deepEqual(ofLines(["other:2"]), ["any"], "a line of another network shows no stops");
});

test("platforms have their letters from zoom 16 on", () => {
  const { minzoom, layout } = layer(makeStyle(shown), "oslo-platform-names");
  assert.equal(minzoom, 16);
  assert.deepEqual(layout["text-field"].slice(0, 3), ["coalesce", ["get", "platform_code"], ["get", "stop_code"]]);
});

test("the world map is drawn without another base map", () => {
  const cell = { ...shown, cells: ["1.5"] };
  for (const id of ["world-land", "borders", "countries", "cell-1.5-water", "cell-1.5-towns"]) {
    assert.ok(layer(makeStyle(cell), id), id);
    assert.ok(!layer(makeStyle({ ...cell, baseMap: "/map/base-map.geojson" }), id), id);
    assert.ok(!layer(makeStyle({ ...cell, ground: { version: 8, sources: {}, layers: [] } }), id), id);
  }
});

test("names of places above vehicles are drawn by the map only at larger zooms", () => {
  const opacity = (/** @type {any} */ more, /** @type {string} */ id) => layer(makeStyle({ ...shown, ...more }), id).paint["text-opacity"];
  for (const [more, id] of /** @type {[any, string][]} */ ([[{ cells: ["1.5"] }, "cell-1.5-towns"], [{}, "towns"], [{ baseMap: "/map/base-map.geojson" }, "district-names"]])) {
    assert.equal(opacity(more, id), undefined, "a map without vehicles");
    assert.deepEqual(opacity({ ...more, hasVehicles: true }, id), ["step", ["zoom"], 0, NAMES_ZOOM_MAX, 1]);
  }
  const width = (/** @type {string} */ text) => text.length;
  assert.deepEqual([linesOfName("SAINT OLAVE", width, 8), linesOfName("Old Town", width, 8), linesOfName("Westernesse", width, 8)], [["SAINT", "OLAVE"], ["Old Town"], ["Westernesse"]]);
});

test("pale lines have an outline", () => {
  const ids = makeStyle({ ...shown, networks: [{ ...shown.networks[0], routes: "/routes" }] }).layers.map(({ id }) => id);
  for (const kind of ["bus", "rail"]) assert.ok(ids.indexOf(`oslo-${kind}-casing`) < ids.indexOf(`oslo-${kind}`), ids.join());
  assert.ok(ids.includes("oslo-bus-casing"));
});

test("land is decoded from its arcs, forwards and backwards", () => {
  const topology = {
    transform: { scale: [1, 1], translate: [-10, -10] },
    arcs: [[[10, 10], [10, 0], [0, 10]], [[10, 10], [0, 10], [10, 0]]],
    objects: { land: { type: "GeometryCollection", geometries: [{ type: "MultiPolygon", arcs: [[[0, ~1]]] }] } },
  };
  assert.deepEqual(landFeature(topology).geometry, { type: "MultiPolygon", coordinates: [[[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]] });
});

test("a simplified coast keeps its corners and loses invisible details", () => {
  assert.deepEqual(simplify([[0, 0], [1, 0.001], [2, 0], [2, 2]]), [[0, 0], [2, 0], [2, 2]]);
});

test("land across the date line stays in one piece, and land around a pole reaches it", () => {
  assert.deepEqual(unwrapRing([[170, 60], [-170, 60], [-170, 70], [170, 70], [170, 60]]), [[170, 60], [190, 60], [190, 70], [170, 70], [170, 60]]);
  assert.deepEqual(unwrapRing([[-180, 60], [170, 60], [170, 70], [-180, 60]]), [[180, 60], [170, 60], [170, 70], [180, 60]]);
  const around = unwrapRing([[-120, -70], [0, -72], [120, -71], [-120, -70]]);
  assert.deepEqual(around.slice(3), [[240, -70], [240, -89], [-120, -89], [-120, -70]]);
});

test("Back and Forward restore the card and the filters of a view", () => {
  const stop = parseView("?stop=oslo:1&route=oslo:12");
  assert.ok(hasSameSelection(stop, parseView("?stop=oslo:1&at=59,10,12")));
  assert.ok(!hasSameSelection(stop, parseView("?vehicle=oslo:1")));
});
