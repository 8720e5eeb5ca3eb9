/** Pages with unhealthy feeds: ended timetables, data years old, a failing source, a paused feed. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { startProducer, writeSchedule } from "./city.js";
import { assertFitsScreens, launch, phone, startServer, until, visitPage } from "./support.js";

const TOKEN = "a token of the tests";
const DAY_S = 86_400;
/** Age of the old data: eight years. */
const LONG_AGO_S = 8 * 365 * DAY_S;
const DAYS_LEFT = 5;

const stops = [
  { id: "s", name: "South", lat: 59.9, lon: 10.7 },
  { id: "n", name: "North", lat: 59.95, lon: 10.72 },
];
const lines = [{ id: "A", short: "A", long: "South – North", type: 3, stops: ["s", "n"] }];
const positions = [{ id: "v1", route: "A", lat: 59.91, lon: 10.71 }];
const day = (/** @type {number} */ ahead) => new Date(Date.now() + ahead * DAY_S * 1_000).toISOString().slice(0, 10).replaceAll("-", "");

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {Awaited<ReturnType<typeof startProducer>>} */
let producer;
/** @type {import("playwright-core").Browser} */
let browser;
let folder = "";

/** @param {string} feed */
const item = async (feed) => (await fetch(`${server.base}/api/v1/feeds/${feed}`)).json();
/** @param {string} feed @param {string} state */
const untilState = (feed, state) => until(async () => (await item(feed)).state === state, `${feed} to be ${state}`);
/** @param {string} act */
const administer = async (act) => assert.ok((await fetch(`${server.base}/api/v1/admin/feeds/${act}`, { method: "POST", headers: { authorization: `Bearer ${TOKEN}` } })).ok, act);

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const write = (/** @type {string} */ id, /** @type {object} */ service) => writeSchedule(path.join(folder, id), `The ${id}`, stops, lines, service);
  await Promise.all([write("ended", { end: "20240601" }), write("ending", { end: day(DAYS_LEFT) }), write("town", {}), write("museum", {})]);
  producer = await startProducer();
  producer.feeds.set("town-live", { positions });
  producer.feeds.set("museum-live", { positions, age: LONG_AGO_S, headerAge: LONG_AGO_S });
  const schedule = (/** @type {string} */ id) => `[[feed]]\nid = "${id}"\nurl = ${JSON.stringify(path.join(folder, id))}\n`;
  const live = (/** @type {string} */ id) => `[[feed]]\nid = "${id}-live"\nurl = "${producer.origin}/${id}-live.pb"\nformat = "gtfs-rt"\nstatic = "${id}"\npoll = "1s"\n`;
  const config = `[admin]\ntoken = "${TOKEN}"\n${["ended", "ending", "town", "museum"].map(schedule).join("")}${["town", "museum"].map(live).join("")}[[feed]]\nid = "down"\nurl = "http://127.0.0.1:1/x"\nformat = "raw"\n`;
  [server, browser] = await Promise.all([startServer(folder, config, "/stops/town/s"), launch()]);
  await Promise.all([untilState("ended", "expired"), untilState("ending", "ok"), untilState("museum-live", "stale"), untilState("down", "failing")]);
});
beforeEach(async () => {
  producer.feeds.set("town-live", { positions });
  await untilState("town-live", "ok");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  producer?.stop();
  await rm(folder, { recursive: true });
});

/** @param {string} address @param {(page: import("playwright-core").Page) => Promise<void>} look */
const open = (address, look) => visitPage(browser, `${server.base}${address}`, look);
const isLive = (/** @type {import("playwright-core").Page} */ page) => page.locator('#live[data-status="live"]').waitFor();
const row = (/** @type {import("playwright-core").Page} */ page, /** @type {string} */ feed) => page.locator("#feeds tbody tr").filter({ has: page.locator(`a.feed-name[href="/feeds/${feed}"]`) });
const stateIn = (/** @type {import("playwright-core").Page} */ page, /** @type {string} */ feed, /** @type {string} */ state) => page.locator(`[data-state-of="${feed}"][data-state="${state}"]`).first();

test("the pages of unhealthy feeds fit three screens", async () => {
  for (const feed of ["down", "ended", "museum-live"]) {
    for (const options of [{}, phone]) await visitPage(browser, `${server.base}/feeds/${feed}`, (page) => assertFitsScreens(page, 3), options);
  }
});

describe("a timetable that has ended", () => {
  test("is shown as expired in the catalog, its filter, on the feed's page, the dashboard and boards", async () => {
    await open("/", async (page) => {
      await isLive(page);
      assert.equal(await row(page, "ended").locator('[data-state="expired"]').count(), 1);
      assert.match(await row(page, "ending").locator("[data-service-of]").innerText(), /\d/);
      await Promise.all([page.waitForURL(/state=expired/), page.locator("select#state").selectOption("expired")]);
      assert.deepEqual(await page.locator(".feed-name").evaluateAll((links) => links.map((link) => link.getAttribute("href"))), ["/feeds/ended"]);
    });
    await open("/feeds/ended", async (page) => {
      assert.ok(await stateIn(page, "ended", "expired").isVisible());
      assert.match((await page.locator('[data-since-of="ended"] time').getAttribute("datetime")) ?? "", /^2024-06-02T00:00:00/);
    });
    await open("/ops", async (page) => {
      await page.fill("#token", TOKEN);
      await Promise.all([page.waitForURL("**/ops"), page.keyboard.press("Enter")]);
      await page.locator('#feed-ended [data-state="expired"]').first().waitFor();
    });
    await open("/stops/ended/s", async (page) => {
      const sign = page.locator('#live[data-status="stale"]');
      await sign.waitFor({ state: "attached" });
      assert.ok(await sign.isHidden(), "the banner says it");
      assert.equal(await page.locator(".board-clock").count(), 0);
    });
    for (const address of ["/stops/ended/s", "/routes/ended/A", "/networks/ended"]) {
      await open(address, async (page) => assert.ok(await page.locator('[data-expired-of="ended"]').isVisible(), address));
    }
  });

  test("is announced in the last days before its end", async () => {
    await open("/stops/ending/s", async (page) => {
      assert.equal(await page.locator('[data-expired-of="ending"]').isVisible(), false);
      const { service_days_left: left } = await item("ending");
      assert.equal(await page.locator('[data-ends-of="ending"]').getAttribute("data-days-left"), String(left));
    });
    await open("/?expires=soon", async (page) => assert.deepEqual(await page.locator(".feed-name").evaluateAll((links) => links.map((link) => link.getAttribute("href"))), ["/feeds/ending"]));
  });
});

