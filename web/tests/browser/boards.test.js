/** What an open board says of how old its times are. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, openPage, startServer, until } from "./support.js";

/** How many trips leave before the one of the line `B`, more than a board asks the ages of. */
const TRIPS = 45;

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
let folder = "";

const now = () => Math.floor(Date.now() / 1000);
/** A time of today by the clock of UTC, that many seconds on; beyond midnight it goes on counting. */
const begin = now();
const midnight = begin - (begin % 86_400);
const time = (/** @type {number} */ at) => [at / 3600, (at / 60) % 60, at % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const schedule = path.join(folder, "town");
  await mkdir(schedule);
  const trips = [...Array.from({ length: TRIPS }, (_, at) => ({ id: `a${at}`, route: "A", leaves: begin + 600 + at * 60 })), { id: "b", route: "B", leaves: begin + 5_000 }];
  const files = {
    "agency.txt": "agency_id,agency_name,agency_url,agency_timezone\nx,X,https://x.example,UTC\n",
    "stops.txt": "stop_id,stop_name,stop_lat,stop_lon\ns1,First,59.91,10.75\ns2,Last,59.93,10.77\n",
    "routes.txt": "route_id,agency_id,route_short_name,route_type\nA,x,A,3\nB,x,B,3\n",
    "calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nD,1,1,1,1,1,1,1,20200101,20991231\n",
    "trips.txt": `route_id,service_id,trip_id\n${trips.map(({ id, route }) => `${route},D,${id}\n`).join("")}`,
    "stop_times.txt": `trip_id,arrival_time,departure_time,stop_id,stop_sequence\n${trips
      .flatMap(({ id, leaves }) => ["s1", "s2"].map((stop, call) => ({ at: time(leaves - midnight + call * 300), line: [stop, call + 1], id })))
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
    poll = "1s"`;
  [server, browser] = await Promise.all([startServer(folder, config, "/stops/town/s1"), launch()]);
  const page = async () => (await fetch(`${server.base}/stops/town/s1`)).text();
  await until(async () => (await page()).includes("4 min ago"), "live times");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

/** A message about trips that are late, told so many seconds ago. @param {Record<string, number>} delays @param {number} age */
async function say(delays, age) {
  const timestamp = now() - age;
  const date = new Date(midnight * 1000).toISOString().slice(0, 10).replaceAll("-", "");
  const entity = Object.entries(delays).map(([id, delay]) => ({
    id,
    trip_update: { timestamp, trip: { trip_id: id, start_date: date }, stop_time_update: [{ stop_sequence: 1, departure: { delay } }] },
  }));
  const file = path.join(folder, "live.json");
  await writeFile(`${file}.new`, JSON.stringify({ header: { gtfs_realtime_version: "2.0", timestamp: now() }, entity }));
  await rename(`${file}.new`, file);
}

/** Opens a board that writes down each age that it shows of a trip. @param {string} address @param {string} trip */
async function open(address, trip) {
  const opened = await openPage(browser);
  await opened.page.addInitScript((trip) => {
    const seen = (window.agesSeen = []);
    const look = () => {
      const text = document.querySelector(`[data-trip="${trip}"] .age`)?.textContent;
      if (text && seen.at(-1) !== text) seen.push(text);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, trip);
  await opened.page.goto(`${server.base}${address}`, { waitUntil: "load" });
  await opened.page.locator('#live[data-status="live"]').waitFor();
  return { ...opened, seen: () => opened.page.evaluate(() => window.agesSeen) };
}

describe("an open board", () => {
  test("never says that a time has just been told that was told long ago", async () => {
    await say({ a0: 120, b: 180 }, 240);
    const { page, context, faults, seen } = await open("/stops/town/s1", "a0");
    try {
      // After a whole state it is asked how old the times are.
      await page.waitForResponse((reply) => reply.url().includes("/departures"));
      await page.waitForFunction(() => document.querySelector('[data-trip="a0"] .age')?.textContent?.includes("min ago"));
      assert.deepEqual((await seen()).filter((text) => !/^[3-9] min ago$/.test(text)), []);
      await say({ a0: 300, b: 180 }, 0);
      await page.locator('[data-trip="a0"] .delay', { hasText: "5 min late" }).waitFor();
      assert.match(await page.locator('[data-trip="a0"] .age').innerText(), /^(just now|\d+ s ago)$/);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
    }
  });

  test("of some lines keeps the ages of their times, however many leave before", async () => {
    await say({ a0: 120, b: 180 }, 240);
    const isOld = async () => (await (await fetch(`${server.base}/stops/town/s1?lines=B`)).text()).includes("4 min ago");
    await until(isOld, "the times are old again");
    const { page, context, faults } = await open("/stops/town/s1?lines=B", "b");
    try {
      const age = () => page.locator('[data-trip="b"] .age').innerText();
      assert.match(await age(), /min ago$/);
      // What is asked after the channel's state is over.
      await page.waitForResponse((reply) => reply.url().includes("lines=B"));
      await say({ a0: 120, b: 180 }, 5);
      await until(async () => /^\d+ s ago$/.test(await age()), "the same told again", 60_000);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
    }
  });
});
