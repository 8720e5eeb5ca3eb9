/** The map with networks in two regions. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { LIGHT } from "../../map/ink.js";
import { project } from "../../map/motion.js";
import { startProducer, writeSchedule } from "./city.js";
import { launch, openPage, phone, startServer, until } from "./support.js";

const NORTH = { lat: 59.91, lon: 10.75 };
const SOUTH = { lat: 38.72, lon: -9.14 };
/** @param {{lat: number, lon: number}} origin @param {number} lat @param {number} lon */
const at = ({ lat, lon }, dLat = 0, dLon = 0) => ({ lat: lat + dLat, lon: lon + dLon });

const CENTRAL = at(NORTH);
/** A stop where only buses call. */
const DEPOT = at(NORTH, -0.004, 0.012);
/** Two stops with the same name, on either side of a street. */
const MARKETS = [at(NORTH, 0.03, 0.03), at(NORTH, 0.0302, 0.0303)];

const northStops = [
  { id: "central", name: "Central", ...CENTRAL, kind: 1 },
  { id: "central-a", name: "Central", ...at(CENTRAL, 0.0001), parent: "central", platform: "A" },
  { id: "central-b", name: "Central", ...at(CENTRAL, -0.0001), parent: "central", platform: "B" },
  { id: "depot", name: "Depot", ...DEPOT },
  { id: "market-in", name: "Market", ...MARKETS[0], code: "101" },
  { id: "market-out", name: "Market", ...MARKETS[1], code: "102" },
  { id: "harbour", name: "Harbour", ...at(NORTH, -0.03, -0.03) },
  { id: "airport", name: "Airport", ...at(NORTH, 0.05, 0.05) },
  // Stops without trips. The second one is nearer to the middle than its namesake.
  { id: "quarry", name: "Quarry", ...at(NORTH, -0.03, 0.05) },
  { id: "depot-old", name: "Depot", ...at(NORTH, 0.0005) },
];
const northLines = [
  { id: "t1", short: "1", long: "Harbour – Airport", type: 0, color: "C8102E", stops: ["harbour", "central-a", "market-out", "airport"] },
  { id: "t1-back", short: "1", long: "Airport – Harbour", type: 0, color: "C8102E", stops: ["airport", "market-in", "central-b", "harbour"] },
  { id: "b20", short: "20", long: "Depot Bus", type: 3, color: "0050A0", stops: ["depot", "harbour"] },
];
const southStops = [
  { id: "rossio", name: "Rossio", ...SOUTH },
  { id: "belem", name: "Belém", ...at(SOUTH, -0.02, -0.06) },
];
const southLines = [{ id: "s1", short: "S1", long: "Rossio – Belém", type: 0, stops: ["rossio", "belem"] }];

const northVehicles = [
  { id: "tram-1", route: "t1", ...at(NORTH, 0.002, 0.002) },
  { id: "tram-2", route: "t1", ...at(NORTH, 0.02, 0.02) },
  { id: "bus-1", route: "b20", ...at(NORTH, -0.01, -0.005) },
];

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startProducer>>} */
let producer;
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {string} */
let folder;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  [browser, producer] = await Promise.all([launch(), startProducer()]);
  await writeSchedule(path.join(folder, "north"), "Northtown Transport", northStops, northLines);
  await writeSchedule(path.join(folder, "south"), "Southport Transport", southStops, southLines, { time: inMinutes(20) });
  producer.feeds.set("north", { positions: northVehicles });
  // The position is always ten minutes old.
  producer.feeds.set("south", { age: 600, positions: [{ id: "s-1", route: "s1", ...at(SOUTH, -0.001, -0.003) }] });
  server = await startServer(folder, config());
  await until(async () => (await vehiclesOf("north")) === 3 && (await vehiclesOf("south")) === 1, "the vehicles of both networks");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  producer?.stop();
  await rm(folder, { recursive: true });
});

/** Returns the time of day some minutes from now, in seconds since midnight UTC; it may exceed 24 hours. @param {number} minutes */
function inMinutes(minutes) {
  const now = new Date();
  return (now.getUTCHours() * 60 + now.getUTCMinutes() + minutes) * 60;
}

const config = () => `
[[feed]]
id = "north"
name = "Northtown: timetable"
url = "north"
format = "gtfs"
[[feed]]
id = "north-vehicles"
name = "Northtown: vehicles"
url = "${producer.origin}/north.pb"
format = "gtfs-rt"
static = "north"
poll = "1s"
[[feed]]
id = "south"
url = "south"
format = "gtfs"
[[feed]]
id = "south-vehicles"
url = "${producer.origin}/south.pb"
format = "gtfs-rt"
static = "south"
poll = "1s"
`;

/** @param {string} network */
async function vehiclesOf(network) {
  const reply = await fetch(`${server.base}/geojson/${network}/vehicles.geojson`);
  return reply.ok ? (await reply.json()).features.filter((/** @type {any} */ { properties }) => properties.route_short_name).length : 0;
}

