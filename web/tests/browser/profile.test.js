/** The flame graph of a recording, with and without scripts, by mouse and by keyboard. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { launch, openPage, phone, startDemo, until } from "./support.js";

const TOKEN = "a token of the tests in browsers";
const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  process.env.LINESIDE_ADMIN_TOKEN = TOKEN;
  [demo, browser] = await Promise.all([startDemo(["--speed", "10"]), launch()]);
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** Records until there is a sample, calls `look` with the page, and checks that the console has no errors. */
async function visit(options, look) {
  const extraHTTPHeaders = { authorization: `Bearer ${TOKEN}` };
  const { page, context, faults } = await openPage(browser, { ...options, extraHTTPHeaders });
  try {
    const record = async () => {
      const reply = await page.goto(`${demo.base}/api/v1/admin/profile?seconds=1`, { waitUntil: "load" });
      assert.equal(reply?.status(), 200);
      return (await page.locator(".f").count()) > 3;
    };
    await until(record, "a sample", 60_000);
    await look(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

const named = (page) => page.evaluate(() => document.activeElement?.querySelector("text")?.textContent);
const shown = (page) => page.locator(".f:visible").count();

describe("a flame graph", () => {
  test("works without scripts", async () => {
    await visit({ javaScriptEnabled: false }, async (page) => {
      assert.match(await page.locator("p").first().innerText(), /^\d+ samples in \d/);
      assert.ok(await page.locator("table").first().locator("tbody tr").count());
      assert.ok(!(await page.locator("#bar").isVisible()), "controls that need scripts are hidden");
    });
  });

  test("can be zoomed by mouse and by keyboard", async () => {
    await visit({}, async (page) => {
      const all = await shown(page);
      const thread = page.locator(".f[data-d='0']").last();
      const name = await thread.locator("text").textContent();
      await thread.click();
      assert.equal(await thread.getAttribute("width"), "100%");
      assert.equal(await named(page), name);
      assert.match(await page.locator("#said").innerText(), new RegExp(`^${name}: \\d+ samples`));
      await page.keyboard.press("ArrowDown");
      const stage = await named(page);
      assert.notEqual(stage, name);
      await page.keyboard.press("Enter");
      assert.ok((await shown(page)) <= all);
      await page.keyboard.press("ArrowUp");
      assert.equal(await named(page), name);
      await page.keyboard.press("Escape");
      assert.equal(await shown(page), all);
      assert.ok(await page.locator("#whole").isDisabled());
    });
  });

  test("can be searched", async () => {
    await visit({}, async (page) => {
      await page.keyboard.press("/");
      const name = (await page.locator(".f[data-d='0'] text").first().textContent()) ?? "";
      await page.keyboard.type(name.toUpperCase());
      assert.match(await page.locator("#said").innerText(), /^[\d.]+ % of the time is in /);
      assert.ok(await page.locator(".f.found").count());
      await page.fill("#search", "");
      assert.equal(await page.locator(".f.found").count(), 0);
    });
  });

  for (const [kind, options] of Object.entries({ desktop: {}, phone, dark: { colorScheme: "dark" } })) {
    test(`has no accessibility violations: ${kind}`, async () => {
      await visit(/** @type {any} */ (options), async (page) => {
        await page.evaluate(axeSource);
        const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run(document));
        const said = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
        assert.deepEqual(said, []);
      });
    });
  }
});
