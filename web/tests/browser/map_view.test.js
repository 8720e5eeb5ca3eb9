/** The map's list, cards and fit with two networks: one with destinations, one whose vehicles have only names. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { startProducer, writeSchedule } from "./city.js";
import { launch, phone, startServer, until, visitPage } from "./support.js";

const EAST = { lat: 59.91, lon: 10.75 };
const WEST = { lat: 59.95, lon: 10.2 };

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
  const eastStops = [
    { id: "mill", name: "Mill", ...EAST, kind: 1 },
    { id: "mill-1", name: "Mill", ...EAST, parent: "mill", platform: "1" },
    { id: "quay", name: "Quay", lat: EAST.lat + 0.2, lon: EAST.lon + 0.2 },
  ];
  const eastLines = [{ id: "t1", short: "1", long: "Quay", type: 0, color: "C8102E", stops: ["mill-1", "quay"] }, { id: "b2", short: "2", long: "Quay", type: 3, stops: ["mill-1", "quay"] }];
  // The trips start soon, so that stops have departures.
  await writeSchedule(path.join(folder, "east"), "East", eastStops, eastLines, { time: minutesAhead(20) });
  await writeSchedule(path.join(folder, "west"), "West", [{ id: "inn", name: "Inn", ...WEST }, { id: "fort", name: "Fort", lat: WEST.lat + 0.05, lon: WEST.lon }], [{ id: "f1", short: "F", long: "Fort", type: 4, stops: ["inn", "fort"] }]);
  const near = (/** @type {number} */ step) => ({ lat: EAST.lat + step / 100, lon: EAST.lon + step / 100 });
  producer.feeds.set("east", { positions: [{ id: "tram-1", route: "t1", ...near(3) }, { id: "tram-2", route: "t1", ...near(3) }, { id: "bus-1", route: "b2", ...near(5) }] });
  producer.feeds.set("west", { positions: [{ id: "w-51", route: "", trip: "", ...WEST }] });
  server = await startServer(folder, ["east", "west"].map(feedsOf).join(""));
  await until(async () => (await vehiclesOf("east")) === 3 && (await vehiclesOf("west")) === 1, "the vehicles of both networks");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  producer?.stop();
  await rm(folder, { recursive: true });
});

/** Returns a time of day in seconds since midnight UTC; it may exceed 24 hours. @param {number} minutes from now */
function minutesAhead(minutes) {
  const now = new Date();
  return (now.getUTCHours() * 60 + now.getUTCMinutes() + minutes) * 60;
}

/** @param {string} id */
const feedsOf = (id) => `
[[feed]]
id = "${id}"
url = "${id}"
format = "gtfs"
[[feed]]
id = "${id}-vehicles"
url = "${producer.origin}/${id}.pb"
format = "gtfs-rt"
static = "${id}"
poll = "1s"
`;

/** @param {string} network */
async function vehiclesOf(network) {
  const reply = await fetch(`${server.base}/geojson/${network}/vehicles.geojson`);
  return reply.ok ? (await reply.json()).features.length : 0;
}

/** @param {string} address @param {(page: import("playwright-core").Page) => Promise<void>} look @param {import("playwright-core").BrowserContextOptions} [options] */
const visit = (address, look, options = {}) => visitPage(browser, `${server.base}${address}`, look, { reducedMotion: "reduce", ...options });

const BOTH = "/map?at=60,10.5,8.5";
const table = "#list .vehicle-list tbody";