/**
 * Opens a page, calls `look`, and checks that the console has no errors.
 * @param {string} address @param {import("playwright-core").BrowserContextOptions} options
 * @param {(page: import("playwright-core").Page, context: import("playwright-core").BrowserContext) => Promise<void>} look
 * @param {(page: import("playwright-core").Page) => Promise<void>} [prepare]
 */
async function visit(address, options, look, prepare = async () => {}) {
  const { page, context, faults } = await openPage(browser, { reducedMotion: "reduce", ...options });
  try {
    await prepare(page);
    await page.goto(`${server.base}${address}`, { waitUntil: "load" });
    await look(page, context);
    assert.deepEqual(faults, [], `console of ${address}`);
  } finally {
    await context.close();
  }
}

/** Waits for a view in the address and returns it. @param {import("playwright-core").Page} page */
async function viewOf(page) {
  await page.waitForURL(/[?&]at=/);
  const [lat, lon, zoom] = (new URL(page.url()).searchParams.get("at") ?? "").split(",").map(Number);
  return { lat, lon, zoom };
}

/** Waits until the map shows a place. @param {import("playwright-core").Page} page @param {{lat: number, lon: number}} place @param {number} [zoom] at least */
const showsPlace = (page, place, zoom = 8) =>
  until(async () => {
    const view = await viewOf(page);
    return Math.hypot(view.lat - place.lat, view.lon - place.lon) < 0.2 && view.zoom >= zoom;
  }, `the map at ${place.lat}, ${place.lon}`);

/** Returns the position of a place on the screen, from the view in the address. @param {import("playwright-core").Page} page @param {{lat: number, lon: number}} place */
async function onScreen(page, place) {
  const view = await viewOf(page);
  const world = 512 * 2 ** view.zoom;
  const [center, point] = [project(view.lon, view.lat), project(place.lon, place.lat)];
  const box = /** @type {any} */ (await page.locator("#map").boundingBox());
  return { x: box.x + box.width / 2 + (point.x - center.x) * world, y: box.y + box.height / 2 + (point.y - center.y) * world };
}

const isLive = (/** @type {import("playwright-core").Page} */ page) => page.waitForSelector('#live[data-status="live"]');
const link = (/** @type {import("playwright-core").Page} */ page, /** @type {string} */ network) => page.locator(`.panel [data-region="${network}"]`);
const focusId = (/** @type {import("playwright-core").Page} */ page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.className || document.activeElement?.tagName);

