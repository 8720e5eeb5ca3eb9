/** The dashboard, its login, and the forms of feeds. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, openPage, phone, startDemo, startServer, until } from "./support.js";

const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TOKEN = "a token of the tests";
/** The demo's feeds, sorted by name. */
const CITY = ["city-alerts", "city-bikes", "city", "city-trips", "city-vehicles"];

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  [demo, browser] = await Promise.all([startDemo(), launch()]);
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** Opens a page, calls `look`, and checks that the console has no errors. */
async function visit(address, options, look) {
  const { page, context, faults } = await openPage(browser, options);
  try {
    await page.goto(`${demo.base}${address}`, { waitUntil: "load" });
    await look(page);
    assert.deepEqual(faults, [], `console of ${address}`);
  } finally {
    await context.close();
  }
}

const isLive = (page) => page.waitForSelector('#live[data-status="live"]', { timeout: 20_000 });
const ids = (page) => page.locator("#ops-rows tr[data-feed]").evaluateAll((rows) => rows.map((row) => row.dataset.feed));
const cell = (page, feed, column) => page.locator(`#feed-${feed} [data-col="${column}"]`);

describe("the dashboard", () => {
  test("requests of readers appear after a moment", async () => {
    await visit("/ops", {}, async (page) => {
      await isLive(page);
      const before = await cell(page, "city-alerts", "out").innerText();
      for (let n = 0; n < 3; n += 1) assert.equal((await fetch(`${demo.base}/proxy/city-alerts`)).status, 200);
      await page.waitForFunction((was) => document.querySelector('#feed-city-alerts [data-col="out"]')?.textContent !== was, before, { timeout: 20_000 });
      assert.match(await cell(page, "city-alerts", "amplification").innerText(), /^\d+\.\d ×$/);
      // The plots of the node are updated, too.
      const points = () => page.locator('[data-gauge="connections"] polyline').getAttribute("points");
      const first = await points();
      await until(async () => (await points()) !== first, "the plot of connections to change", 20_000);
    });
  });

  test("actions stay in sight next to long names, reasons and figures", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
    const server = await startServer(folder, `[admin]\ntoken = "${TOKEN}"\n[[feed]]\nid = "down"\nname = "Region Centre-Val de Loire: vehicle positions of all operators"\nurl = "http://127.0.0.1:1/x"\nformat = "raw"\n`);
    try {
      const { page, context } = await openPage(browser);
      await page.goto(`${server.base}/ops`);
      await page.fill("#token", TOKEN);
      await Promise.all([page.waitForURL("**/ops"), page.keyboard.press("Enter")]);
      const { edit, over } = await page.locator("#feed-down").evaluate((row) => {
        const figures = { report: "12\u202f876 · 287\u202f599", lag: "3\u202f009 days ago", next: "in 119 min", took: "999 ms · 119 s", amplification: "1\u202f234.5 ×", out: "123.4 MiB", subscribers: "123\u202f456" };
        for (const [column, words] of Object.entries(figures)) row.querySelector(`[data-col="${column}"]`).textContent = words;
        const scroll = row.closest(".scroll");
        return { edit: row.querySelector(".ops-edit").getBoundingClientRect().right, over: scroll.scrollWidth - scroll.clientWidth };
      });
      assert.ok(edit <= 1280 - 32 && over <= 0, `the right edge of Edit is at ${edit}, the table is ${over} px too wide`);
      await context.close();
    } finally {
      await server.stop();
      await rm(folder, { recursive: true });
    }
  });

  test("search, filter, order and the open row are in the address", async () => {
    await visit("/ops", {}, async (page) => {
      await isLive(page);
      assert.equal(await page.locator('[data-sort="state"]').getAttribute("aria-sort"), "descending", "trouble first");
      await page.click('[data-sort="name"] a');
      assert.deepEqual(await ids(page), CITY);
      await page.click('[data-sort="name"] a');
      assert.deepEqual(await ids(page), [...CITY].reverse());
      assert.equal(await page.locator('[data-sort="name"]').getAttribute("aria-sort"), "descending");
      await page.fill("#q", "alerts");
      assert.deepEqual(await ids(page), ["city-alerts"]);
      // With the keyboard only.
      await page.locator("#feed-city-alerts .ops-more").focus();
      await page.keyboard.press("Enter");
      await page.waitForSelector("[data-detail='city-alerts'] .bars");
      assert.equal(await page.locator("#feed-city-alerts .ops-more").getAttribute("aria-expanded"), "true");
      const query = new URL(page.url()).searchParams;
      assert.deepEqual([query.get("sort"), query.get("q"), query.get("open")], ["-name", "alerts", "city-alerts"]);
      await page.reload({ waitUntil: "load" });
      await isLive(page);
      assert.deepEqual(await ids(page), ["city-alerts"]);
      assert.ok(await page.locator("[data-detail='city-alerts'] .bars").isVisible());
      assert.equal(await page.inputValue("#q"), "alerts");
      await page.fill("#q", "");
      await page.waitForFunction(() => document.querySelectorAll("#ops-rows tr[data-feed]").length === 5);
      await page.selectOption("#state", "failing");
      await page.waitForSelector("#none:not([hidden])");
    });
  });

  test("tiles can show a day, with an axis and the value at the pointer", async () => {
    await visit("/ops", {}, async (page) => {
      await isLive(page);
      await page.getByRole("link", { name: "1 day" }).click();
      await page.waitForURL("**/ops?range=1d");
      const tile = page.locator('[data-gauge="memory"]');
      assert.match(await tile.locator(".plot-top").innerText(), /MiB/);
      assert.match(await tile.locator(".plot-axis").innerText(), /now/);
      await tile.locator(".spark").hover();
      await tile.locator(".plot-value:not([hidden])").waitFor();
      assert.match(await tile.locator(".plot-value").innerText(), /MiB at \d\d:\d\d/);
    });
  });

  test("links to ranges and states keep search and order", async () => {
    await visit("/ops", {}, async (page) => {
      await isLive(page);
      await page.click('[data-sort="name"] a');
      await page.fill("#q", "city");
      await page.waitForURL(/q=city/);
      await page.getByRole("link", { name: "1 day" }).click();
      await page.waitForURL(/range=1d/);
      const query = new URL(page.url()).searchParams;
      assert.deepEqual([query.get("q"), query.get("sort"), query.get("range")], ["city", "name", "1d"]);
      await isLive(page);
      await page.fill("#q", "trips");
      await page.waitForURL(/q=trips/);
      const state = new URL(await page.locator("#tally li:not([hidden]) a").first().evaluate((link) => link.href)).searchParams;
      assert.deepEqual([state.get("q"), state.get("sort"), state.get("range")], ["trips", "name", "1d"]);
      assert.ok(state.get("state"));
    });
  });

  test("rows are compact", async () => {
    await visit("/ops", {}, async (page) => {
      await isLive(page);
      const heights = await page.locator("#ops-rows tr[data-feed]").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
      assert.ok(heights.every((height) => height <= 44), `${heights}`);
    });
  });

  test("the demo's faults can be switched on a phone without horizontal scrolling", async () => {
    await visit("/demo/faults", phone, async (page) => {
      const width = page.viewportSize()?.width ?? 0;
      for (const control of await page.locator(".faults select, .faults button").all()) {
        const box = await control.boundingBox();
        assert.ok(box && box.x >= 0 && box.x + box.width <= width, "each control is in sight");
      }
    });
  });

  test("updates do not move the focus", async () => {
    await visit("/ops", {}, async (page) => {
      await isLive(page);
      const link = page.locator("#feed-city .feed-name");
      await link.focus();
      const moment = () => page.locator('[data-gauge="cpu"] polyline').getAttribute("points");
      const first = await moment();
      await until(async () => (await moment()) !== first, "another second", 20_000);
      assert.ok(await link.evaluate((it) => it === document.activeElement), "the focus has not moved");
    });
  });

  test("axe reports no violations and nothing is too wide, light and dark, on a desktop and on a phone", async () => {
    for (const address of ["/ops?open=city", "/login"]) {
      await visit(address, { bypassCSP: true, reducedMotion: "reduce" }, async (page) => {
        if (address !== "/login") await isLive(page);
        await page.evaluate(axeSource);
        for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
          for (const size of [{ width: 1280, height: 800 }, phone.viewport]) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize(size);
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
            const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3).join(" ; ")}`);
            assert.deepEqual(found, [], `${address}, ${colorScheme}, ${size.width} wide`);
            const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(over <= 0, `${address} is ${over} px too wide for ${size.width}`);
          }
        }
      });
    }
  });
});

describe("an admin", () => {
  /** @type {string} */
  let folder;
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
    await writeFile(path.join(folder, "a.txt"), "a feed");
    const feed = '[[feed]]\nid = "a"\nurl = "a.txt"\nformat = "raw"\npoll = "1s"\n';
    server = await startServer(folder, `[admin]\ntoken = "${TOKEN}"\n${feed}`);
  });
  after(async () => {
    await server?.stop();
    if (folder) await rm(folder, { recursive: true });
  });

  for (const javaScriptEnabled of [false, true]) {
    test(`can log in and out, ${javaScriptEnabled ? "with" : "without"} scripts`, async () => {
      const { page, context, faults } = await openPage(browser, { javaScriptEnabled });
      try {
        await page.goto(`${server.base}/ops?sort=name`, { waitUntil: "load" });
        assert.equal(new URL(page.url()).pathname, "/login");
        await page.fill("#token", "another token");
        await page.click("main form button");
        await page.locator("#why[role=alert]").waitFor();
        // The browser logs the refusal.
        faults.splice(0).forEach((fault) => assert.match(fault, /401/));
        await page.fill("#token", TOKEN);
        await page.keyboard.press("Enter");
        await page.waitForURL("**/ops?sort=name");
        assert.equal(await page.locator("#feed-a").count(), 1);
        if (javaScriptEnabled) {
          await isLive(page);
          await page.click("#feed-a .ops-more");
          await page.waitForSelector("[data-detail='a'] .bars");
        }
        await page.click("text=Log out");
        await page.waitForURL("**/login");
        await page.goto(`${server.base}/ops`, { waitUntil: "load" });
        assert.equal(new URL(page.url()).pathname, "/login");
        assert.deepEqual(faults, []);
      } finally {
        await context.close();
      }
    });
  }

  for (const javaScriptEnabled of [false, true]) {
    const how = `${javaScriptEnabled ? "with" : "without"} scripts`;

    /** Opens the dashboard as an admin, calls `look`, and checks that the console has no errors. */
    const asAdmin = async (look) => {
      const { page, context, faults } = await openPage(browser, { javaScriptEnabled });
      try {
        await page.goto(`${server.base}/ops`, { waitUntil: "load" });
        await page.fill("#token", TOKEN);
        await page.keyboard.press("Enter");
        await page.waitForURL("**/ops");
        if (javaScriptEnabled) await isLive(page);
        await look(page, faults);
        assert.deepEqual(faults, []);
      } finally {
        await context.close();
      }
    };
    const pressed = (page, word) => page.locator("#feed-a").getByRole("button", { name: `${word}: a` });

    test(`can pause and resume a feed from its row, ${how}`, async () => {
      await asAdmin(async (page) => {
        await pressed(page, "Pause").click();
        await page.locator("#said", { hasText: "a is paused" }).waitFor();
        await pressed(page, "Resume").waitFor();
        assert.equal((await (await fetch(`${server.base}/api/v1/feeds/a`)).json()).reason.startsWith("paused"), true);
        // With the keyboard.
        await pressed(page, "Resume").focus();
        await page.keyboard.press("Enter");
        await page.locator("#said", { hasText: "a is polled again" }).waitFor();
        await pressed(page, "Pause").waitFor();
        if (javaScriptEnabled) assert.equal(new URL(page.url()).search, "", "the page has not changed");
        await pressed(page, "Poll now").click();
        await page.locator("#said", { hasText: "Polling a now" }).waitFor();
      });
    });

    test(`can change an interval, find the change in the history and undo it, ${how}`, async () => {
      await asAdmin(async (page, faults) => {
        await page.locator("#feed-a").getByRole("link", { name: "Edit: a" }).click();
        await page.waitForURL("**/ops/feeds/a");
        await page.getByLabel("Interval").fill("soon");
        await page.getByRole("button", { name: "Preview" }).click();
        await page.locator("#e-poll").waitFor();
        assert.ok(await page.locator("#f-poll").evaluate((it) => it === document.activeElement), "the focus is on the invalid field");
        faults.splice(0).forEach((fault) => assert.match(fault, /422/));
        await page.getByLabel("Interval").fill("7s");
        await page.keyboard.press("Enter");
        await page.locator("#preview").waitFor();
        assert.match(await page.locator(".preview .changes").innerText(), /poll\s+1s\s*→\s*7s/);
        await page.locator(".preview").getByRole("button", { name: "Apply" }).click();
        await page.waitForURL("**/ops/feeds/a?done=apply&feed=a");
        assert.match(await page.locator("#said").innerText(), /a is changed/);
        assert.equal(await page.getByLabel("Interval").inputValue(), "7s");
        await page.getByRole("link", { name: "All feeds" , exact: true }).last().click();
        await page.waitForURL("**/ops/history");
        const last = page.locator(".edits tbody tr").first();
        assert.match(await last.innerText(), /Changed[^]*poll[^]*7s/);
        await last.getByRole("button", { name: "Undo" }).click();
        await page.waitForURL("**/ops/history?done=undo&feed=a");
        await page.goto(`${server.base}/ops/feeds/a`, { waitUntil: "load" });
        assert.equal(await page.getByLabel("Interval").inputValue(), "1s");
      });
    });
  }

  /** Opens a page as an admin. */
  async function asAdminAt(address, look) {
    const { page, context, faults } = await openPage(browser, { javaScriptEnabled: false });
    try {
      await page.goto(`${server.base}/login?next=${encodeURIComponent(address)}`, { waitUntil: "load" });
      await page.fill("#token", TOKEN);
      await page.keyboard.press("Enter");
      await page.waitForURL(`**${address}`);
      await look(page);
      faults.forEach((fault) => assert.match(fault, /422/));
    } finally {
      await context.close();
    }
  }

  test("sees all errors of a new feed at once, and adds it from its tested preview", async () => {
    await asAdminAt("/ops/add", async (page) => {
      assert.equal(await page.getByRole("button", { name: "Add", exact: true }).count(), 0, "a preview is required");
      const options = await page.locator("#f-static option").evaluateAll((all) => all.map((option) => option.value));
      assert.ok(options.includes(""), `a feed need not have a schedule: ${options}`);
      await page.locator("#f-id").fill("a b");
      await page.locator("#f-url").fill("ftp://a.example/x");
      await page.locator("details", { has: page.locator("#f-poll") }).evaluateAll((all) => all.forEach((fold) => (fold.open = true)));
      await page.locator("#f-poll").fill("soon");
      await page.locator("#f-rate").fill("often");
      await page.getByRole("button", { name: "Preview" }).click();
      for (const field of ["id", "url", "poll", "rate"]) assert.ok(await page.locator(`#e-${field}`).isVisible(), field);
      await page.locator("#f-id").fill("added");
      await page.locator("#f-url").fill(`${demo.base}/proxy/city-alerts`);
      await page.locator("#f-poll").fill("1h");
      await page.locator("#f-rate").fill("");
      await page.getByRole("button", { name: "Preview" }).click();
      assert.match(await page.locator("#source-test").innerText(), /gtfs-rt/);
      await page.locator(".preview").getByRole("button", { name: "Add", exact: true }).click();
      await page.waitForURL("**/ops/feeds/added?done=add&feed=added");
    });
  });

  test("can restore the values before an older change", async () => {
    await asAdminAt("/ops/feeds/a", async (page) => {
      const apply = async (interval) => {
        await page.getByLabel("Interval").fill(interval);
        await page.getByRole("button", { name: "Apply" }).click();
        await page.waitForURL("**/ops/feeds/a?done=apply&feed=a");
      };
      await apply("21s");
      await apply("22s");
      await page.locator(".edits tbody tr").nth(1).getByRole("link", { name: /Restore/ }).click();
      assert.match(await page.locator(".changes").innerText(), /poll\s+22s/);
      await page.getByRole("button", { name: "Restore" }).click();
      await page.waitForURL("**/ops/feeds/a?done=undo&feed=a");
      assert.equal(await page.getByLabel("Interval").inputValue(), "1s");
    });
  });

  test("sees header and footer aligned with the content", async () => {
    await asAdminAt("/ops/history", async (page) => {
      const left = (selector) => page.locator(selector).first().evaluate((it) => it.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(it).paddingLeft));
      const [header, content, footer] = await Promise.all([".masthead-in", ".page", ".footer-in"].map(left));
      assert.deepEqual([header, footer], [content, content]);
    });
  });

  test("axe reports no violations on the forms of feeds, and nothing is too wide", async () => {
    const { page, context } = await openPage(browser, { bypassCSP: true, reducedMotion: "reduce" });
    try {
      await page.goto(`${server.base}/ops`, { waitUntil: "load" });
      await page.fill("#token", TOKEN);
      await page.keyboard.press("Enter");
      await page.waitForURL("**/ops");
      const preview = async (interval) => {
        await page.goto(`${server.base}/ops/feeds/a`, { waitUntil: "load" });
        await page.getByLabel("Interval").fill(interval);
        await page.getByRole("button", { name: "Preview" }).click();
        await page.locator(interval === "soon" ? "#e-poll" : "#preview").waitFor();
      };
      const at = (address) => () => page.goto(`${server.base}${address}`, { waitUntil: "load" });
      const looks = {
        list: at("/ops"),
        form: at("/ops/feeds/a"),
        preview: () => preview("9s"),
        wrong: () => preview("soon"),
        history: at("/ops/history"),
        add: at("/ops/add"),
        remove: at("/ops/feeds/a/remove"),
      };
      for (const [name, look] of Object.entries(looks)) {
        await look();
        await page.evaluate(axeSource);
        for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
          for (const size of [{ width: 1280, height: 800 }, phone.viewport]) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize(size);
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
            const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3).join(" ; ")}`);
            assert.deepEqual(found, [], `${name}, ${colorScheme}, ${size.width} wide`);
            const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(over <= 0, `${name} is ${over} px too wide for ${size.width}`);
          }
        }
      }
    } finally {
      await context.close();
    }
  });

  test("can record a profile by button, one at a time", async () => {
    const { page, context } = await openPage(browser);
    try {
      await page.goto(`${server.base}/ops`, { waitUntil: "load" });
      await page.fill("#token", TOKEN);
      await page.keyboard.press("Enter");
      await page.waitForURL("**/ops");
      await isLive(page);
      // Playwright cannot read a page that waits for a navigation, so the page stores the text.
      await page.evaluate(() => {
        const form = /** @type {HTMLFormElement} */ (document.querySelector("#profile"));
        new MutationObserver(() => {
          const isBusy = form.querySelector("[data-recording]")?.textContent !== "" && form.querySelector("button")?.disabled;
          if (isBusy) sessionStorage.setItem("busy", "yes");
        }).observe(form, { childList: true, subtree: true });
      });
      const clicked = page.getByRole("button", { name: "Record a profile" }).click();
      const other = await context.newPage();
      await until(async () => {
        await other.goto(`${server.base}/ops`, { waitUntil: "load" });
        return (await other.locator("#profile").innerText()).includes("is running");
      }, "the recording to have begun");
      // A browser sends only one request at a time to an address, so the length must differ.
      await other.getByLabel("Length of the profile").selectOption("30");
      await other.getByRole("button", { name: "Record a profile" }).click();
      await other.locator("[role=alert]", { hasText: "Another recording is running" }).waitFor();
      await clicked;
      await page.waitForURL("**/ops/profile?seconds=10", { timeout: 60_000 });
      assert.match(await page.locator(".flame p").first().innerText(), /samples? in/);
      assert.ok(await page.locator("header.masthead").isVisible(), "the site's header");
      assert.equal(await page.evaluate(() => sessionStorage.getItem("busy")), "yes", "the form showed the recording");
      // The page of the flame graph records again, and shows that too.
      await page.evaluate(() => {
        const form = /** @type {HTMLFormElement} */ (document.querySelector("#profile"));
        form.addEventListener("submit", (event) => event.preventDefault());
        form.requestSubmit();
      });
      await page.locator("#profile button:disabled").waitFor();
      assert.notEqual(await page.locator("#profile [data-recording]").textContent(), "");
      await page.locator(".crumbs a").click();
      await page.waitForURL("**/ops");
    } finally {
      await context.close();
    }
  });
});
