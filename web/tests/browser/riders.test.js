/** A rider's way from a network to a line, a trip and a board, live alerts, and the search. */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { writeSchedule } from "./city.js";
import { launch, startServer, until, visitPage } from "./support.js";

const now = () => Math.floor(Date.now() / 1_000);
const begin = now();
const midnight = begin - (begin % 86_400);
const date = new Date(midnight * 1_000).toISOString().slice(0, 10).replaceAll("-", "");

/** The stops; two have the same name, one for each direction. */
const stops = [
  { id: "h", name: "Harbour", lat: 59.9, lon: 10.7 },
  { id: "c", name: "Central", lat: 59.91, lon: 10.71 },
  { id: "m1", name: "Market", lat: 59.92, lon: 10.72 },
  { id: "m2", name: "Market", lat: 59.92, lon: 10.721 },
  { id: "a", name: "Airport", lat: 59.95, lon: 10.8 },
];
const lines = [
  { id: "T1", short: "1", long: "Harbour – Airport", type: 0, color: "0055aa", stops: ["h", "c", "m1", "a"] },
  { id: "B2", short: "2", long: "Airport – Harbour", type: 3, color: "aa5500", stops: ["a", "m2", "c", "h"] },
];

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
let folder = "";

/** @param {string} name @param {object[]} entity */
async function say(name, entity) {
  const file = path.join(folder, `${name}.json`);
  await writeFile(`${file}.new`, JSON.stringify({ header: { gtfs_realtime_version: "2.0", timestamp: now() }, entity }));
  await rename(`${file}.new`, file);
}
const late = (/** @type {string} */ trip, /** @type {number} */ delay) => ({ id: trip, trip_update: { timestamp: now(), trip: { trip_id: trip, start_date: date }, stop_time_update: [{ stop_sequence: 1, departure: { delay } }] } });
const alert = (/** @type {string} */ id) => ({ id, alert: { informed_entity: [{ route_id: "T1" }], header_text: { translation: [{ text: `Works ${id}` }] } } });

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  await writeSchedule(path.join(folder, "north"), "North Lines", stops, lines, { time: begin - midnight + 600 });
  await say("trips", [late("T1-1", 600), late("B2-1", 0)]);
  await say("alerts", [alert("first")]);
  const live = (/** @type {string} */ id) => `[[feed]]\nid = "north-${id}"\nurl = ${JSON.stringify(path.join(folder, `${id}.json`))}\nformat = "gtfs-rt"\nstatic = "north"\npoll = "1s"\n`;
  const config = `[[feed]]\nid = "north"\nurl = ${JSON.stringify(path.join(folder, "north"))}\n${live("trips")}${live("alerts")}`;
  [server, browser] = await Promise.all([startServer(folder, config, "/stops/north/c"), launch()]);
  const holds = async (/** @type {string} */ address, /** @type {string} */ text) => (await (await fetch(`${server.base}${address}`)).text()).includes(text);
  await until(() => holds("/stops/north/c", "10 min late"), "live times");
  await until(() => holds("/alerts/north", 'data-alert="first"'), "the alert");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

/** @param {string} address @param {(page: import("playwright-core").Page) => Promise<void>} look */
const open = (address, look) => visitPage(browser, `${server.base}${address}`, look);

describe("a rider", () => {
  test("goes from the catalog to a network, a line and a trip", async () => {
    await open("/", async (page) => {
      await Promise.all([page.waitForURL("**/networks/north"), page.locator(".rider-links a").first().click()]);
      await Promise.all([page.waitForURL("**/routes/north/T1"), page.locator('[data-mode="Trams"] a[href="/routes/north/T1"]').click()]);
      const times = page.locator("#times .direction-times p time");
      assert.equal(await times.count(), 2, "the first and the last trip");
      assert.equal(await page.locator('a[href="/map?route=north:T1"]').count(), 1);
      assert.match(await page.locator('a[href="/delays/north?route=T1"]').innerText(), /tram/);
      await Promise.all([page.waitForURL("**/trips/north/T1-1?*"), page.locator("#times .direction-times p a").first().click()]);
      assert.deepEqual(await page.locator(".trip-calls [data-stop]").evaluateAll((calls) => calls.map((call) => call.getAttribute("data-stop"))), ["h", "c", "m1", "a"]);
      assert.equal(await page.locator('.trip-calls a[href="/stops/north/c"]').count(), 1);
    });
  });

  test("sees alerts appear and disappear on an open page", async () => {
    await open("/alerts/north", async (page) => {
      await page.locator('#live[data-status="live"]').waitFor();
      await say("alerts", [alert("second")]);
      await page.locator('[data-alert="second"]').waitFor();
      assert.equal(await page.locator('[data-alert="first"]').count(), 0);
      assert.equal(await page.locator('[data-alert="second"] a[href="/routes/north/T1"]').count(), 1);
      await say("alerts", [alert("first")]);
      await page.locator('[data-alert="first"]').waitFor();
    });
  });

  test("finds a line by its mode and a misspelled stop", async () => {
    for (const words of ["tram 1", "T1"]) {
      await open(`/?q=${encodeURIComponent(words)}`, async (page) => {
        assert.equal(await page.locator('[data-found="lines"] a[href="/routes/north/T1"]').count(), 1, words);
        assert.equal(await page.locator('[data-found="lines"] a[href="/routes/north/B2"]').count(), 0, words);
      });
    }
    await open("/?q=centrl", async (page) => {
      assert.equal(await page.locator("[data-corrected]").getAttribute("data-corrected"), "central");
      assert.equal(await page.locator('[data-found="stops"] a[href="/stops/north/c"]').count(), 1);
    });
  });

  test("can distinguish stops with the same name by their destinations", async () => {
    for (const [address, entry] of [["/?q=market", '[data-found="stops"] li'], ["/networks/north?q=market", ".stop-list li:not(.stop-group)"]]) {
      await open(address, async (page) => {
        const to = async (/** @type {string} */ stop) => page.locator(entry).filter({ has: page.locator(`a[href="/stops/north/${stop}"]`) }).innerText();
        assert.match(await to("m1"), /Airport/, address);
        assert.match(await to("m2"), /Harbour/, address);
      });
    }
  });

  test("sees a percentage for a station and yes or no for a line", async () => {
    await open("/delays/north?stop=c", async (page) => assert.equal(await page.locator(".answer.is-share").count(), 1));
    await open("/delays/north?route=T1", async (page) => {
      assert.equal(await page.locator(".answer.is-share").count(), 0);
      assert.equal(await page.locator(".answer").getAttribute("data-answer"), "yes");
    });
  });
});

describe("an open board", () => {
  test("has a Later link that never leads back to the current departures", async () => {
    await open("/stops/north/c", async (page) => {
      await page.locator('#live[data-status="live"]').waitFor();
      const after = () => page.locator("a[data-later]").evaluate((link) => Number(new URL(/** @type {HTMLAnchorElement} */ (link).href).searchParams.get("after")));
      const last = () => page.locator(".board tbody tr").last().evaluate((row) => Number(row.getAttribute("data-leaves")));
      // On a page that has been open for long, the server's link leads into the past.
      await page.locator("a[data-later]").evaluate((link) => (/** @type {HTMLAnchorElement} */ (link).href = `${location.pathname}?after=1`));
      await say("trips", [late("T1-1", 660), late("B2-1", 0)]);
      await page.locator('[data-trip="T1-1"] .delay', { hasText: "11 min late" }).waitFor();
      assert.equal(await after(), await last());
    });
  });
});