describe("two regions", () => {
  test("the map opens at the network with most vehicles and links to the other", async () => {
    await visit("/map", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.waitForFunction(() => /^3 /.test(document.querySelector("#count")?.textContent ?? ""));
      assert.deepEqual(await page.locator(".panel [data-region]").allInnerTexts(), ["Northtown 3 vehicles", "Southport Transport 1 vehicle"]);
      await link(page, "south").click();
      await showsPlace(page, SOUTH, 9);
      await page.waitForSelector('.panel [data-region="south"][aria-current]');
      await page.waitForFunction(() => /^1 /.test(document.querySelector("#count")?.textContent ?? ""));
      // Without a view in the address the map opens at the last visited network.
      await page.goto(`${server.base}/map`, { waitUntil: "load" });
      await showsPlace(page, SOUTH, 9);
    });
  });

  test("a link can name a network", async () => {
    await visit("/map?network=south", {}, (page) => showsPlace(page, SOUTH, 9).then(() => {}));
  });

  test("it opens at the nearest network if the location permission is granted", async () => {
    const near = { permissions: ["geolocation"], geolocation: { latitude: SOUTH.lat + 1, longitude: SOUTH.lon } };
    await visit("/map", near, (page) => showsPlace(page, SOUTH, 9).then(() => {}));
  });

  test("at low zoom each network is a bubble with its count, above land and sea", async () => {
    await visit("/map?at=48,2,3", {}, async (page) => {
      const bubble = page.locator(".region-bubble", { hasText: "Northtown" });
      await bubble.waitFor();
      await until(async () => (await bubble.locator("strong").innerText()) === "3", "its count");
      assert.match((await page.locator(".region-bubble", { hasText: "Southport" }).getAttribute("aria-label")) ?? "", /1 vehicle\b/);
      const seaAndLand = async () => colorsAt(page, [await onScreen(page, { lat: 45, lon: -30 }), await onScreen(page, { lat: 47, lon: 22 })]);
      await until(async () => (await seaAndLand()).join() === [LIGHT.sea, LIGHT.paper].join(), "sea and land").catch(async () => assert.deepEqual(await seaAndLand(), [LIGHT.sea, LIGHT.paper]));
      await bubble.click();
      await showsPlace(page, NORTH, 9);
      await page.waitForFunction(() => document.querySelectorAll('.region-bubble[data-networks="north"]').length === 0);
    });
    await visit("/map?at=48,2,2", { viewport: { width: 700, height: 600 } }, async (page) => {
      await page.locator(".region-bubble").first().focus();
      await page.keyboard.press("Enter");
      await until(async () => (await viewOf(page)).zoom > 4, "the map to zoom in");
    });
  });

  test("without scripts the list links to networks and can show one of them", async () => {
    await visit("/map", { javaScriptEnabled: false }, async (page) => {
      assert.equal(await page.locator("#list tbody tr").count(), 4);
      await page.locator('.list-view [data-region="south"]').click();
      assert.equal(await page.locator("#list tbody tr").count(), 1);
      assert.equal(await page.locator('.list-view [data-region="south"]').getAttribute("aria-current"), "true");
      await page.fill("#plain-search", "rossio");
      await page.keyboard.press("Enter");
      await page.waitForURL(/q=rossio/);
      assert.equal(await page.locator("#plain-search").inputValue(), "rossio");
      const found = await page.locator("#plain-results").innerText();
      for (const part of ["Rossio", "S1", "Southport Transport"]) assert.ok(found.includes(part), `${part}: ${found}`);
    });
  });

  test("the count of a network outside of the view is updated", async () => {
    const south = /** @type {any} */ (producer.feeds.get("south"));
    const before = south.positions;
    const { page, context } = await openPage(browser, { reducedMotion: "reduce" });
    try {
      await page.clock.install();
      await page.goto(`${server.base}/map?at=${NORTH.lat},${NORTH.lon},14`, { waitUntil: "load" });
      const count = link(page, "south").locator(".region-count");
      assert.equal(await count.innerText(), "1 vehicle");
      south.positions = [...before, { ...before[0], id: "s-2" }];
      await until(async () => (await vehiclesOf("south")) === 2, "the second vehicle");
      await until(async () => {
        await page.clock.runFor(10_000);
        return (await count.innerText()) === "2 vehicles";
      }, "its count");
    } finally {
      south.positions = before;
      await context.close();
    }
    await until(async () => (await vehiclesOf("south")) === 1, "one vehicle again");
  });

  test("vehicles without a position are counted if none is in view", async () => {
    const counts = [{ id: "north", vehicles: 3, rentals: 0, stations: 0, unplaced: 0 }, { id: "south", vehicles: 1, rentals: 0, stations: 0, unplaced: 160 }];
    const { page, context } = await openPage(browser, { reducedMotion: "reduce" });
    try {
      await page.clock.install();
      await page.route("**/map/counts", (route) => route.fulfill({ json: counts }));
      await page.goto(`${server.base}/map?at=${southStops[1].lat},${southStops[1].lon},16`, { waitUntil: "load" });
      await until(async () => {
        await page.clock.runFor(10_000);
        return (await page.locator("#count").innerText()) === "160 vehicles under way report no position";
      }, "the vehicles without a position");
    } finally {
      await context.close();
    }
  });

  /** Waits until the south's vehicles have one of these states. @param {string[]} states */
  const southIs = (states) => until(async () => states.includes((await (await fetch(`${server.base}/api/v1/feeds/south-vehicles`)).json()).state), states.join(" or "));

  test("only networks in view have notices", async () => {
    const south = /** @type {any} */ (producer.feeds.get("south"));
    south.headerAge = 3_600;
    try {
      await southIs(["stale"]);
      await visit("/map?network=south", {}, async (page) => {
        const item = page.locator('#feed-states [data-feed="south-vehicles"]');
        await item.waitFor();
        assert.match(await item.innerText(), /Southport Transport/);
        await page.waitForSelector('#live[data-status="stale"]');
        await link(page, "north").click();
        await showsPlace(page, NORTH, 9);
        await item.waitFor({ state: "detached" });
        assert.ok(await page.locator("#feed-states").isHidden());
        await isLive(page);
      });
    } finally {
      south.headerAge = 0;
      await southIs(["ok"]);
    }
  });

  test("the status does not say Live while polls fail, even with recent positions", async () => {
    const south = /** @type {any} */ (producer.feeds.get("south"));
    south.fails = true;
    try {
      await southIs(["stale", "failing"]);
      await visit("/map?network=south", {}, async (page) => {
        await page.waitForSelector('#live[data-status="stale"]');
        assert.ok(await page.locator("#feed-states").isHidden());
      });
    } finally {
      south.fails = false;
      await southIs(["ok"]);
    }
  });

  test("the panel offers only modes of the networks in view", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await page.waitForFunction(() => document.querySelectorAll("#modes .chip").length === 2);
      await link(page, "south").click();
      await page.locator("#modes").waitFor({ state: "hidden" });
    });
  });

  test("Back undoes a jump and a filter", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.locator("#modes .chip", { hasText: "Tram" }).click();
      await page.waitForURL(/mode=tram/);
      await link(page, "south").click();
      await showsPlace(page, SOUTH, 9);
      await page.goBack();
      await showsPlace(page, NORTH, 9);
      assert.equal(await page.locator("#modes [aria-pressed=true]").count(), 1);
      await page.goBack();
      await page.waitForURL((url) => !url.searchParams.has("mode"));
      assert.equal(await page.locator("#modes [aria-pressed=true]").count(), 0);
      await page.goForward();
      await page.waitForURL(/mode=tram/);
      assert.equal(await page.locator("#modes [aria-pressed=true]").count(), 1);
    });
  });

  test("near a coast the map shows water", async () => {
    // The Oslo fjord.
    const fjord = { lat: 59.75, lon: 10.57 };
    await visit("/map?at=59.8,10.6,9", {}, async (page) => {
      const color = async () => (await colorsAt(page, [await onScreen(page, fjord)]))[0];
      await until(async () => (await color()) === LIGHT.sea, "the fjord");
    });
  });
});

