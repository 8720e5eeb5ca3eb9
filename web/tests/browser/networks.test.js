/** The map with many networks: small, stale and ended ones, and one inside another. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { startProducer, writeSchedule } from "./city.js";
import { launch, openPage, phone, startServer, until } from "./support.js";

const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Networks by id, with two stops each; `size` is their distance in degrees. @type {Record<string, {name: string, lat: number, lon: number, size: number, end?: string, type?: number}>} */
const NETWORKS = {
  bay: { name: "Bay Transit", lat: 37.6, lon: -122.4, size: 0.6 },
  inner: { name: "Inner Buses", lat: 37.65, lon: -122.35, size: 0.5, end: "20200601" },
  kuopio: { name: "Kuopio", lat: 62.9, lon: 27.7, size: 0.1, end: "20200604" },
  oslo: { name: "Oslo", lat: 59.9, lon: 10.7, size: 0.1, type: 0 },
  cairns: { name: "Cairns", lat: -16.9, lon: 145.7, size: 0.1, end: "20210101" },
  brazil: { name: "São Paulo", lat: -23.5, lon: -46.6, size: 0.1, end: "20210101" },
  washington: { name: "Washington", lat: 38.9, lon: -77, size: 0.1, end: "20210101" },
  york: { name: "New York", lat: 40.7, lon: -74, size: 0.1, end: "20210101" },
};

/** A line without trips. */
const IDLE_LINE = { id: "l9", short: "9", long: "Old line", type: 3, stops: [] };

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
  for (const [id, { name, lat, lon, size, end, type = 3 }] of Object.entries(NETWORKS)) {
    const stops = [{ id: "a", name: `${name} West`, lat, lon }, { id: "b", name: `${name} East`, lat: lat - size / 2, lon: lon + size }];
    await writeSchedule(path.join(folder, id), name, stops, [{ id: "l1", short: "1", long: "West – East", type, stops: ["a", "b"] }, ...(id === "york" ? [IDLE_LINE] : [])], { end });
  }
  const { lat, lon } = NETWORKS.bay;
  // The message is always an hour old.
  producer.feeds.set("bay", { age: 3_600, headerAge: 3_600, positions: [{ id: "v-1", route: "l1", lat, lon }, { id: "v-2", route: "l1", lat: lat - 0.01, lon: lon + 0.02 }] });
  producer.feeds.set("oslo", { positions: [{ id: "v-1", route: "l1", lat: NETWORKS.oslo.lat, lon: NETWORKS.oslo.lon }] });
  const schedules = Object.entries(NETWORKS).map(([id, { name }]) => `[[feed]]\nid = "${id}"\nname = "${name}"\nurl = "${id}"\nformat = "gtfs"\n`);
  const vehicles = ["bay", "oslo"].map((id) => `[[feed]]\nid = "${id}-vehicles"\nurl = "${producer.origin}/${id}.pb"\nformat = "gtfs-rt"\nstatic = "${id}"\npoll = "1s"\n`);
  server = await startServer(folder, [...schedules, ...vehicles].join(""));
  const isStale = async () => (await (await fetch(`${server.base}/api/v1/feeds/bay-vehicles`)).json()).unreliable_since !== null;
  await until(async () => (await (await fetch(`${server.base}/geojson/bay/vehicles.geojson`)).json()).features.length === 2 && (await isStale()), "the old vehicles");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  producer?.stop();
  await rm(folder, { recursive: true });
});

/** @param {string} address @param {import("playwright-core").BrowserContextOptions} options @param {(page: import("playwright-core").Page) => Promise<void>} look */
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

const current = (/** @type {import("playwright-core").Page} */ page) => page.locator(".panel [data-region][aria-current]").evaluateAll((all) => all.map((each) => each.getAttribute("data-region")).join());

/** Returns true if the middle of every matching element is visible. @param {import("playwright-core").Page} page @param {string} selector */
const allAreSeen = (page, selector) =>
  page.locator(selector).evaluateAll((all) =>
    all.length > 0 && all.every((each) => {
      const { left, top, width, height } = each.getBoundingClientRect();
      return each.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }),
  );