describe("the list", () => {
  for (const [device, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a phone", phone]])) {
    test(`rows of two networks are below a heading for each, on ${device}`, async () => {
      await visit(`${BOTH}&show=list`, async (page) => {
        await page.locator(`${table} .network-row`).nth(1).waitFor();
        await page.locator(`${table} tr[data-vehicle="bus-1"]`).waitFor();
        const order = await page.locator(`${table} tr`).evaluateAll((rows) => rows.map((row) => row.getAttribute("data-network") ?? row.getAttribute("data-vehicle")));
        assert.deepEqual(order, ["east", "tram-1", "tram-2", "bus-1", "west", "w-51"]);
        const [first, heading] = await page.locator(`${table} .network-row`).evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
        assert.ok(first > 0 && heading > 0);
      }, options);
    });
  }

  test("a single network has no heading", async () => {
    await visit("/map?network=west&at=59.95,10.2,12&show=list", async (page) => {
      await page.locator(`${table} tr[data-vehicle="w-51"]`).waitFor();
      assert.equal(await page.locator(`${table} .network-row`).count(), 0);
    });
  });

  test("the name of a vehicle is in the first column if it has no destination, and below it if another vehicle looks the same", async () => {
    await visit(`${BOTH}&show=list`, async (page) => {
      const columnOf = (/** @type {string} */ id) => page.locator(`${table} tr[data-vehicle="${id}"] [data-key]`).evaluate((button) => /** @type {HTMLTableCellElement} */ (button.closest("td")).cellIndex);
      await page.locator(`${table} tr[data-vehicle="w-51"]`).waitFor();
      await page.locator(`${table} tr[data-vehicle="bus-1"]`).waitFor();
      assert.deepEqual([await columnOf("w-51"), await columnOf("tram-1")], [0, 1]);
      const named = await page.locator(`${table} tr:has([data-name])`).evaluateAll((rows) => rows.map((row) => row.getAttribute("data-vehicle")));
      assert.deepEqual(named, ["tram-1", "tram-2"]);
    });
  });
});

describe("without scripts", () => {
  test("a vehicle without a destination has its name in the first column", async () => {
    await visit("/map", async (page) => {
      const cellsOf = (/** @type {string} */ id) => page.locator(`#list tr[data-vehicle="${id}"] td`).allInnerTexts();
      const [west, east] = [await cellsOf("w-51"), await cellsOf("tram-1")];
      assert.match(west[0], /w-51/);
      assert.ok(!/w-51/.test(west[1]), west[1]);
      assert.match(west[1], /West/, "the network of a row");
      assert.ok(!/tram-1/.test(east[0]), east[0]);
    }, { javaScriptEnabled: false });
  });
});

describe("the search box", () => {
  test("the lines of a stop have their colors before the lines of its network are loaded", async () => {
    const { page, context } = await open();
    try {
      await page.route("**/routes.geojson*", () => {});
      await page.goto(`${server.base}/map?network=west`);
      await page.waitForURL(/[?&]at=/);
      await page.fill("#search", "quay");
      // The results are rendered again while they arrive.
      await page.waitForFunction(() => {
        const badge = document.querySelector('#results [data-stop="east:quay"] .badge');
        return badge && getComputedStyle(badge).backgroundColor === "rgb(200, 16, 46)";
      });
    } finally {
      await context.close();
    }
  });
});

describe("the map", () => {
  for (const zoom of [8.5, 12, 15]) {
    test(`the attribution is visible at zoom ${zoom}`, async () => {
      await visit(`/map?at=59.91,10.75,${zoom}`, async (page) => {
        await page.locator('.maplibregl-ctrl-attrib:not(.maplibregl-attrib-empty) a[href*="openstreetmap.org"]').waitFor();
      });
    });
  }

  test("the modes of the networks in view are known before their lines are loaded", async () => {
    const { page, context } = await open();
    try {
      await page.route("**/routes.geojson*", () => {});
      await page.goto(`${server.base}${BOTH}`);
      await page.waitForFunction(() => document.querySelectorAll("#modes .chip").length === 3);
    } finally {
      await context.close();
    }
  });

  test("the map has a focus frame after a key, and not after a click on a bubble", async () => {
    const outline = (/** @type {import("playwright-core").Page} */ page) => page.evaluate(() => (document.activeElement?.matches(".maplibregl-canvas") ? getComputedStyle(document.activeElement).outlineStyle : "elsewhere"));
    await visit("/map?at=45,2,3", async (page) => {
      await page.locator(".region-bubble strong").first().click();
      await until(async () => (await outline(page)) === "none", "the focus on the map, without a frame");
      await page.keyboard.press("ArrowLeft");
      assert.notEqual(await outline(page), "none");
    });
  });

  test("a fitted network is clear of the panel, the buttons and the attribution", async () => {
    await visit("/map?network=east", async (page) => {
      await page.waitForURL(/[?&]at=/);
      await page.locator('.maplibregl-ctrl-attrib a[href*="openstreetmap.org"]').waitFor();
      const clear = () => page.evaluate(({ east }) => {
        const box = (/** @type {string} */ selector) => /** @type {Element} */ (document.querySelector(selector)).getBoundingClientRect();
        const [lat, lon, zoom] = (new URL(location.href).searchParams.get("at") ?? "").split(",").map(Number);
        const y = (/** @type {number} */ degrees) => Math.log(Math.tan(Math.PI / 4 + (degrees * Math.PI) / 360)) / (2 * Math.PI);
        const [world, whole] = [512 * 2 ** zoom, box("#map")];
        const place = (/** @type {number} */ toLat, /** @type {number} */ toLon) => ({ x: whole.left + whole.width / 2 + ((toLon - lon) / 360) * world, y: whole.top + whole.height / 2 - (y(toLat) - y(lat)) * world });
        const [southWest, northEast] = [place(east.lat, east.lon), place(east.lat + 0.2, east.lon + 0.2)];
        return southWest.x > box(".panel").right && northEast.y > box(".map-buttons").bottom && southWest.y < box(".maplibregl-ctrl-attrib").top && northEast.x < whole.right;
      }, { east: EAST });
      await until(clear, "both ends of the line in the free part");
    });
  });
});

describe("cards", () => {
  test("a vehicle without line and destination has its name as the heading", async () => {
    await visit("/map?vehicle=west-vehicles:w-51", async (page) => {
      await page.locator("#detail-title [data-name]").waitFor();
      assert.equal(await page.locator("#detail-title .badge").count(), 0);
    });
    await visit("/map?vehicle=east-vehicles:tram-1", async (page) => {
      await page.locator("#detail-title .badge").waitFor();
      assert.equal(await page.locator("#detail-title [data-name]").count(), 0);
    });
  });

  for (const [address, kind] of [["vehicle=east-vehicles:none", "vehicle"], ["stop=east:none", "stop"]]) {
    test(`a link to a ${kind} that is not there opens a card about it, which closes`, async () => {
      const { page, context } = await open();
      try {
        await page.goto(`${server.base}/map?${address}`);
        await page.locator(`#detail [data-missing="${kind}"]`).waitFor();
        assert.equal(await page.locator('#detail a[href="/networks/east"]').count(), 1);
        await page.locator("#detail .close").click();
        await page.waitForURL((url) => !url.searchParams.has(kind));
        assert.ok(await page.locator("#detail").isHidden());
      } finally {
        await context.close();
      }
    });
  }

  for (const [query, parameter, gone] of [["mode=nonsense", "mode", "mode"], ["at=here", "at", null], ["route=east:none", "route", "route"], ["vehicle=none:1", "vehicle", null]]) {
    test(`the map names the ignored value of ${query}, until the reader changes the filters`, async () => {
      const { page, context } = await open();
      try {
        await page.goto(`${server.base}/map?network=east&${query}`);
        await page.locator(`.panel [data-ignored="${parameter}"]`).waitFor();
        await page.waitForURL(/[?&]at=-?\d/);
        if (gone) assert.ok(!new URL(page.url()).searchParams.has(gone), "the filter is not set");
        await page.locator("#count", { hasText: /^3 / }).waitFor();
        await page.locator("#modes .chip").first().click();
        await page.locator(".panel .ignored-values").waitFor({ state: "detached" });
      } finally {
        await context.close();
      }
    });
  }

  test("only the card of a whole station names the platforms of departures", async () => {
    for (const [stop, platforms] of /** @type {[string, string[]][]} */ ([["mill", ["1", "1"]], ["mill-1", []]])) {
      await visit(`/map?stop=east:${stop}`, async (page) => {
        await page.locator("#detail .detail-board li").nth(1).waitFor();
        assert.deepEqual(await page.locator("#detail [data-platform]").evaluateAll((all) => all.map((each) => each.getAttribute("data-platform"))), platforms);
      });
    }
  });
});

/** Opens a page whose console may have the errors of refused requests. */
async function open() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  return { context, page: await context.newPage() };
}