/** @param {import("playwright-core").Page} page @param {{x: number, y: number}[]} places */
async function colorsAt(page, places) {
  const picture = (await page.screenshot()).toString("base64");
  return page.evaluate(async ({ picture, places }) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
    context.drawImage(image, 0, 0);
    return places.map(({ x, y }) => `#${[...context.getImageData(Math.round(x), Math.round(y), 1, 1).data].slice(0, 3).map((part) => part.toString(16).padStart(2, "0")).join("")}`);
  }, { picture, places });
}

describe("links to stops, lines and vehicles", () => {
  /** Returns true if neither the panel nor the card covers a place. @param {import("playwright-core").Page} page @param {{lat: number, lon: number}} place */
  async function isFree(page, place) {
    const { x, y } = await onScreen(page, place);
    const covered = await page.evaluate(({ x, y }) => document.elementFromPoint(x, y)?.closest(".panel .card, .map-buttons") !== null, { x, y });
    const { width, height } = /** @type {{width: number, height: number}} */ (page.viewportSize());
    return x > 0 && y > 0 && x < width && y < height && !covered;
  }

  for (const [name, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a phone", phone]])) {
    test(`the map moves to a stop, next to its card, on ${name}`, async () => {
      await visit("/map?stop=south:belem", options, async (page) => {
        await page.waitForSelector("#detail .detail-title");
        await showsPlace(page, southStops[1], 14);
        await until(() => isFree(page, southStops[1]), "the stop next to its card");
        // The address that the map has written restores the view.
        await page.reload();
        await page.waitForSelector("#detail .detail-title");
        await until(() => isFree(page, southStops[1]), "the stop next to its card again");
      });
    });
  }

  for (const [name, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a phone", phone]])) {
    test(`a link from another screen shows the vehicle in the middle beside its card, on ${name}`, async () => {
      const place = at(SOUTH, -0.001, -0.003);
      await visit(`/map?at=${place.lat - 0.004},${place.lon - 0.008},14&vehicle=south-vehicles:s-1`, options, async (page) => {
        await page.waitForSelector("#detail .detail-title");
        const middle = async () => {
          const { x, y } = await onScreen(page, place);
          const { left, right, top, bottom } = await page.evaluate((isWide) => {
            const [panel, card, map] = ["#detail", "#detail", "#map"].map((selector) => /** @type {Element} */ (document.querySelector(selector)).getBoundingClientRect());
            const search = /** @type {Element} */ (document.querySelector(".panel-search")).getBoundingClientRect();
            return isWide ? { left: panel.right, right: map.right, top: map.top, bottom: map.bottom } : { left: map.left, right: map.right, top: search.bottom, bottom: card.top };
          }, options !== phone);
          return Math.abs(x - (left + right) / 2) < 60 && Math.abs(y - (top + bottom) / 2) < 60;
        };
        await until(middle, "the vehicle in the middle of the free part");
        assert.ok(Math.abs((await viewOf(page)).zoom - 14) < 0.01, "the zoom of the link");
      });
    });
  }

  test("the map moves to a vehicle and to a line", async () => {
    await visit("/map?vehicle=south-vehicles:s-1", {}, (page) => showsPlace(page, SOUTH, 13.5).then(() => {}));
    await visit("/map?route=south:s1", {}, async (page) => {
      await showsPlace(page, at(SOUTH, -0.01, -0.03), 9);
      assert.match(await page.locator("#routes").innerText(), /S1[\s\S]*Rossio – Belém/);
      assert.equal(await page.locator("#routes a").getAttribute("href"), "/routes/south/s1");
    });
  });

  test("a vehicle's card links to its line and to its whole trip", async () => {
    await visit("/map?vehicle=north-vehicles:tram-1", {}, async (page) => {
      const line = page.locator('#detail a[href="/routes/north/t1"]');
      await line.waitFor();
      assert.match(await line.innerText(), /1.*Harbour – Airport/);
      await page.locator('#detail a[href^="/trips/north/t1-1"]').click();
      await page.waitForURL(/\/trips\/north\/t1-1/);
      assert.equal(await page.locator(".trip-calls > li").count(), 4);
    });
  });

  test("a departure on a stop's card links to its trip", async () => {
    await visit("/map?stop=south:rossio", {}, async (page) => {
      await page.locator("#detail .detail-board a").click();
      await page.waitForURL(/\/trips\/south\/s1-1\?date=\d{4}-\d\d-\d\d$/);
      assert.equal(await page.locator(".trip-calls > li").count(), 2);
    });
  });

  test("a stop's card says whether its departures are live, by the feeds of times only", async () => {
    const south = /** @type {any} */ (producer.feeds.get("south"));
    const timesOfVehicles = (/** @type {import("playwright-core").Page} */ page) =>
      page.route("**/map/stop?*", async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), times_feeds: ["south-vehicles"] } }));
    try {
      await visit("/map?stop=south:rossio", {}, async (page) => {
        await page.locator("#detail .detail-board a").waitFor();
        await page.locator('#detail [data-live="scheduled"]').waitFor();
        south.fails = true;
        await page.locator('#detail :is([data-live="delayed"], [data-live="missing"])').waitFor();
      }, timesOfVehicles);
      await visit("/map?stop=south:rossio", {}, async (page) => {
        await page.waitForSelector('#live[data-status="stale"]');
        await page.locator('#detail [data-live="timetable"]').waitFor();
      });
    } finally {
      south.fails = false;
    }
    await until(async () => (await (await fetch(`${server.base}/api/v1/feeds/south-vehicles`)).json()).state === "ok", "good data again");
  });

  test("the window's title separates the line and the destination", async () => {
    await visit("/map?vehicle=north-vehicles:tram-1", {}, (page) => until(async () => (await page.title()).startsWith("1 To Harbour"), "the title").then(() => {}));
  });

  test("Back leads from a vehicle of the list to the list", async () => {
    await visit("/map?network=north&show=list", {}, async (page) => {
      await page.locator("#list tbody button").first().click();
      await page.waitForSelector("#detail .detail-title");
      await page.waitForURL((url) => !url.searchParams.has("show"));
      await page.goBack();
      await page.locator("#list tbody tr").first().waitFor({ state: "visible" });
      assert.ok(await page.locator("#detail").isHidden());
      assert.match(page.url(), /show=list/);
    });
  });

  test("a stop's card says that the timetable has ended", async () => {
    const ended = (/** @type {import("playwright-core").Page} */ page) =>
      page.route("**/map/stop?*", async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), timetable_ended: "2024-06-01" } }));
    await visit("/map?stop=north:quarry", {}, async (page) => {
      const card = await page.locator('#detail [data-timetable-ended="2024-06-01"]').innerText();
      assert.match(card, /1 June 2024/);
      const board = await (await fetch(`${server.base}/stops/north/quarry`)).text();
      const [, reason] = /** @type {RegExpMatchArray} */ (board.match(/class="board-empty"[^>]*>([^<]+)</));
      assert.ok(card.endsWith(reason), `the card and the board give the same reason: ${card}`);
    }, ended);
  });

  test("the pages of a stop and a line link to the map", async () => {
    for (const [address, place, pattern] of /** @type {[string, any, RegExp][]} */ ([["/stops/south/belem", southStops[1], /stop=south:belem/], ["/routes/south/s1", at(SOUTH, -0.01, -0.03), /route=south:s1/]])) {
      await visit(address, {}, async (page) => {
        await page.locator('a[href^="/map?"]', { hasText: "On the map" }).click();
        await page.waitForURL(pattern);
        await showsPlace(page, place, 9);
      });
    }
  });

  test("rows without scripts link to line and trip", async () => {
    await visit("/map?network=south", { javaScriptEnabled: false }, async (page) => {
      const row = page.locator("#list tbody tr");
      assert.equal(await row.locator('a[href="/routes/south/s1"]').count(), 1);
      assert.ok((await page.locator("#list thead th[hidden]").count()) > 0, "columns without values");
      await row.locator('a[href^="/trips/south/s1-1"]').click();
      assert.equal(await page.locator(".trip-calls > li").count(), 2);
    });
  });

  test("Back closes a card and Forward opens it again", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      const before = await viewOf(page);
      await page.fill("#search", "harbour");
      // The text of a line begins with its badge, so this matches a stop.
      await page.locator('#results [role="option"]', { hasText: /^Harbour/ }).first().click();
      await page.waitForSelector("#detail .detail-title");
      await page.waitForURL(/stop=north:harbour/);
      await showsPlace(page, northStops[6], 14);
      assert.ok(await page.locator("#panel-more").isHidden(), "the card takes the room of the networks");
      await page.goBack();
      await page.waitForSelector("#detail", { state: "hidden" });
      assert.doesNotMatch(page.url(), /stop=/);
      await until(async () => Math.abs((await viewOf(page)).zoom - before.zoom) < 0.01, "the view before the card");
      assert.equal(await page.locator("#search").inputValue(), "");
      await page.goForward();
      await page.waitForSelector("#detail .detail-title");
      assert.match(page.url(), /stop=north:harbour/);
      await page.keyboard.press("Escape");
      await page.waitForSelector("#detail", { state: "hidden" });
      await page.waitForURL((url) => !url.searchParams.has("stop"));
    });
  });
});

