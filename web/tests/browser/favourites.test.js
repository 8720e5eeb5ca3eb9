/** Favourites: stops and lines that a reader has starred. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { writeSchedule } from "./city.js";
import { launch, openPage, phone, startServer } from "./support.js";

const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {string} */
let folder;

const stops = [
  { id: "central/1", name: "Central Station", lat: 59.91, lon: 10.75 },
  { id: "harbour", name: "Harbour", lat: 59.9, lon: 10.73 },
];
const lines = [{ id: "t1", short: "1", long: "Harbour – Central Station", type: 0, color: "C8102E", stops: ["harbour", "central/1"] }];

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  browser = await launch();
  for (const network of ["north", "south"]) await writeSchedule(path.join(folder, network), `${network} Transport`, stops, lines);
  server = await startServer(folder, '[[feed]]\nid = "north"\nurl = "north"\nformat = "gtfs"\n[[feed]]\nid = "south"\nurl = "south"\nformat = "gtfs"\n', "/stops/north/harbour");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

const BOARD = "/stops/north/central%2F1";
const LINE = "/routes/north/t1";

/**
 * @param {import("playwright-core").BrowserContextOptions} options
 * @param {(page: import("playwright-core").Page, go: (address: string) => Promise<any>) => Promise<void>} look
 */
async function visit(options, look) {
  const { page, context, faults } = await openPage(browser, { reducedMotion: "reduce", ...options });
  try {
    await look(page, (address) => page.goto(`${server.base}${address}`, { waitUntil: "load" }));
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

/** @param {import("playwright-core").Page} page @param {boolean} pressed */
const star = (page, pressed) => page.locator(`.star[aria-pressed="${pressed}"]`);
/** Returns the addresses in the list. @param {import("playwright-core").Page} page */
const listed = (page) => page.locator(".favourites:not([hidden]) a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));

/** Stars the stop and the line. @param {import("playwright-core").Page} page @param {(address: string) => Promise<any>} go */
async function starBoth(page, go) {
  for (const address of [BOARD, LINE]) {
    await go(address);
    await star(page, false).click();
    await star(page, true).waitFor();
  }
}

test("favourites are listed on the front page and on their network's page until they are removed", async () => {
  await visit({}, async (page, go) => {
    await go("/");
    assert.equal(await page.locator(".favourites").isVisible(), false, "no list before the first favourite");
    await starBoth(page, go);
    await go("/");
    assert.deepEqual(await listed(page), [LINE, BOARD]);
    await go("/networks");
    assert.deepEqual(await listed(page), [LINE, BOARD]);
    await go("/networks/north");
    assert.deepEqual(await listed(page), [LINE, BOARD]);
    await go("/networks/south");
    assert.deepEqual(await listed(page), [], "no favourites of another network");
    await go("/");
    await page.locator(".favourites a", { hasText: "Central Station" }).first().focus();
    await page.locator(`.favourites li:has(a[href="${BOARD}"]) button`).press("Enter");
    assert.deepEqual(await listed(page), [LINE]);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("href")), LINE, "the focus stays in the list");
    await go(BOARD);
    assert.equal(await star(page, false).count(), 1);
    await go(LINE);
    await star(page, true).press("Space");
    await star(page, false).waitFor();
    await go("/");
    assert.deepEqual(await listed(page), []);
  });
});

test("another open page updates its list", async () => {
  await visit({}, async (page, go) => {
    await go(BOARD);
    const other = await page.context().newPage();
    await other.goto(`${server.base}/`, { waitUntil: "load" });
    await star(page, false).click();
    await other.locator(".favourites a").waitFor();
    assert.deepEqual(await listed(other), [BOARD]);
  });
});

test("the map's empty search box lists favourites and shows them on the map", async () => {
  await visit({}, async (page, go) => {
    await starBoth(page, go);
    await go("/map?network=south");
    await page.waitForURL(/at=/);
    await page.keyboard.press("/");
    const found = page.locator('#results [role="option"]');
    await found.nth(2).waitFor();
    const [line, stop] = await found.allInnerTexts();
    assert.match(line, /Line 1/);
    assert.match(stop, /Central Station/);
    await page.fill("#search", "harbour");
    await page.locator('#results[data-question="harbour"]').waitFor();
    assert.equal(await page.locator("#results .star-sign").count(), 0, "no favourites while text is typed");
    await page.fill("#search", "");
    await page.locator('#results[data-question=""] [role="option"]').nth(1).click();
    await page.waitForURL(/stop=north:central/);
    await page.waitForSelector("#detail .detail-title");
  });
});

test("without scripts there are no stars and no list", async () => {
  await visit({ javaScriptEnabled: false }, async (page, go) => {
    for (const address of [BOARD, LINE, "/", "/networks/north"]) {
      await go(address);
      assert.equal(await page.locator(".star:visible, .favourites:visible").count(), 0, address);
    }
  });
  await visit({}, async (page, go) => {
    await go(`${BOARD}?embed=1`);
    assert.equal(await page.locator(".star").count(), 0, "no stars in a frame");
  });
});

for (const [name, options] of /** @type {[string, any][]} */ ([["a desk", {}], ["a phone", phone]])) {
  test(`axe reports no violations and nothing is too wide, light and dark, on ${name}`, async () => {
    await visit({ bypassCSP: true, ...options }, async (page, go) => {
      await starBoth(page, go);
      for (const address of [BOARD, LINE, "/", "/networks/north", "/map"]) {
        await go(address);
        if (address === "/map") {
          await page.waitForURL(/at=/);
          await page.locator("#search").focus();
          await page.locator("#results .star-sign").first().waitFor();
        } else {
          await page.locator(".star:visible, .favourites:visible").first().waitFor();
        }
        await page.evaluate(axeSource);
        for (const colorScheme of /** @type {("light"|"dark")[]} */ (["light", "dark"])) {
          await page.emulateMedia({ colorScheme });
          const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run(document, { resultTypes: ["violations"] }));
          assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => `${id}: ${nodes[0].html}`), [], `${address}, ${colorScheme}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(over <= 0, `${address} is ${over} px too wide`);
        }
      }
    });
  });
}
