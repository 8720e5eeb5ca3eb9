/** Stations and free vehicles of a GBFS system on the map: by mouse, by keyboard, on a phone, and as they change. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch, openPage, phone, startServer, until } from "./support.js";

const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const CANAL = { lat: 59.91, lon: 10.75 };
const SCOOTER = { lat: 59.9108, lon: 10.7515 };
const HARBOUR = { lat: 59.9, lon: 10.74 };
const AT_CANAL = `/map?at=${CANAL.lat},${CANAL.lon},16`;

/** The current state of a GBFS 2.3 system, from which its files are made. */
const now = { bikes: 5, hasScooter: true };
const FILES = {
  vehicle_types: () => ({ vehicle_types: [
    { vehicle_type_id: "b", form_factor: "bicycle", propulsion_type: "human", name: "City bike" },
    { vehicle_type_id: "e", form_factor: "bicycle", propulsion_type: "electric_assist", max_range_meters: 60_000, name: "E-bike" },
    { vehicle_type_id: "k", form_factor: "scooter", propulsion_type: "electric", max_range_meters: 35_000 },
  ] }),
  station_information: () => ({ stations: [
    { station_id: "s1", name: "Canal", ...CANAL, capacity: 12 },
    { station_id: "s2", name: "Harbour", ...HARBOUR },
  ] }),
  station_status: () => ({ stations: [
    {
      station_id: "s1", num_bikes_available: now.bikes + 2, num_docks_available: 10 - now.bikes - 2, is_installed: true, is_renting: true, is_returning: true, last_reported: seconds() - 12,
      vehicle_types_available: [{ vehicle_type_id: "b", count: now.bikes }, { vehicle_type_id: "e", count: 2 }],
    },
    { station_id: "s2", num_bikes_available: 1, num_docks_available: 1, is_installed: true, is_renting: false, is_returning: true, last_reported: seconds() - 300 },
  ] }),
  free_bike_status: () => ({ bikes: now.hasScooter ? [{ bike_id: "x1", ...SCOOTER, vehicle_type_id: "k", current_range_meters: 12_400, is_reserved: false, is_disabled: false, last_reported: seconds() - 60 }] : [] }),
};
const seconds = () => Math.floor(Date.now() / 1000);

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {string} */
let folder;
/** @type {import("node:http").Server} */
let producer;
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;

before(async () => {
  producer = createServer((request, reply) => {
    const name = request.url?.match(/^\/(\w+)\.json$/)?.[1] ?? "";
    const list = () => ({ en: { feeds: Object.keys(FILES).map((file) => ({ name: file, url: `${file}.json` })) } });
    const data = name === "gbfs" ? list : FILES[name];
    reply.writeHead(data ? 200 : 404, { "content-type": "application/json" }).end(data ? JSON.stringify({ last_updated: seconds(), ttl: 0, version: "2.3", data: data() }) : "");
  }).listen(0, "127.0.0.1");
  await once(producer, "listening");
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const { port } = /** @type {import("node:net").AddressInfo} */ (producer.address());
  const feed = `[[feed]]\nid = "hire"\nurl = "http://127.0.0.1:${port}/gbfs.json"\nformat = "gbfs"\npoll = "1s"\n`;
  [server, browser] = await Promise.all([startServer(folder, feed), launch()]);
  const held = async (/** @type {string} */ what) => (await (await fetch(`${server.base}/geojson/hire/${what}.geojson`)).json()).features ?? [];
  await until(async () => (await held("stations")).some(({ properties }) => properties.num_vehicles_available === 7) && (await held("vehicles")).length === 1, "the system to be known");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  producer?.close();
  await rm(folder, { recursive: true });
});

/** @param {string} address @param {object} options @param {(page: import("playwright-core").Page) => Promise<void>} look */
async function visit(address, options, look) {
  const { page, context, faults } = await openPage(browser, { reducedMotion: "reduce", ...options });
  try {
    await page.goto(`${server.base}${address}`, { waitUntil: "load" });
    await look(page);
    assert.deepEqual(faults, [], `console of ${address}`);
  } finally {
    await context.close();
  }
}

/** @param {import("playwright-core").Page} page @param {string|RegExp} words */
const says = async (page, id, words) => {
  const said = async () => (await page.locator(id).innerText()).match(words);
  await until(said, `${id} to say ${words}`).catch(async (error) => assert.fail(`${error.message}; it says: ${await page.locator(id).innerText()}`));
};