describe("the search box", () => {
  /** Returns the texts of the options for a question. @param {import("playwright-core").Page} page @param {string} question */
  async function optionsFor(page, question) {
    await page.fill("#search", question);
    await page.locator(`#results[data-question="${question}"] [role="option"]`).first().waitFor();
    return page.locator('#results [role="option"]').allInnerTexts();
  }
  const line = (/** @type {string} */ text) => text.split("\n")[0].trim();

  test("it finds lines by mode and letter, misspelled stops, and stop codes", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.waitForFunction(() => document.querySelectorAll("#modes .chip").length === 2);
      for (const question of ["tram 1", "T1", "Linie 1"]) {
        const found = await optionsFor(page, question);
        assert.deepEqual([...new Set(found.map(line))], ["1"], `${question}: ${found}`);
      }
      assert.equal(line((await optionsFor(page, "bus 20"))[0]), "20");
      assert.equal(line((await optionsFor(page, "centrl"))[0]), "Central");
      assert.match((await optionsFor(page, "102"))[0], /^Market[\s\S]*102/);
      assert.match(await page.locator("#results-from").innerText(), /middle of the map/);
      await page.locator("#search").press("Enter");
      await page.waitForURL(/stop=north:market-out/);
    });
  });

  test("Enter goes to the best match, not to a nearer stop without lines, and results take the room of the networks", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      const found = await optionsFor(page, "depot");
      assert.deepEqual(found.map(line).slice(0, 2), ["Depot", "Depot"]);
      assert.match(found[0], /20/, "the stop that a line serves comes first");
      assert.ok(await page.locator("#panel-more").isHidden());
      await page.keyboard.press("Enter");
      await page.waitForURL(/stop=north:depot(&|$)/);
    });
  });

  test("distances are measured from the reader while in view, else from the middle of the map", async () => {
    const options = { permissions: ["geolocation"], geolocation: { latitude: NORTH.lat, longitude: NORTH.lon } };
    await visit("/map?network=north", options, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.click("#locate");
      await page.locator("#results-from", { hasText: "you" }).waitFor();
      await page.keyboard.press("Escape");
      await link(page, "south").click();
      await showsPlace(page, SOUTH, 9);
      const found = await optionsFor(page, "rossio");
      assert.match(found[0], /\b\d+(\.\d)? k?m\b/);
      assert.match(await page.locator("#results-from").innerText(), /middle of the map/);
    });
  });
});