describe("a feed that fails", () => {
  test("is first on the dashboard, with its full reason", async () => {
    await open("/ops", async (page) => {
      await page.fill("#token", TOKEN);
      await Promise.all([page.waitForURL("**/ops"), page.keyboard.press("Enter")]);
      // The page shows current states to an admin, and the test has waited for this state.
      assert.equal(await page.locator("#ops-rows tr[data-feed]").first().getAttribute("data-feed"), "down");
      await isLive(page);
      await page.locator('#ops-rows tr[data-feed]:first-child [data-state-of="down"][data-state="failing"]').waitFor();
      const reason = page.locator('#feed-down [data-reason-of="down"]');
      assert.ok(await reason.evaluate((it) => it.scrollWidth <= it.clientWidth && it.scrollHeight <= it.clientHeight), "not cut off");
    });
  });
});

describe("data that are eight years old", () => {
  test("are stale, with their age in days and a date on pages for riders", async () => {
    const year = String(new Date(Date.now() - LONG_AGO_S * 1_000).getUTCFullYear());
    await open("/", async (page) => {
      assert.equal(await row(page, "museum-live").locator('[data-state="stale"]').count(), 1);
      assert.match(await row(page, "museum-live").locator(".cell-age").innerText(), /\d\u202f\d{3} days/);
    });
    await open("/routes/museum/A", async (page) => {
      await page.locator('#live[data-status="stale"]').waitFor();
      const banner = page.locator('[data-trouble]');
      assert.ok(await banner.isVisible());
      assert.ok((await banner.locator("time").innerText()).includes(year));
    });
  });
});

describe("an open page", () => {
  test("shows a failing source in headline, reason, filter and time of the change", async () => {
    await open("/", async (catalog) => {
      await isLive(catalog);
      const headline = await catalog.locator("#feeds-headline").innerText();
      await open("/feeds/town-live", async (page) => {
        await isLive(page);
        const since = () => page.locator('[data-since-of="town-live"] time').getAttribute("datetime").then((text) => Date.parse(text ?? ""));
        const before = await since();
        producer.feeds.set("town-live", { positions, fails: true });
        await stateIn(page, "town-live", "stale").waitFor();
        await until(async () => (await since()) > before, "the time of the change");
        assert.match(await page.locator('[data-reason-of="town-live"]').first().innerText(), /http_500/);
        await stateIn(catalog, "town-live", "stale").waitFor();
        await until(async () => (await catalog.locator("#feeds-headline").innerText()) !== headline, "another headline");
        assert.ok(await row(catalog, "town-live").locator("[data-reason-of]").isVisible());
        assert.equal(await catalog.locator('#feeds-headline a[href="/?state=stale"]').count(), 1);
        producer.feeds.set("town-live", { positions });
        await stateIn(page, "town-live", "ok").waitFor();
        await stateIn(catalog, "town-live", "ok").waitFor();
      });
    });
  });

  test("of a line does not say Live while polls fail, before there is a banner", async () => {
    await open("/routes/town/A", async (page) => {
      await isLive(page);
      producer.feeds.set("town-live", { positions, fails: true });
      await page.locator('#live[data-status="stale"]').waitFor();
      assert.equal(await page.locator("[data-trouble]").isVisible(), false);
      producer.feeds.set("town-live", { positions });
      await isLive(page);
    });
  });

  test("with a filtered list removes and adds a feed whose state changes", async () => {
    await open("/?state=ok", async (page) => {
      await isLive(page);
      await row(page, "town-live").waitFor();
      producer.feeds.set("town-live", { positions, fails: true });
      await row(page, "town-live").waitFor({ state: "detached" });
      const listed = await page.locator(".feed-name").count();
      assert.match(await page.locator("#feeds .card-head").innerText(), new RegExp(`\\b${listed} `));
      producer.feeds.set("town-live", { positions });
      // The page does not follow unlisted feeds, so the feed appears with the next fetch of the list.
      await row(page, "town-live").waitFor({ timeout: 60_000 });
    });
  });

  test("shows a paused feed in the catalog and on the feed's page", async () => {
    await open("/", async (catalog) => {
      await isLive(catalog);
      await open("/feeds/town-live", async (page) => {
        await isLive(page);
        await administer("town-live/pause");
        await stateIn(page, "town-live", "paused").waitFor();
        await stateIn(catalog, "town-live", "paused").waitFor();
        await catalog.locator('select#state option[value="paused"]').waitFor({ state: "attached" });
        await administer("town-live/resume");
        await stateIn(page, "town-live", "ok").waitFor();
        await stateIn(catalog, "town-live", "ok").waitFor();
      });
    });
  });
});
