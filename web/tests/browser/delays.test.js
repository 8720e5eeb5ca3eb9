/** "Is my train late?" with and without scripts, in a frame of another site, in light and dark. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { launch, openPage, phone, startDemo, until } from "./support.js";

const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  [demo, browser] = await Promise.all([startDemo(), launch()]);
  const trips = async () => (await (await fetch(`${demo.base}/api/v1/feeds/city/delays`)).json()).trips;
  await until(async () => (await trips()) > 0, "trips");
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** Opens a page, calls `look`, and checks that the console has no errors. */
async function visit(address, options, look) {
  const { page, context, faults } = await openPage(browser, options);
  try {
    await page.goto(address.startsWith("http") ? address : `${demo.base}${address}`, { waitUntil: "load" });
    await look(page);
    assert.deepEqual(faults, [], `console of ${address}`);
  } finally {
    await context.close();
  }
}

describe("is my train late", () => {
  test("the answer is a word, followed by details, without scripts", async () => {
    await visit("/delays/city", { javaScriptEnabled: false }, async (page) => {
      assert.match(await page.locator(".answer-word").innerText(), /^\d+ %\s+on time$/);
      assert.match(await page.locator(".answer-figures").innerText(), /^\d+ late · \d+ cancelled$/);
      const classes = await page.locator(".classes .class-trips").allInnerTexts();
      assert.ok(classes.map((text) => Number.parseInt(text.replace(/\D/g, ""), 10)).reduce((a, b) => a + b) > 10);
      assert.equal(await page.locator("noscript meta[http-equiv=refresh], head meta[http-equiv=refresh]").count(), 1);
    });
  });

  test("a line is selected with a form and is in the address", async () => {
    await visit("/delays/city", { javaScriptEnabled: false }, async (page) => {
      const route = await page.locator("#route option").nth(1).getAttribute("value");
      await page.selectOption("#route", route);
      await page.click(".choice button");
      assert.equal(new URL(page.url()).searchParams.get("route"), route);
      assert.match(await page.locator("h1").innerText(), /Line /);
      assert.match(await page.locator(".answer-word").innerText(), /^(Yes|No|Unknown)$/);
    });
  });

  test("with scripts the page updates, and opened sections stay open", async () => {
    await visit("/delays/city", {}, async (page) => {
      const made = () => page.locator(".answer-at").innerText();
      const numbers = page.locator("details summary").first();
      await until(async () => (await numbers.count()) > 0, "the figures of the day", 60_000);
      const before = await made();
      await numbers.click();
      await until(async () => (await made()) !== before, "another page", 60_000);
      assert.equal(await page.locator("details[open]").count(), 1);
      assert.equal(await page.locator("#live").getAttribute("data-status"), "live");
    });
  });

  test("an open page without a connection answers only until the maximum age of data", async () => {
    const { page, context } = await openPage(browser);
    await page.clock.install();
    try {
      await page.goto(`${demo.base}/delays/city`, { waitUntil: "load" });
      const word = () => page.locator(".answer-word").innerText();
      const shownLists = page.locator("#delays > .card:not([hidden])");
      const [before, madeAt] = [await word(), await page.locator("#live").innerText()];
      assert.match(madeAt, /^As of /);
      assert.ok((await shownLists.count()) > 0);
      const most = Number(await page.locator(".answer").getAttribute("data-late-after"));
      assert.ok(most > 0 && most <= 300, `${most} s`);
      await context.setOffline(true);
      await page.clock.fastForward(16_000);
      await page.locator("#connection").waitFor({ state: "visible" });
      assert.deepEqual([await word(), await page.locator("#live").innerText()], [before, madeAt]);
      await page.clock.fastForward(most * 1_000);
      await page.locator('.answer[data-answer="unknown"][data-lost]').waitFor();
      assert.equal((await word()).trim(), "Unknown");
      assert.equal(await page.locator("#live").innerText(), madeAt);
      assert.equal(await shownLists.count(), 0);
      await context.setOffline(false);
      await page.clock.fastForward(16_000);
      await page.locator(".answer:not([data-lost])").waitFor();
      assert.ok((await shownLists.count()) > 0);
      assert.equal(await page.locator("#connection").isVisible(), false);
    } finally {
      await context.close();
    }
  });

  test("a page that was hidden for long does not answer Unknown", async () => {
    const { page, context } = await openPage(browser);
    await page.clock.install();
    const hide = (/** @type {boolean} */ hidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    try {
      await page.goto(`${demo.base}/delays/city`, { waitUntil: "load" });
      const most = Number(await page.locator(".answer").getAttribute("data-late-after"));
      const madeAt = await page.locator("#live").innerText();
      await hide(true);
      await page.clock.fastForward(2 * most * 1_000);
      assert.equal(await page.locator("[data-lost]").count(), 0);
      await hide(false);
      await until(async () => (await page.locator("#live").innerText()) !== madeAt, "a newer answer", 60_000);
      await page.clock.fastForward(2_000);
      assert.equal(await page.locator("[data-lost]").count(), 0);
      // The server is asked before the page answers Unknown.
      await context.setOffline(true);
      // A reply that was still under way counts as an answer of the later time, so the time may have to pass twice.
      await until(async () => {
        await hide(true);
        await page.clock.fastForward(2 * most * 1_000);
        await hide(false);
        await page.clock.fastForward(2_000);
        return (await page.locator('.answer[data-answer="unknown"][data-lost]').count()) > 0;
      }, "the answer Unknown", 30_000);
    } finally {
      await context.close();
    }
  });

  test("another site may embed only the page for frames", async () => {
    const site = createServer((request, reply) => {
      reply.setHeader("content-type", "text/html");
      reply.end(`<!doctype html><title>Site</title><iframe src="${demo.base}/delays/city${request.url === "/open" ? "?embed=1" : ""}"></iframe>`);
    });
    await new Promise((done) => site.listen(0, "127.0.0.1", () => done(undefined)));
    const address = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (site.address()).port}`;
    try {
      await visit(`${address}/open`, {}, async (page) => {
        assert.match(await page.frameLocator("iframe").locator(".answer-word").innerText(), /^\d+ %\s+on time$/);
      });
      const { page, context } = await openPage(browser);
      await page.goto(`${address}/closed`, { waitUntil: "load" });
      assert.equal(await page.frameLocator("iframe").locator(".answer-word").count(), 0);
      await context.close();
    } finally {
      site.close();
    }
  });

  test("axe reports no violations and nothing is too wide, light and dark, on a desktop and on a phone", async () => {
    for (const address of ["/delays/city", "/delays/city?embed=1", "/delays/city-vehicles"]) {
      for (const options of [{}, phone]) {
        await visit(address, { ...options, bypassCSP: true, reducedMotion: "reduce" }, async (page) => {
          await page.evaluate(axeSource);
          for (const colorScheme of /** @type {("light"|"dark")[]} */ (["light", "dark"])) {
            await page.emulateMedia({ colorScheme });
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
            const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).slice(0, 3).join(" ; ")}`);
            assert.deepEqual(found, [], `${address}, ${colorScheme}`);
            const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(over <= 0, `${address} is ${over} px too wide`);
            const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((table) => table.checkVisibility() && table.scrollWidth > table.clientWidth).length);
            assert.equal(cut, 0, `tables of ${address} are cut`);
          }
        });
      }
    }
  });
});