describe("the reader's location", () => {
  const beside = { latitude: MARKETS[0].lat, longitude: MARKETS[0].lon + 0.0004 };
  const allowed = { permissions: ["geolocation"], geolocation: beside };

  for (const [name, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a phone", phone]])) {
    test(`"Near me" lists the nearest stops, on ${name}`, async () => {
      await visit("/map?network=south", { ...allowed, ...options, reducedMotion: "no-preference" }, async (page) => {
        await showsPlace(page, SOUTH, 9);
        const asked = page.waitForRequest(/\/api\/v1\/stops\?/);
        await page.click("#locate");
        assert.match((await asked).url(), new RegExp(`near=${beside.latitude.toFixed(5)}`));
        const found = page.locator('#results [role="option"]');
        await found.first().waitFor();
        const [first, second] = await found.allInnerTexts();
        assert.match(first, /Market[\s\S]*\b\d0 m\b/);
        assert.match(second, /Market/);
        const details = (/** @type {string} */ text) => text.replace(/\d+ m\b/, "");
        assert.notEqual(details(first), details(second), "stops with the same name have different details");
        assert.match(first + second, /towards Harbour[\s\S]*towards Airport|towards Airport[\s\S]*towards Harbour/);
        assert.match(await page.locator("#results-from").innerText(), /you/);
        await page.waitForSelector(".here");
        assert.equal((await focusId(page)) === "search", options !== phone, "a phone shows no on-screen keyboard");
        await showsPlace(page, NORTH, 14);
        await found.first().click();
        await page.waitForURL(/stop=north:market/);
      });
    });
  }

  test("a refused permission is explained next to the button", async () => {
    await visit("/map?network=north", phone, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.click("#locate");
      await page.locator("#locate-note").waitFor({ state: "visible" });
      assert.match(await page.locator("#locate-note").innerText(), /allow/i);
    });
  });

  test("an insecure connection is explained next to the button", async () => {
    const insecure = (/** @type {import("playwright-core").Page} */ page) => page.addInitScript(() => Object.defineProperty(globalThis, "isSecureContext", { value: false }));
    await visit("/map?network=north", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.click("#locate");
      assert.match(await page.locator("#locate-note").innerText(), /https/);
    }, insecure);
  });
});

