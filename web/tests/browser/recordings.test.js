/** The map of a recording, whose clock is years behind that of the reader. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { positionsMessage, writeSchedule } from "./city.js";
import { launch, startServer, visitPage } from "./support.js";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {string} */
let folder;

const stops = [
  { id: "central", name: "Central", lat: 59.91, lon: 10.75 },
  { id: "harbour", name: "Harbour", lat: 59.9, lon: 10.73 },
];
const lines = [{ id: "t1", short: "1", long: "Harbour – Central", type: 0, color: "C8102E", stops: ["harbour", "central"] }];
/** 12:00:00 UTC on 8 February 2024. */
const RECORDED = 1_707_393_600;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  browser = await launch();
  await writeSchedule(path.join(folder, "town"), "Town Transport", stops, lines, { time: 12 * 3_600 + 600 });
  const recording = path.join(folder, "recording");
  await mkdir(recording);
  for (let at = RECORDED; at < RECORDED + 600; at += 10) await writeFile(path.join(recording, `${at}.pb`), positionsMessage([{ id: "tram", route: "t1", ...stops[0] }], at));
  server = await startServer(
    folder,
    '[[feed]]\nid = "town"\nurl = "town"\nformat = "gtfs"\n[[feed]]\nid = "trams"\nurl = "replay://recording?speed=10"\nformat = "gtfs-rt"\nstatic = "town"\npoll = "1s"\n',
  );
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

test("the map marks the network", async () => {
  await visitPage(browser, `${server.base}/map?network=town`, async (page) => {
    const mark = page.locator('.panel [data-recording-of="town"]');
    await mark.waitFor();
    assert.match((await mark.locator("time").getAttribute("datetime")) ?? "", /^2024-02-08T12:/);
  });
});

test("the card of a stop has the recorded day", async () => {
  await visitPage(browser, `${server.base}/map?stop=town:central`, async (page) => {
    const head = page.locator(".detail [data-live]");
    await head.waitFor();
    assert.match(await head.innerText(), /8\sFeb(ruary)?\s2024/);
    assert.equal(await page.locator('.detail [data-live="live"]').count(), 0, "nothing is live");
    // Ten recorded seconds are one: the next minute begins within six.
    const first = await head.innerText();
    await page.waitForFunction((before) => document.querySelector(".detail [data-live]")?.textContent !== before, first, { timeout: 15_000 });
    assert.match(await head.innerText(), /8\sFeb(ruary)?\s2024, 12:/);
  });
});

test("the list of vehicles marks the network", async () => {
  await visitPage(browser, `${server.base}/map?network=town`, async (page) => {
    await page.getByRole("button", { name: "List" }).click();
    await page.locator('[data-network="town"][data-recording]').waitFor();
  });
});

test("open pages are loaded again when their recording has ended", async () => {
  const shortFolder = path.join(folder, "short");
  await writeSchedule(path.join(shortFolder, "town"), "Town Transport", stops, lines, { time: 12 * 3_600 + 600 });
  await mkdir(path.join(shortFolder, "recording"));
  await writeFile(path.join(shortFolder, "recording", "1.pb"), positionsMessage([{ id: "tram", route: "t1", ...stops[0] }], RECORDED));
  // Ten recorded minutes after its message, which are 15 seconds, the recording has ended.
  const feeds = '[[feed]]\nid = "town"\nurl = "town"\nformat = "gtfs"\n[[feed]]\nid = "trams"\nurl = "replay://recording?speed=40"\nformat = "gtfs-rt"\nstatic = "town"\npoll = "1s"\n';
  const short = await startServer(shortFolder, feeds);
  try {
    const addresses = ["/stops/town/central", "/feeds/trams", "/map?network=town"];
    await Promise.all(
      addresses.map((address) =>
        visitPage(browser, `${short.base}${address}`, async (page) => {
          const ended = page.locator('[data-recording-of="town"][data-ended]').first();
          assert.equal(await ended.count(), 0, `${address} is open before the end`);
          await ended.waitFor({ state: "attached", timeout: 60_000 });
        }),
      ),
    );
  } finally {
    await short.stop();
  }
});