/** Clicks the middle of the map until a card opens, because drawing may take a moment. @param {import("playwright-core").Page} page */
async function clickMiddle(page) {
  const box = await page.locator("#map").boundingBox();
  assert.ok(box);
  await until(async () => {
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    return page.locator("#detail").isVisible();
  }, "a card");
}

for (const [what, options] of Object.entries({ "on a desk": {}, "in the dark": { colorScheme: "dark" }, "on a phone": phone })) {
  test(`a click on a station shows its vehicles, ${what}`, async () => {
    await visit(AT_CANAL, options, async (page) => {
      await says(page, "#count", /^1 to rent, 1 station in view$/);
      await clickMiddle(page);
      await says(page, "#detail-title", /^Canal$/);
      await says(page, "#detail", /7 bikes, 3 docks\s+Open: you can rent and return here\s+reported \d+ s ago\s+City bike\s+5\s+E-bike\s+2\s+Reported by hire/);
      await page.waitForURL(/station=hire:s1/);
      // The card's icon has the colour of the map's stations.
      const color = await page.locator("#detail .rental-sign").evaluate((sign) => getComputedStyle(sign).backgroundColor);
      assert.notEqual(color, "rgba(0, 0, 0, 0)");
      await page.evaluate(axeSource);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
      const width = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(width[0] <= width[1], `nothing is wider than the screen: ${width}`);
      await page.keyboard.press("Escape");
      await page.waitForSelector("#detail", { state: "hidden" });
    });
  });
}

test("an open card and the list show changes", async () => {
  now.bikes = 5;
  await visit("/map?station=hire:s1", {}, async (page) => {
    await says(page, "#detail", /7 bikes, 3 docks/);
    await page.waitForURL(/at=59\.9\d*,10\.7/, { timeout: 20_000 });
    now.bikes = 4;
    await says(page, "#detail", /6 bikes, 4 docks/);
    await page.click("#show-list");
    await says(page, "#rental-list tbody", /Canal\s+6 bikes, 4 docks/);
    now.bikes = 5;
    await says(page, "#detail", /7 bikes, 3 docks/);
    await says(page, "#rental-list tbody", /Canal\s+7 bikes, 3 docks/);
  });
});

test("the card of a free vehicle shows type and range, and when the vehicle is gone", async () => {
  now.hasScooter = true;
  await visit(AT_CANAL, {}, async (page) => {
    await page.click("#show-list");
    assert.ok(await page.locator("#list .card").first().isHidden(), "stations and free vehicles have a table of their own");
    const row = page.locator("#rental-list tbody tr", { hasText: "Free to rent" });
    await says(page, "#rental-list tbody", /Scooter\s+Free to rent\s+12 km of range/);
    await row.locator("button").focus();
    await page.keyboard.press("Enter");
    await says(page, "#detail", /Scooter[\s\S]*Free to rent · 12 km of range\s+reported \d+ (s|min) ago\s+Reported by hire/);
    assert.equal(await page.evaluate(() => document.activeElement?.id), "detail-title");
    now.hasScooter = false;
    await says(page, "#detail", /No longer here/);
    await says(page, "#count", /^\d station/);
    now.hasScooter = true;
    await says(page, "#count", /^1 to rent/);
  });
});

test("a station's card says that it accepts only returns", async () => {
  await visit(`/map?at=${HARBOUR.lat},${HARBOUR.lon},16`, {}, async (page) => {
    await says(page, "#count", /^1 station in view$/);
    await clickMiddle(page);
    await says(page, "#detail", /Harbour[\s\S]*1 vehicle, 1 dock\s+Returns only\s+reported 5 min ago/);
  });
});

test("a view of the world follows GBFS systems and is live", async () => {
  await visit("/map?at=30,0,2", {}, async (page) => {
    await page.waitForSelector('#live[data-status="live"]', { timeout: 20_000 });
    await says(page, "#count", /2 stations in view$/);
  });
});

test("the status shows that nothing can change", async () => {
  const own = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const empty = await startServer(own, "");
  const { page, context } = await openPage(browser);
  try {
    await page.goto(`${empty.base}/map?at=30,0,2`, { waitUntil: "load" });
    await says(page, "#live", /^Live updates off$/);
  } finally {
    await context.close();
    await empty.stop();
    await rm(own, { recursive: true });
  }
});