test("the chosen network is the current one, even with another network inside it", async () => {
  await visit("/map?network=york", {}, async (page) => {
    await until(async () => (await current(page)) === "york", "New York");
    await page.click('.panel [data-region="bay"]');
    await until(async () => (await current(page)) === "bay", "the bay");
    await page.waitForURL(/at=37/);
    await page.reload();
    await until(async () => (await current(page)) === "bay", "the bay again");
    await page.fill("#search", "inner");
    await page.locator('#results [role="option"]', { hasText: "network" }).click();
    await until(async () => (await current(page)) === "inner", "the network found by its name");
  });
});

for (const [name, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a small desk", { viewport: { width: 1100, height: 700 } }], ["a phone", phone]])) {
  test(`"Show all" shows each network next to the panel or links it, on ${name}`, async () => {
    await visit("/map?network=york", options, async (page) => {
      await until(async () => (await current(page)) === "york", "New York");
      await page.click("#show-all-networks");
      await page.locator(".region-bubble").first().waitFor();
      const outside = () => page.locator("#outside [data-outside]").evaluateAll((all) => all.map((each) => each.getAttribute("data-outside")));
      for (const id of Object.keys(NETWORKS)) {
        await until(async () => (await outside()).includes(id) || (await allAreSeen(page, `.region-bubble[data-networks~="${id}"]`)), `${id} in view or linked`);
      }
      assert.equal(await page.locator("#panel-more").isHidden(), options === phone, "a small screen shows the map instead of the panel");
      if (options === phone) {
        await page.locator("#outside [data-outside]").first().click();
        assert.ok(await page.locator("#panel-more").isVisible());
        await page.locator("#outside").waitFor({ state: "hidden" });
        await page.goBack();
      } else if (!options.viewport) {
        assert.deepEqual(await outside(), []);
      }
      await page.goBack();
      await until(async () => (await current(page)) === "york", "New York again");
      assert.ok(await page.locator("#panel-more").isVisible());
    });
  });
}

test("a filter by mode leaves only the bubbles of networks with that mode", async () => {
  await visit("/map?at=25,0,1&mode=tram", {}, async (page) => {
    await page.locator('.region-bubble[data-networks="oslo"]').waitFor();
    assert.equal(await page.locator(".region-bubble").count(), 1);
    await page.locator('#modes [aria-pressed="true"]').click();
    await until(async () => (await page.locator(".region-bubble").count()) > 1, "the other networks");
  });
});

test("a filter by mode applies to the notices and the status", async () => {
  await visit("/map?at=25,0,1", {}, async (page) => {
    await page.locator("#more-states").waitFor();
    await page.locator('#live[data-status="stale"]').waitFor();
    await page.locator("#modes .chip", { hasText: "Tram" }).click();
    await page.locator("#feed-states").waitFor({ state: "hidden" });
    assert.equal(await page.locator("#feed-states [data-feed]").count(), 0);
    await page.locator('#live[data-status="live"]').waitFor();
    await page.goBack();
    await page.locator('#feed-states [data-feed="bay-vehicles"]').waitFor();
  });
});

for (const [name, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a phone", phone]])) {
  test(`an opened bubble names its networks in the panel and on the map, on ${name}`, async () => {
    await visit("/map?network=kuopio", options, async (page) => {
      await until(async () => (await current(page)) === "kuopio", "Kuopio");
      await page.click("#show-all-networks");
      await page.locator('.region-bubble[data-networks~="york"][data-networks~="washington"]').click();
      const named = () => page.locator("#members [data-member]").evaluateAll((all) => all.map((each) => each.getAttribute("data-member")).sort().join());
      await until(async () => (await named()) === "washington,york", "the networks of the bubble");
      assert.ok(await page.locator("#members").isVisible());
      const marked = await page.locator(".panel [data-is-member]").evaluateAll((all) => all.map((each) => each.getAttribute("data-region")).sort().join());
      assert.equal(marked, "washington,york");
      for (const id of ["york", "washington"]) await page.locator(`.region-bubble[data-networks~="${id}"]:not([data-label="none"])`).waitFor();
      await page.goBack();
      await page.locator("#members").waitFor({ state: "hidden" });
      assert.equal(await page.locator(".panel [data-is-member]").count(), 0);
      await page.goForward();
      assert.ok(await page.locator("#members").isHidden());
    });
  });
}

test("networks that lie too close share a label with their names, also while they are drawn, and each can be reached", async () => {
  await visit("/map?at=37.5,-122.1,7", {}, async (page) => {
    const label = page.locator('.region-bubble.is-drawn[data-networks~="bay"][data-networks~="inner"]');
    await label.waitFor();
    for (const id of ["bay", "inner"]) assert.ok((await label.locator("span").innerText()).includes(NETWORKS[id].name));
    await label.locator("span").click();
    await page.locator('#members [data-member="inner"]').click();
    await until(async () => (await current(page)) === "inner", "the inner network");
    assert.ok(await page.locator("#members").isHidden());
  });
});

test("the label of a bubble for screen readers counts like the panel", async () => {
  await visit("/map?at=37.5,-122.1,3", {}, async (page) => {
    const count = page.locator("#count");
    await until(async () => /^2 /.test(await count.innerText()), "the old vehicles");
    const words = await count.innerText();
    const bubble = page.locator('.region-bubble[data-networks~="bay"]');
    await until(async () => (await bubble.getAttribute("aria-label"))?.includes(`: ${words}.`) ?? false, "the same count");
  });
});

test("while all networks are in view, the panel does not offer to show them", async () => {
  await visit("/map?at=25,0,1", {}, async (page) => {
    await page.locator(".region-bubble").first().waitFor();
    await page.locator("#show-all-networks").waitFor({ state: "hidden" });
    await page.click('.panel [data-region="york"]');
    await page.locator("#show-all-networks").waitFor({ state: "visible" });
  });
});

test("on a phone a bubble of several networks leads to all of them, next to the panel and the credits", async () => {
  await visit("/map?network=york", phone, async (page) => {
    await until(async () => (await current(page)) === "york", "New York");
    await page.click("#show-all-networks");
    const bubble = page.locator('.region-bubble[data-networks~="york"][data-networks~="washington"]');
    await bubble.click();
    for (const id of ["york", "washington"]) {
      const own = `.region-bubble[data-networks="${id}"]`;
      await until(async () => (await page.locator(own).count()) === 1 && (await allAreSeen(page, own)), `${id} in view`);
      const { box, label, credits } = await page.locator(own).evaluate((each) => {
        const rect = (/** @type {Element|null} */ of) => /** @type {Element} */ (of).getBoundingClientRect().toJSON();
        return { box: rect(each), label: rect(each.querySelector("span")), credits: rect(document.querySelector(".maplibregl-ctrl-attrib")) };
      });
      assert.ok(box.left >= 0 && box.right <= 390, JSON.stringify(box));
      assert.ok(label.bottom <= credits.top || label.right <= credits.left, JSON.stringify({ label, credits }));
    }
  });
});

test("each network away from others has its own bubble, which opens it", async () => {
  for (const id of ["kuopio", "brazil", "washington"]) {
    await visit(`/map?at=${NETWORKS[id].lat},${NETWORKS[id].lon},4`, {}, async (page) => {
      const bubble = page.locator(`.region-bubble[data-networks="${id}"]`);
      await bubble.waitFor();
      assert.ok((await bubble.getAttribute("aria-label"))?.startsWith(NETWORKS[id].name));
      assert.equal(await bubble.locator("span").innerText(), NETWORKS[id].name);
      await bubble.click();
      await until(async () => (await current(page)) === id, NETWORKS[id].name);
    });
  }
});

test("the panel says that there is no such network", async () => {
  await visit("/map?network=nope", {}, async (page) => {
    await page.locator('#missing-network[data-missing="unknown"]').waitFor();
    await page.click('.panel [data-region="oslo"]');
    await until(async () => (await current(page)) === "oslo", "Oslo");
    assert.equal(await page.locator("#missing-network").count(), 0);
  });
  await visit("/map?network=oslo", {}, async (page) => {
    await until(async () => (await current(page)) === "oslo", "Oslo");
    assert.equal(await page.locator("#missing-network").count(), 0);
  });
});

test("the panel names the lines without trips", async () => {
  await visit("/map?network=york", {}, async (page) => {
    const note = page.locator('#idle-lines[data-count="1"]');
    await note.waitFor();
    assert.equal(await note.locator("a").getAttribute("href"), "/routes/york/l9");
    await page.click('.panel [data-region="oslo"]');
    await note.waitFor({ state: "hidden" });
  });
});

test("the panel says that no network in view has a mode", async () => {
  await visit("/map?network=york&mode=ferry", {}, async (page) => {
    await page.locator('#modes-note[data-missing="ferry"]').waitFor();
    assert.deepEqual(await page.locator("#modes .chip").evaluateAll((all) => all.map((each) => each.getAttribute("aria-pressed"))), ["false", "true"]);
    await page.locator('#modes [aria-pressed="true"]').click();
    await page.locator("#modes-note").waitFor({ state: "hidden" });
    await page.locator("#modes").waitFor({ state: "hidden" });
  });
});

test("on a phone the row of networks scrolls to the current one, also after Back", async () => {
  await visit("/map?network=washington", phone, async (page) => {
    const isSeen = (/** @type {string} */ id) =>
      page.locator(`.panel [data-region="${id}"]`).evaluate((link) => {
        const [box, list] = [link.getBoundingClientRect(), /** @type {Element} */ (link.closest("ul")).getBoundingClientRect()];
        return link.hasAttribute("aria-current") && box.left >= list.left && box.right <= list.right;
      });
    await until(() => isSeen("washington"), "Washington");
    await page.locator('.panel [data-region="oslo"]').evaluate((link) => /** @type {HTMLElement} */ (link).click());
    await until(() => isSeen("oslo"), "Oslo");
    await page.goBack();
    await until(() => isSeen("washington"), "Washington again");
  });
});

test('"Near me" far from all networks stays in place and offers the nearest one', async () => {
  const london = { permissions: ["geolocation"], geolocation: { latitude: 51.5, longitude: -0.12 } };
  await visit("/map?network=york", london, async (page) => {
    await until(async () => (await current(page)) === "york", "New York");
    await page.click("#locate");
    const nearest = page.locator("#locate-note [data-nearest]");
    await nearest.waitFor();
    assert.equal(await nearest.innerText(), NETWORKS.oslo.name);
    assert.match(await page.locator("#locate-note").innerText(), /1\D?\d{3} km/);
    assert.equal(await current(page), "york");
    assert.ok(await page.locator("#results").isHidden());
    await nearest.click();
    await until(async () => (await current(page)) === "oslo", "Oslo");
    assert.ok(await page.locator("#locate-note").isHidden());
  });
});

test("the card of a stop says that the timetable has ended, and takes the room of the networks", async () => {
  await visit("/map?stop=kuopio:a", {}, async (page) => {
    await page.locator('#detail [data-live="ended"]').waitFor();
    assert.ok(await page.locator("#panel-more").isHidden());
    await page.locator("#detail .close").click();
    await page.locator(".panel .regions").waitFor({ state: "visible" });
  });
});

test("zooming out by button keeps the place next to the panel in position", async () => {
  await visit("/map?network=york", {}, async (page) => {
    await until(async () => (await current(page)) === "york", "New York");
    // The address has no view until the map has moved.
    const zoom = () => Number(new URL(page.url()).searchParams.get("at")?.split(",")[2] ?? Infinity);
    while (zoom() > 3.5) {
      const before = zoom();
      await page.click(".maplibregl-ctrl-zoom-out");
      await until(() => zoom() < before - 0.9, "the map zoomed out");
    }
    const bubble = page.locator('.region-bubble[aria-label*="New York"]');
    const { x, width } = /** @type {any} */ (await bubble.boundingBox());
    const [panel, map] = await page.locator(".panel-search, #map").evaluateAll((all) => all.sort((a) => (a.id === "map" ? 1 : -1)).map((each) => each.getBoundingClientRect().toJSON()));
    assert.ok(Math.abs(x + width / 2 - (panel.right + map.right) / 2) < 40, JSON.stringify({ x, width, panel, map }));
  });
});

test("vehicles with old positions are not counted as in view", async () => {
  await visit("/map?network=bay", {}, async (page) => {
    await page.waitForFunction(() => /^2 \D+$/.test(document.querySelector("#count")?.textContent ?? ""));
    await page.click("#show-list");
    assert.equal(await page.locator("#list tbody tr.is-stale").count(), 2);
    assert.ok(await page.locator("#list-empty").isHidden());
  });
});

test("the list of a network without vehicles gives the reason and links to its pages, with scripts and without", async () => {
  for (const javaScriptEnabled of [true, false]) {
    await visit("/map?network=kuopio&show=list", { javaScriptEnabled }, async (page) => {
      const note = page.locator(`#list-empty[data-reason="${javaScriptEnabled ? "timetable_only" : "no_vehicle"}"]`);
      await note.waitFor();
      assert.equal(await page.locator("#list table:visible").count(), 0);
      await note.locator('a[href="/networks/kuopio"]').click();
      await page.waitForURL(/\/networks\/kuopio$/);
    });
  }
  await visit("/map?network=kuopio&show=list", {}, async (page) => {
    await page.locator("#list-empty").waitFor();
    await page.click('.panel [data-region="bay"]');
    await page.locator("#list tbody tr").first().waitFor();
    assert.ok(await page.locator("#list-empty").isHidden(), "the list follows the map");
  });
});

test("a button lists the notices that have no room, and stays on the map", async () => {
  await visit("/map?at=25,0,1", {}, async (page) => {
    const button = page.locator("#more-states");
    await button.waitFor();
    const rows = page.locator("#feed-states [data-feed]");
    const [listed, more] = [await rows.count(), Number(await button.getAttribute("data-more"))];
    assert.ok(more > 0);
    await button.click();
    await until(async () => (await rows.count()) === listed + more, "all notices");
    assert.equal(await button.getAttribute("aria-expanded"), "true");
    assert.equal(new URL(page.url()).pathname, "/map");
    await button.click();
    await until(async () => (await rows.count()) === listed, "the first notices");
  });
});

test("on a phone the panel takes less than half of the screen, shows that its row of networks scrolls, and can be closed", async () => {
  await visit("/map?at=25,0,1", phone, async (page) => {
    await page.locator("#feed-states li").first().waitFor();
    const height = () => page.locator(".panel-search").evaluate((panel) => panel.getBoundingClientRect().height / innerHeight);
    assert.ok((await height()) <= 0.401, String(await height()));
    assert.ok(await page.locator(".panel .regions-title").isVisible());
    const row = await page.locator(".panel .regions ul").evaluate((list) => ({ isCut: list.scrollWidth > list.clientWidth, shadow: getComputedStyle(list).backgroundImage }));
    assert.ok(row.isCut && row.shadow.includes("gradient"), JSON.stringify(row));
    const cut = await page.locator(".panel-more > :not([hidden])").evaluateAll((all) => all.filter((each) => each.clientHeight > 0 && each.scrollHeight > each.clientHeight + 1).map((each) => each.className));
    assert.deepEqual(cut, [], "no element is cut off");
    await page.click("#panel-toggle");
    assert.equal(await page.locator("#panel-toggle").getAttribute("aria-expanded"), "false");
    assert.ok(await page.locator("#panel-more").isHidden());
    assert.ok((await height()) < 0.2, String(await height()));
    assert.ok(await page.locator("#count").isVisible());
    await page.click("#panel-toggle");
    assert.ok(await page.locator("#panel-more").isVisible());
  });
});

test("axe reports no violations on the map of many networks", async () => {
  for (const [address, options] of /** @type {[string, any][]} */ ([["/map?at=25,-40,2", {}], ["/map?network=bay", { colorScheme: "dark" }], ["/map?network=kuopio&show=list", {}], ["/map?at=25,0,1", phone]])) {
    await visit(address, options, async (page) => {
      await page.locator("#feed-states li").first().waitFor();
      await page.evaluate(axeSource);
      const found = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(found.violations.map((/** @type {any} */ { id, nodes }) => [id, nodes.map((/** @type {any} */ { html }) => html)]), [], address);
    });
  }
});