describe("vehicles and filters", () => {
  test("vehicles with old positions are grey", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await page.waitForFunction(() => /^3 /.test(document.querySelector("#count")?.textContent ?? ""));
      assert.equal(await page.locator('.vehicles[data-stale="0"]').count(), 1);
      await link(page, "south").click();
      await page.waitForSelector('.vehicles[data-stale="1"]', { state: "attached" });
      await page.click("#show-list");
      await page.locator("#list tbody tr.is-stale").waitFor();
    });
  });

  test("the card of a vehicle with an old position has no current status", async () => {
    await visit("/map?vehicle=south-vehicles:s-1", {}, async (page) => {
      await page.locator('#detail :is([data-status="last_known"], [data-status="unknown"], [data-status="ended"])').waitFor();
      await page.locator('#detail [data-near="rossio"]').waitFor();
      assert.equal(await page.locator("#detail [data-progress]").count(), 0, "nobody knows which stops it has passed");
      assert.equal(await page.locator("#detail .meta strong").count(), 0);
    });
    await visit("/map?vehicle=north-vehicles:tram-1", {}, async (page) => {
      await page.locator("#detail .meta strong").waitFor();
      assert.equal(await page.locator("#detail [data-status]").count(), 0);
    });
  });

  test("a list of old positions explains its italics and hides columns without values", async () => {
    await visit("/map?network=south&show=list", {}, async (page) => {
      await page.locator('#list-legend[data-stale="1"]').waitFor();
      await page.locator("#list .vehicle-list tbody tr.is-stale").waitFor();
      const empty = await page.locator("#list .vehicle-list").first().evaluate((table) => {
        const rows = [.../** @type {HTMLTableElement} */ (table).rows].filter((row) => row.parentElement?.tagName === "TBODY");
        const heads = [.../** @type {HTMLTableElement} */ (table).rows[0].cells];
        return heads.filter((head, at) => !head.hidden && rows.every((row) => ["", "–"].includes(row.cells[at].textContent ?? ""))).length;
      });
      assert.equal(empty, 0);
    });
    await visit("/map?network=north&show=list", {}, async (page) => {
      await page.locator("#list .vehicle-list tbody tr").first().waitFor();
      assert.ok(await page.locator("#list-legend").isHidden());
    });
  });

  test("the page of a trip that is long over says nothing of live data or passed stops", async () => {
    await visit("/trips/south/s1-1?date=2024-03-01", {}, async (page) => {
      assert.equal(await page.locator(".trip-calls > li").count(), 2);
      assert.equal(await page.locator("#live").count(), 0);
      assert.equal(await page.locator('[data-ended="timetable"]').count(), 1);
      assert.deepEqual(new Set(await page.locator(".trip-calls .delay").allTextContents()), new Set([""]));
    });
  });

  test("the list has the vehicles without a position, by the filters", async () => {
    const south = /** @type {any} */ (producer.feeds.get("south"));
    const before = south.positions;
    south.positions = [...before, { id: "s-9", route: "s1", trip: "extra" }];
    const unplaced = async () => (await (await fetch(`${server.base}/map/unplaced?network=south`)).json()).length;
    try {
      await until(async () => (await unplaced()) === 1, "the vehicle without a position");
      await visit("/map?network=south&show=list", {}, async (page) => {
        const row = page.locator('#unplaced-list tbody tr[data-vehicle="s-9"]');
        await row.waitFor();
        assert.equal(await row.locator('a[href="/routes/south/s1"]').count(), 1);
        assert.equal(await row.locator('a[href^="/trips/south/extra"]').count(), 1);
        assert.ok(await page.locator("#list-empty").isHidden());
      });
      await visit("/map?network=south&show=list&mode=bus", {}, async (page) => {
        await page.locator('#list-empty[data-reason="filtered"]').waitFor();
        assert.ok(await page.locator("#unplaced-list").isHidden());
        assert.doesNotMatch(await page.locator("#count").innerText(), /[1-9]/, "the count is by the filter, too");
      });
    } finally {
      south.positions = before;
    }
    await until(async () => (await unplaced()) === 0, "the first vehicles again");
  });

  test("vehicles of an eight years old message are grey, and their network has a notice", async () => {
    const eightYears = 8 * 365 * 86_400;
    producer.feeds.set("ancient", { age: eightYears, headerAge: eightYears, positions: [{ id: "s-1", route: "s1", ...at(SOUTH, -0.001, -0.003) }] });
    const ancient = `[[feed]]\nid = "south"\nurl = "${folder}/south"\nformat = "gtfs"\n[[feed]]\nid = "ancient"\nurl = "${producer.origin}/ancient.pb"\nformat = "gtfs-rt"\nstatic = "south"\npoll = "1s"\n`;
    const own = await startServer(await mkdtemp(path.join(folder, "own-")), ancient);
    const { page, context } = await openPage(browser, { reducedMotion: "reduce" });
    try {
      await page.goto(`${own.base}/map`, { waitUntil: "load" });
      await page.waitForSelector('.vehicles[data-stale="1"]', { state: "attached" });
      await page.waitForSelector('#feed-states [data-feed="ancient"] [data-state="stale"]');
      const year = String(new Date(Date.now() - eightYears * 1_000).getUTCFullYear());
      await page.locator('#feed-states [data-feed="ancient"]', { hasText: year }).waitFor();
      await page.waitForSelector('#live[data-status="stale"]');
      await page.goto(`${own.base}/map?vehicle=ancient:s-1`, { waitUntil: "load" });
      await page.locator("#detail [data-status]").waitFor();
      assert.ok((await page.locator("#detail .meta").innerText()).includes(year), "a date instead of a number of days");
    } finally {
      await context.close();
      await own.stop();
    }
  });

  test("all vehicles are grey while the connection is lost", async () => {
    const own = await startServer(await mkdtemp(path.join(folder, "own-")), config().replaceAll('url = "north"', `url = "${folder}/north"`).replaceAll('url = "south"', `url = "${folder}/south"`));
    const { page, context } = await openPage(browser);
    try {
      await page.clock.install();
      await page.goto(`${own.base}/map`, { waitUntil: "load" });
      await page.clock.runFor(2_000);
      await isLive(page);
      assert.equal(await page.locator(".vehicles.is-lost").count(), 0);
      await own.stop();
      await page.waitForSelector('#live:not([data-status="live"])');
      await until(async () => {
        await page.clock.runFor(5_000);
        return (await page.locator(".vehicles.is-lost").count()) === 1;
      }, "grey vehicles");
    } finally {
      await context.close();
      await own.stop();
    }
  });

  test("a filter by mode or line hides the stops of other modes and lines", async () => {
    const opensCard = async (/** @type {string} */ filter) => {
      let isOpen = false;
      await visit(`/map?at=${DEPOT.lat},${DEPOT.lon},16${filter}`, {}, async (page) => {
        await isLive(page);
        const dot = async () => (await colorsAt(page, [await onScreen(page, DEPOT)]))[0];
        const isShown = filter === "" || filter.includes("b20");
        if (isShown) await until(async () => (await dot()) === LIGHT.stop, "the stop's dot");
        else await until(async () => (await page.locator("#modes [aria-pressed=true], #routes .chip").count()) === 1 && (await dot()) !== LIGHT.stop, "no dot");
        const { x, y } = await onScreen(page, DEPOT);
        await page.mouse.click(x, y);
        isOpen = await page.waitForURL(/stop=/, { timeout: isShown ? 30_000 : 1_000 }).then(() => true, () => false);
      });
      return isOpen;
    };
    assert.equal(await opensCard(""), true);
    assert.equal(await opensCard("&mode=tram"), false);
    assert.equal(await opensCard("&route=north:t1"), false);
    assert.equal(await opensCard("&route=north:b20"), true);
  });

  test("on a phone the list ends above its buttons, and the modes take one line", async () => {
    await visit("/map?network=north&show=list", phone, async (page) => {
      await page.waitForSelector("#list tbody tr");
      const [list, buttons] = await page.locator("#list, .map-buttons").evaluateAll((all) => all.sort((a) => (a.id === "list" ? -1 : 1)).map((each) => ({ ...each.getBoundingClientRect().toJSON(), border: parseFloat(getComputedStyle(each).borderBlockEndWidth) })));
      assert.ok(list.bottom - list.border <= buttons.top, JSON.stringify([list, buttons]));
      assert.ok(await page.locator("#show-list svg").isHidden(), "the list icon is hidden while the button leads to the map");
      assert.ok(await page.locator("#panel-more").isHidden(), "the panel closes when the list opens");
      await page.click("#panel-toggle");
      await page.waitForFunction(() => document.querySelectorAll("#modes .chip").length === 2);
      const tops = await page.locator("#modes .chip").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
      assert.equal(new Set(tops).size, 1, tops.join());
    });
  });

  test("the list's buttons do not cover its rows", async () => {
    await visit("/map?network=north&show=list", {}, async (page) => {
      await page.waitForSelector("#list tbody tr");
      const boxes = await page.locator("#list thead th, #locate, #show-list").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().toJSON()));
      const overlaps = (/** @type {any} */ a, /** @type {any} */ b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      for (const [index, box] of boxes.entries()) assert.ok(!boxes.slice(index + 1).some((other) => overlaps(box, other)), JSON.stringify(box));
    });
  });
});

describe("by keyboard", () => {
  test("the focus moves from the search box to the next control, and returns from a card", async () => {
    await visit("/map?network=north", {}, async (page) => {
      await showsPlace(page, NORTH, 9);
      await page.keyboard.press("/");
      await page.locator('#results [role="option"]').first().waitFor();
      await page.keyboard.press("Tab");
      assert.notEqual(await focusId(page), "BODY");
      assert.notEqual(await focusId(page), "results");
      await page.keyboard.press("/");
      await page.keyboard.type("central");
      await page.locator('#results [role="option"]', { hasText: "Central" }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.activeElement?.id === "detail-title");
      const outline = await page.locator("#detail-title").evaluate((title) => getComputedStyle(title).outlineStyle);
      assert.equal(outline, "none", "the focused heading has no outline");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#detail", { state: "hidden" });
      assert.equal(await focusId(page), "search");
    });
  });
});
