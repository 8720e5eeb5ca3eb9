/** An open board and an open trip: live times, later departures, and missing live times. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, phone, startServer, until, visitPage } from "./support.js";

/** Number of trips that leave before the trip of line `B`, more than a board shows. */
const TRIPS = 45;

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
let folder = "";

const now = () => Math.floor(Date.now() / 1000);
const begin = now();
const midnight = begin - (begin % 86_400);
const time = (/** @type {number} */ at) => [at / 3600, (at / 60) % 60, at % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const schedule = path.join(folder, "town");
  await mkdir(schedule);
  // The trip belongs to the previous service day, so that its first calls are before midnight at any time of day.
  const long = Array.from({ length: 14 }, (_, call) => ({ at: time(begin - midnight + 86_400 - 3_300 + call * 600), line: [call % 2 ? "s4" : "s3", call + 1], id: "long" }));
  const trips = [...Array.from({ length: TRIPS }, (_, at) => ({ id: `a${at}`, route: "A", leaves: begin + 600 + at * 60 })), { id: "b", route: "B", leaves: begin + 5_000 }];
  const files = {
    "agency.txt": "agency_id,agency_name,agency_url,agency_timezone\nx,X,https://x.example,UTC\n",
    "stops.txt": "stop_id,stop_name,stop_lat,stop_lon\ns1,First,59.91,10.75\ns2,Last,59.93,10.77\ns3,West,59.91,10.71\ns4,East,59.93,10.73\n",
    "routes.txt": "route_id,agency_id,route_short_name,route_type\nA,x,A,3\nB,x,B,3\nC,x,C,3\n",
    "calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nD,1,1,1,1,1,1,1,20200101,20991231\n",
    "trips.txt": `route_id,service_id,trip_id\n${trips.map(({ id, route }) => `${route},D,${id}\n`).join("")}C,D,long\n`,
    "stop_times.txt": `trip_id,arrival_time,departure_time,stop_id,stop_sequence\n${trips
      .flatMap(({ id, leaves }) => ["s1", "s2"].map((stop, call) => ({ at: time(leaves - midnight + call * 300), line: [stop, call + 1], id })))
      .concat(long)
      .map(({ id, at, line }) => `${id},${at},${at},${line}\n`)
      .join("")}`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(schedule, name), text);
  await say({ a0: 120, b: 180 }, 240);
  const config = `
    [[feed]]
    id = "town"
    url = ${JSON.stringify(schedule)}
    [[feed]]
    id = "live"
    url = ${JSON.stringify(path.join(folder, "live.json"))}
    format = "gtfs-rt"
    static = "town"
    poll = "1s"
    max_age = "10s"`;
  [server, browser] = await Promise.all([startServer(folder, config, "/stops/town/s1"), launch()]);
  const page = async () => (await fetch(`${server.base}/stops/town/s1`)).text();
  await until(async () => (await page()).includes("2 min late"), "live times");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

/** Writes a message with the delays of trips. @param {Record<string, number>} delays in seconds @param {number} age of the updates in seconds */
async function say(delays, age) {
  const timestamp = now() - age;
  // The long trip belongs to the previous service day.
  const date = (/** @type {string} */ id) => new Date((midnight - (id === "long" ? 86_400 : 0)) * 1000).toISOString().slice(0, 10).replaceAll("-", "");
  const entity = Object.entries(delays).map(([id, delay]) => ({
    id,
    trip_update: { timestamp, trip: { trip_id: id, start_date: date(id) }, stop_time_update: [{ stop_sequence: 1, departure: { delay } }] },
  }));
  const file = path.join(folder, "live.json");
  await writeFile(`${file}.new`, JSON.stringify({ header: { gtfs_realtime_version: "2.0", timestamp: now() }, entity }));
  await rename(`${file}.new`, file);
}

/** @param {string} address @param {(page: import("playwright-core").Page) => Promise<void>} look @param {import("playwright-core").BrowserContextOptions} [options] */
async function open(address, look, options) {
  const lookLive = async (/** @type {import("playwright-core").Page} */ page) => {
    await page.locator('#live[data-status="live"]').waitFor();
    await look(page);
  };
  await visitPage(browser, `${server.base}${address}`, lookLive, options);
}

describe("an open board", () => {
  test("has rows that link to their trips, also in rows made by scripts", async () => {
    await open("/stops/town/s1", async (page) => {
      await say({ a0: 300, b: 180 }, 0);
      await page.locator('[data-trip="a0"] .delay', { hasText: "5 min late" }).waitFor();
      const made = await page.locator('[data-trip="a0"] .trip-link').getAttribute("href");
      const plain = await (await fetch(`${server.base}/stops/town/s1`)).text();
      assert.ok(plain.includes(`href="${made}"`), String(made));
      assert.equal((await fetch(`${server.base}${made}`)).status, 200);
      assert.equal(await page.locator(".board tbody .source", { hasText: "live" }).count(), 0, "rows do not name the feed");
    });
  });

  test("of a later time keeps its time, and leads back", async () => {
    await open("/stops/town/s1", async (page) => {
      const ids = () => page.locator(".board tbody tr").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
      const first = await ids();
      await Promise.all([page.waitForURL(/after=/), page.locator("[data-later]").click()]);
      await page.locator('#live[data-status="live"]').waitFor();
      const later = await ids();
      assert.ok(later.length > 0 && later.every((id) => !first.includes(id)), "other departures");
      await say({ a0: 120, b: 240 }, 0);
      await page.locator('[data-trip="b"] .delay', { hasText: "4 min late" }).waitFor();
      assert.ok((await ids()).every((id) => !first.includes(id)), "still other departures");
      await Promise.all([page.waitForURL((url) => !url.searchParams.has("after")), page.locator('a[rel="prev"]').click()]);
      await page.locator('#live[data-status="live"]').waitFor();
      assert.equal((await ids())[0], first[0]);
    });
  });
});

describe("an open trip", () => {
  test("shows its next stop on the first screen, and earlier stops in a section that stays open", async () => {
    const look = async (/** @type {import("playwright-core").Page} */ page) => {
      const [next, earlier] = [page.locator("#next"), page.locator("#earlier-calls")];
      const box = await next.boundingBox();
      assert.ok(box && box.y + box.height < phone.viewport.height, "on the first screen");
      assert.equal(await next.getAttribute("aria-current"), "step");
      assert.equal(await earlier.locator(".is-past").count(), 6);
      assert.equal(await page.locator('.trip-standing a[href="#next"]').count(), 1);
      assert.deepEqual(new Set(await earlier.locator(".delay").allTextContents()), new Set([""]), "the timetable does not say that the trip has passed");
      await earlier.locator("summary").click();
      await say({ long: 60 }, 0);
      await page.locator("#next .delay:not(.tone-scheduled)").waitFor();
      assert.equal(await earlier.getAttribute("open"), "", "still open");
    };
    // The trip has no live times yet, so its page has no sign to wait for.
    await visitPage(browser, `${server.base}/trips/town/long`, look, phone);
  });

  test("updates its times", async () => {
    await say({ a0: 120 }, 0);
    await open("/trips/town/a0", async (page) => {
      await say({ a0: 420 }, 0);
      await page.locator(".trip-calls .delay", { hasText: "7 min late" }).first().waitFor();
    });
  });
});

describe("while live times are missing", () => {
  test("a board tells riders, hides the code in details, and does not say Live", async () => {
    await say({ a0: 120, b: 180 }, 0);
    await open("/stops/town/s1", async (page) => {
      const banner = page.locator("[data-trouble]");
      assert.equal(await banner.isVisible(), false);
      await unlink(path.join(folder, "live.json"));
      await banner.waitFor({ state: "visible" });
      await page.locator('#live[data-status="stale"]').waitFor();
      assert.match(await banner.locator("time").innerText(), /\d\d:\d\d$/);
      assert.equal(await banner.locator("[data-reason-of]").isVisible(), false);
      await banner.locator("summary").click();
      assert.ok(await banner.locator("[data-reason-of]").isVisible());
      await say({ a0: 120, b: 180 }, 0);
      await banner.waitFor({ state: "hidden" });
      await page.locator('#live[data-status="live"]').waitFor();
    });
  });
});
