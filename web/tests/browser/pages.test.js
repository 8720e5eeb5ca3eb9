/** The pages with and without scripts, by mouse, keyboard and touch. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { assertFitsScreens, launch, openPage, phone, startDemo, until, vehiclesPicture } from "./support.js";

const run = promisify(execFile);
const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
/** @type {import("playwright-core").Browser} */
let browser;
/** A station with departures. @type {{id: string, name: string}} */
let station;

before(async () => {
  [demo, browser] = await Promise.all([startDemo(), launch()]);
  station = await busiestStation();
  routeAddress = await busiestLine();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

async function json(address) {
  const reply = await fetch(`${demo.base}${address}`);
  assert.equal(reply.status, 200, address);
  return reply.json();
}

async function busiestStation() {
  const { features } = await json("/geojson/city/stops.geojson");
  const stations = features.filter(({ properties }) => properties.location_type === 1).slice(0, 12);
  const counted = await Promise.all(
    stations.map(async ({ properties: { stop_id: id, stop_name: name } }) => {
      const { items } = await json(`/api/v1/stops/city/${encodeURIComponent(id)}/departures`);
      return { id, name, count: items.length };
    }),
  );
  counted.sort((a, b) => b.count - a.count);
  assert.ok(counted[0].count > 2, "the demo's stations have departures");
  return counted[0];
}

/** The address of a line with vehicles. @type {string} */
let routeAddress;

async function busiestLine() {
  const { features } = await json("/geojson/city/vehicles.geojson");
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { properties } of features) if (properties.route_id) counts.set(properties.route_id, (counts.get(properties.route_id) ?? 0) + 1);
  const [[id]] = [...counts].sort((a, b) => b[1] - a[1]);
  return `/routes/city/${encodeURIComponent(id)}`;
}

const boardAddress = () => `/stops/city/${encodeURIComponent(station.id)}`;

/** Opens a page, calls `look`, and checks that the console has no errors. */
async function visit(address, options, look) {
  const { page, context, faults } = await openPage(browser, options);
  try {
    await page.goto(`${demo.base}${address}`, { waitUntil: "load" });
    await look(page, context);
    assert.deepEqual(faults, [], `console of ${address}`);
  } finally {
    await context.close();
  }
}

const mapIsDrawn = (page) => page.waitForFunction(() => /^[1-9]/.test(document.querySelector("#count")?.textContent ?? ""), null, { timeout: 20_000 });

describe("without scripts", () => {
  const plain = { javaScriptEnabled: false };

  test("the catalog finds feeds, stops and lines by their names", async () => {
    await visit("/", plain, async (page) => {
      assert.equal(await page.locator(".feeds tbody tr").count(), 5);
      await page.fill("#q", station.name);
      await page.click(".search button");
      assert.ok(new URL(page.url()).searchParams.get("q") === station.name);
      const stop = page.locator(".found a", { hasText: station.name }).first();
      await stop.click();
      assert.match(page.url(), /\/stops\/city\//);
    });
  });

  test("the catalog's filters are in its address", async () => {
    await visit("/?format=gtfs-rt", plain, async (page) => {
      assert.equal(await page.locator(".feeds tbody tr").count(), 3);
      assert.equal(await page.locator("#format").inputValue(), "gtfs-rt");
    });
    await visit("/?q=no-such-thing-anywhere", plain, async (page) => {
      assert.equal(await page.locator("[data-nothing-found]").count(), 1);
    });
  });

  test("a board has times, states and destinations", async () => {
    await visit(boardAddress(), plain, async (page) => {
      const row = page.locator(".board tbody tr").first();
      assert.match(await row.locator(".scheduled").innerText(), /^\d\d:\d\d$/);
      assert.match(await row.locator(".delay").innerText(), /Scheduled|On time|min (late|early)|Cancelled|Does not stop/);
      assert.ok(await row.locator(".to").innerText());
    });
  });

  test("the map is a list of vehicles", async () => {
    await visit("/map", plain, async (page) => {
      assert.ok((await page.locator("#list tbody tr").count()) > 20);
      assert.ok(await page.locator("#list").isVisible());
    });
  });

  test("the footer of a short page is at the bottom of the window", async () => {
    await visit("/login", plain, async (page) => {
      const bottom = await page.locator("footer").last().evaluate((footer) => footer.getBoundingClientRect().bottom);
      assert.ok(bottom >= (page.viewportSize()?.height ?? 0) - 1, `${bottom} px`);
    });
  });

  test("unknown addresses answer 404", async () => {
    for (const address of ["/feeds/nothing", "/stops/city/nothing", "/assets/nothing.js", "/assets/plain/0/state.js"]) {
      assert.equal((await fetch(`${demo.base}${address}`)).status, 404, address);
    }
  });
});

describe("a feed's page", () => {
  test("every example to copy works", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
    try {
      for (const feed of ["city", "city-vehicles"]) {
        await visit(`/feeds/${feed}`, {}, (page) => tryRecipes(page, folder, feed));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  async function tryRecipes(page, folder, feed) {
    const recipes = await page.locator("[data-recipe]").evaluateAll((lines) => lines.map((line) => [line.getAttribute("data-recipe"), line.textContent]));
    assert.ok(recipes.length >= 4, `${feed}: ${recipes.length} recipes`);
    for (const [name, line] of recipes) {
      if (name === "event-source") {
        const heard = page.waitForEvent("console", { timeout: 10_000 });
        await page.evaluate((script) => {
          globalThis.tried = (0, eval)(script);
        }, line.replace(/^new EventSource\((.*?)\)\.onmessage = /, "const stream = new EventSource($1); stream.onmessage = "));
        assert.match((await heard).text(), /channel/);
      } else if (name === "centrifuge") {
        await tryProgram(line, feed);
      } else if (name === "curl-events") {
        const { stdout } = await run("sh", ["-c", `timeout 2 ${line} || true`], { maxBuffer: 64 << 20 });
        assert.match(stdout, new RegExp(`data: \\{"channel":"feed/${feed}"`));
      } else {
        const { stdout } = await run("sh", ["-c", line], { cwd: folder, maxBuffer: 64 << 20 });
        const file = line.match(/ -o (\S+)/)?.[1];
        const bytes = file ? await readFile(path.join(folder, file)) : Buffer.from(stdout);
        assert.ok(bytes.length > 100, `${name} gave ${bytes.length} bytes`);
        if (name === "gtfs") assert.equal(bytes.subarray(0, 2).toString(), "PK");
        if (name === "gtfs-rt-json") assert.equal(JSON.parse(bytes.toString()).header.gtfs_realtime_version, "2.0");
      }
    }
  }

  /** Runs a line as a program. Node has a built-in WebSocket only since version 22. */
  async function tryProgram(line, feed) {
    const program = `import Ws from "ws"; globalThis.WebSocket ??= Ws;\n${line}`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: fileURLToPath(new URL("../..", import.meta.url)) });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    try {
      await until(() => /at: \d+/.test(output) && output.includes(`feed: '${feed}'`), `a message of ${feed}`);
    } catch (error) {
      throw new Error(`${error.message}; the program's output was: ${output.slice(0, 2_000)}`);
    } finally {
      child.kill();
    }
  }

  test("it shows state, source and addresses, and its map", async () => {
    await visit("/feeds/city", {}, async (page) => {
      const text = await page.locator("main").innerText();
      for (const words of ["Health", "Contents", "Validity", "Area", "Licence", "Download GTFS", "http://127.0.0.1"]) assert.ok(text.includes(words), words);
      await page.waitForSelector(".mini-map canvas");
    });
  });

  test("it fits three screens, and a link to a section opens it", async () => {
    for (const feed of ["city", "city-trips", "city-vehicles", "city-alerts", "city-bikes"]) {
      for (const options of [{}, phone]) await visit(`/feeds/${feed}`, options, (page) => assertFitsScreens(page, 3));
    }
    await visit("/feeds/city", {}, async (page) => {
      assert.equal(await page.locator("#availability").isVisible(), false);
      await page.click('.page-contents a[href="#availability"]');
      await page.locator("#availability").waitFor({ state: "visible" });
    });
  });

  test("its cards are in order, and each entry of its table of contents has a target", async () => {
    for (const feed of ["city", "city-trips", "city-bikes"]) {
      await visit(`/feeds/${feed}`, {}, async (page) => {
        const answers = await page.locator(".feed-answers section").evaluateAll((sections) => sections.map((section) => section.id));
        const order = feed === "city" ? ["area", "publisher", "use"] : ["publisher", "area", "use"];
        assert.deepEqual(answers, ["health", "contents", "validity", ...order], feed);
        const lost = await page.locator(".page-contents a").evaluateAll((links) => links.map((link) => link.hash.slice(1)).filter((id) => !document.getElementById(id)));
        assert.deepEqual(lost, [], feed);
        const folds = await page.locator(".fold .fold-body").evaluateAll((bodies) => bodies.map((body) => body.id));
        const listed = await page.locator(".page-contents a").evaluateAll((links) => links.map((link) => link.hash.slice(1)));
        assert.deepEqual(folds.filter((id) => !listed.includes(id)), [], `${feed} lists all sections that open`);
      });
    }
  });

  test("it shows the feed's current records, with links to trips and readers", async () => {
    await visit("/feeds/city-alerts", {}, async (page) => assert.ok((await page.locator("#current .alert-list > li").count()) > 0));
    await visit("/feeds/city-trips", {}, async (page) => {
      assert.ok((await page.locator("#current tbody tr").count()) > 0);
      assert.match(/** @type {string} */ (await page.locator('#current a[href^="/trips/city/"]').first().getAttribute("href")), /date=/);
      assert.match(/** @type {string} */ (await page.locator(".readers").getAttribute("data-requests")), /^\d+$/);
    });
  });

  test("on a phone every cell is visible", async () => {
    for (const feed of ["city", "city-trips", "city-vehicles", "city-alerts", "city-bikes"]) {
      await visit(`/feeds/${feed}`, phone, async (page) => {
        const over = await page.locator("td:visible, th:visible, .facts dd:visible").evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().right).filter((right) => right > innerWidth));
        assert.deepEqual(over, [], `${feed}: right edges`);
      });
    }
  });

  test("its findings fit a phone", async () => {
    await visit("/validate/sample", phone, async (page) => {
      await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
      const cells = page.locator(".samples td:visible");
      assert.ok((await cells.count()) > 0);
      const over = await cells.evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().right).filter((right) => right > innerWidth));
      assert.deepEqual(over, []);
    });
  });

  test("a file can be dropped on the form that validates it", async () => {
    await visit("/validate", {}, async (page) => {
      await page.locator("[data-drop]").evaluate((zone) => {
        const data = new DataTransfer();
        data.items.add(new File(["x"], "gtfs.zip"));
        zone.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
      });
      assert.equal(await page.locator("#file").evaluate((input) => input.files[0].name), "gtfs.zip");
      assert.match(await page.locator("[data-drop] output").innerText(), /gtfs\.zip/);
    });
  });

  test("availability strips take the width next to their names, on a desktop and on a phone", async () => {
    for (const options of [{}, phone]) {
      await visit("/feeds/city#availability", options, async (page) => {
        await page.locator("svg.strip").first().waitFor({ state: "visible" });
        for (const strip of await page.locator("svg.strip").all()) {
          const [own, whole] = await strip.evaluate((strip) => [strip, strip.closest(".strips")].map((element) => element.getBoundingClientRect().width));
          assert.ok(own > whole * 0.7, `a strip is ${own} px wide of ${whole}`);
        }
      });
    }
  });
});

describe("the map", () => {
  test("vehicles move without interaction", async () => {
    await visit("/map", {}, async (page) => {
      await mapIsDrawn(page);
      const before = await vehiclesPicture(page);
      await until(async () => (await vehiclesPicture(page)) !== before, "a vehicle that moves", 10_000);
    });
  });

  test("filters hide vehicles and are in the address", async () => {
    await visit("/map", {}, async (page) => {
      await mapIsDrawn(page);
      const countsMoreThan = (/** @type {number} */ least) => page.waitForFunction((least) => Number.parseInt(document.querySelector("#count")?.textContent ?? "", 10) > least, least);
      await page.click("#modes >> text=Tram");
      await page.waitForURL(/mode=tram/);
      await countsMoreThan(0);
      // Vehicles may still arrive, so only a higher count proves that some were hidden.
      const trams = Number.parseInt(await page.locator("#count").innerText(), 10);
      await page.click("#modes >> text=Tram");
      await countsMoreThan(trams);
      await page.click("#modes >> text=Tram");
      await page.waitForURL(/mode=tram/);
      await page.reload();
      await mapIsDrawn(page);
      assert.equal(await page.locator('#modes [aria-pressed="true"]').innerText(), "Tram");
    });
  });

  test("a stop is found by its name, with live departures", async () => {
    await visit("/map", {}, async (page) => {
      await mapIsDrawn(page);
      await page.keyboard.press("/");
      await page.keyboard.type(station.name);
      await page.waitForSelector(`#results [role=option]:has-text(${JSON.stringify(station.name)})`);
      await page.keyboard.press("ArrowDown");
      await page.waitForSelector('#results [aria-selected="true"]');
      await page.keyboard.press("Enter");
      await page.waitForSelector("#detail .detail-board li");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "detail-title");
      await page.waitForURL(/stop=city/);
      await page.keyboard.press("Escape");
      await page.waitForSelector("#detail", { state: "hidden" });
    });
  });

  test("a vehicle's card shows trip, delay and next stops", async () => {
    await visit("/map?show=list", {}, async (page) => {
      await mapIsDrawn(page);
      await page.locator('#list tbody button[data-key^="city-vehicles"]').first().click();
      await page.waitForSelector("#detail .calls li");
      assert.match(await page.locator("#detail .meta").innerText(), /On time|min late|min early|Scheduled/);
      await page.waitForURL(/vehicle=city-vehicles/);
      // A card is rebuilt every second, so its parts are read at once.
      const parts = () => page.locator("#detail").evaluate((card) => {
        const rows = [...card.querySelectorAll(".calls li")].map((row) => [row.getAttribute("data-progress"), row.getAttribute("aria-current"), row.querySelector(".name")?.textContent ?? ""]);
        return { rows, next: card.querySelector(".meta")?.textContent ?? "" };
      });
      await until(async () => {
        const { rows, next } = await parts();
        const at = rows.findIndex(([progress]) => progress === "next");
        return at >= 0 && rows[at][1] === "step" && next.includes(`next ${rows[at][2]}`) && rows.slice(0, at).every(([progress]) => progress === "passed");
      }, "the next stop of the head, after the passed ones");
      await page.goBack();
      await page.locator('#list td a[href^="/stops/city/"]').first().waitFor();
    });
  });

  test("the names of places are above vehicles while these are dots", async () => {
    await visit("/map", {}, async (page) => {
      await mapIsDrawn(page);
      const names = () => page.locator("canvas.vehicles").getAttribute("data-names");
      await until(async () => Number(await names()) > 5, "the names of districts");
      await page.evaluate(() => history.replaceState(null, "", location.href.replace(/,[\d.]+($|&)/, ",14$1")));
      await page.reload();
      await until(async () => (await names()) === "0", "no names of districts");
    });
  });

  test("the view is in the address", async () => {
    await visit("/map", {}, async (page) => {
      await mapIsDrawn(page);
      await page.locator(".maplibregl-canvas").focus();
      await page.keyboard.press("Equal");
      await page.waitForURL(/at=-?\d+\.\d+,-?\d+\.\d+,\d/);
    });
  });

  test("a browser without WebGL gets a list", async () => {
    const { page, context, faults } = await openPage(browser);
    await page.addInitScript(() => {
      const original = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.startsWith("webgl") ? null : original.call(this, kind, ...rest);
      };
    });
    await page.goto(`${demo.base}/map`);
    await mapIsDrawn(page);
    assert.ok(await page.locator("#no-webgl").isVisible());
    assert.ok((await page.locator("#list tbody tr").count()) > 20);
    assert.deepEqual(faults, []);
    await context.close();
  });

  test("it resumes after a lost connection", async () => {
    await visit("/map", {}, async (page, context) => {
      await mapIsDrawn(page);
      await context.setOffline(true);
      await page.evaluate(() => globalThis.dispatchEvent(new Event("offline")));
      await context.setOffline(false);
      await page.waitForSelector('#live[data-status="live"]', { timeout: 20_000 });
      const before = await vehiclesPicture(page);
      await until(async () => (await vehiclesPicture(page)) !== before, "a vehicle that moves again", 10_000);
    });
  });
});

describe("live updates", () => {
  test("update the report totals in the catalog", async () => {
    const { page, context, faults } = await openPage(browser);
    await page.clock.install();
    await page.goto(`${demo.base}/`);
    const cell = page.locator('[data-report-of="city"]');
    const counts = { outcome: "whole", errors: 3, warnings: 1, infos: 0, faults: 0 };
    await page.route("**/api/v1/feeds/city", async (route) => {
      const feed = await (await route.fetch()).json();
      await route.fulfill({ json: { ...feed, report: { subject: "dataset", at: null, counts, url: "" } } });
    });
    // The server's text before the first report.
    await cell.evaluate((it) => (it.innerHTML = '<a class="soft" href="/feeds/city#report-ahead">not checked yet</a>'));
    await page.clock.fastForward(10_000);
    const link = cell.locator('a[data-verdict="errors"]');
    await link.filter({ hasText: "3 errors, 1 warning" }).waitFor();
    assert.equal(await link.getAttribute("href"), "/feeds/city#report-dataset");
    assert.equal(await cell.locator("a").count(), 1);
    counts.errors = 0;
    await page.clock.fastForward(10_000);
    await cell.locator('a[data-verdict="warnings"]').filter({ hasText: "0 errors, 1 warning" }).waitFor();
    await page.unroute("**/api/v1/feeds/city");
    await page.route("**/api/v1/feeds/city", async (route) => {
      const feed = await (await route.fetch()).json();
      await route.fulfill({ json: { ...feed, report: null } });
    });
    await page.clock.fastForward(10_000);
    await cell.locator("span.soft").filter({ hasText: "–" }).waitFor();
    assert.equal(await cell.locator("a").count(), 0, "a removed report has no text");
    assert.deepEqual(faults, []);
    await context.close();
  });

  const transportOf = (page) => page.locator("#live").getAttribute("data-transport");
  const isLive = (page) => page.waitForSelector('#live[data-status="live"]', { timeout: 20_000 });
  const moves = async (page) => {
    const before = await vehiclesPicture(page);
    await until(async () => (await vehiclesPicture(page)) !== before, "a vehicle that moves", 10_000);
  };

  test("use a WebSocket and no event stream", async () => {
    await visit("/", {}, async (page) => {
      const frames = [];
      const asked = [];
      page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => frames.push(String(payload))));
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await page.goto(`${demo.base}/map`);
      await mapIsDrawn(page);
      await isLive(page);
      assert.equal(await transportOf(page), "websocket");
      await until(() => frames.filter((frame) => frame.includes('"pub"')).length > 3, "publications");
      await moves(page);
      assert.ok(!asked.includes("/events"), "no event stream is requested");
    });
  });

  test("arrive on every page with a connection status", async () => {
    for (const address of ["/", "/feeds/city-vehicles", boardAddress(), routeAddress, "/map"]) {
      await visit(address, {}, async (page) => {
        await isLive(page);
        assert.equal(await transportOf(page), "websocket", address);
      });
    }
  });

  test("use server-sent events if WebSockets are blocked", async () => {
    const { page, context } = await openPage(browser);
    try {
      await page.routeWebSocket(/connection\/websocket/, (socket) => socket.close({ code: 1011 }));
      await page.goto(`${demo.base}/map`);
      await mapIsDrawn(page);
      await isLive(page);
      assert.equal(await transportOf(page), "events");
      await moves(page);
    } finally {
      await context.close();
    }
  });

  test("resume over a new WebSocket after a lost connection", async () => {
    const { page, context } = await openPage(browser);
    try {
      /** @type {import("playwright-core").WebSocketRoute[]} */
      const routes = [];
      const sent = [];
      const heard = [];
      await page.routeWebSocket(/connection\/websocket/, (route) => {
        routes.push(route);
        const server = route.connectToServer();
        route.onMessage((text) => {
          sent.push(String(text));
          server.send(text);
        });
        server.onMessage((text) => {
          heard.push(String(text));
          route.send(text);
        });
      });
      await page.goto(`${demo.base}/feeds/city-vehicles`);
      await isLive(page);
      await until(() => heard.some((text) => text.includes('"state":{')), "a state");
      const before = heard.length;
      await routes[0].close({ code: 3001, reason: "shutdown" });
      await page.waitForSelector('#live[data-status="waiting"]');
      await isLive(page);
      assert.equal(routes.length, 2);
      assert.match(sent.at(-1), /"recover":true,"epoch":"[a-z0-9]+","offset":[1-9]/);
      assert.ok(heard.slice(before).some((text) => text.includes('"recovered":true')));
      assert.ok(!heard.slice(before).some((text) => text.includes('"state":{')), "no second state");
    } finally {
      await context.close();
    }
  });
});

describe("a departure board", () => {
  test("scripts show what the server shows", async () => {
    const rows = async (page) => page.locator(".board tbody tr").evaluateAll((all) => all.map((row) => [row.getAttribute("data-id"), row.querySelector(".scheduled")?.textContent, row.querySelector(".line")?.textContent, row.querySelector(".to")?.textContent, row.querySelector(".platform")?.textContent].join(" | ")));
    let plain = [];
    await visit(boardAddress(), { javaScriptEnabled: false }, async (page) => (plain = await rows(page)));
    await visit(boardAddress(), {}, async (page) => {
      await page.waitForSelector('#live[data-status="live"]');
      const live = new Set(await until(async () => (await rows(page)).length > 0 && rows(page), "rows"));
      const same = plain.filter((row) => live.has(row)).length;
      assert.ok(same >= plain.length - 3, `${same} of ${plain.length} rows are the same`);
    });
  });

  test("it updates without interaction", async () => {
    await visit(boardAddress(), {}, async (page) => {
      await page.waitForSelector('#live[data-status="live"]');
      const text = () => page.locator(".board tbody").innerText();
      const before = await text();
      await until(async () => (await text()) !== before, "a row that changes", 40_000);
    });
  });
});

describe("a printed departure board", () => {
  test("has its departures and no navigation", async () => {
    await visit(boardAddress(), { javaScriptEnabled: false }, async (page) => {
      const isShown = (selector) => page.locator(selector).first().isVisible();
      const clickable = [".masthead", ".footer"];
      for (const selector of clickable) assert.ok(await isShown(selector), `${selector} is on the screen`);
      const rows = await page.locator(".board tbody tr").count();
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      for (const selector of clickable) assert.ok(!(await isShown(selector)), `${selector} is printed`);
      assert.equal(await page.locator(".board tbody tr:visible").count(), rows);
      assert.ok((await isShown("h1")) && rows > 0);
      const colors = await page.locator(".board tbody tr .scheduled").first().evaluate((cell) => [getComputedStyle(document.body).backgroundColor, getComputedStyle(cell).color]);
      const light = (color) => Math.max(...color.match(/[\d.]+/g).slice(0, 3).map(Number));
      assert.equal(colors[0], "rgb(255, 255, 255)");
      assert.ok(light(colors[1]) < 128, `${colors[1]} is not readable on white`);
    });
  });
});

describe("a departure board of some lines", () => {
  test("fetches its rows from the server after a change", async () => {
    const line = async (page) => (await page.locator(".board tbody .line").first().innerText()).trim();
    let wanted = "";
    await visit(boardAddress(), { javaScriptEnabled: false }, async (page) => (wanted = await line(page)));
    await visit(`${boardAddress()}?lines=${encodeURIComponent(wanted)}`, {}, async (page) => {
      const ids = () => page.locator(".board tbody tr").evaluateAll((all) => all.map((row) => row.getAttribute("data-id")));
      const asked = page.waitForResponse((reply) => reply.request().resourceType() === "fetch" && reply.url().includes("?lines="), { timeout: 60_000 });
      const text = await (await asked).text();
      await until(async () => {
        const rows = await ids();
        return rows.length > 0 && rows.every((id) => text.includes(`data-id="${id}"`));
      }, "the rows that came");
      const lines = await page.locator(".board tbody .line").allInnerTexts();
      assert.ok(lines.every((each) => each.trim() === wanted), lines.join());
    });
  });
});

describe("a departure board without the server", () => {
  test("greys its times and removes departures that have left", async () => {
    const own = await startDemo();
    const { page, context } = await openPage(browser);
    await page.clock.install();
    try {
      await page.goto(`${own.base}${boardAddress()}`, { waitUntil: "load" });
      await page.waitForSelector('#live[data-status="live"]');
      const n = () => page.locator(".board tbody tr").count();
      const before = await n();
      assert.ok(before > 1);
      assert.equal(await page.locator(".board.is-lost").count(), 0);
      await own.stop();
      await page.waitForSelector('#live:not([data-status="live"])', { state: "attached" });
      await page.clock.fastForward(30_000);
      await page.waitForSelector(".board.is-lost");
      await page.clock.fastForward(3 * 3_600_000);
      await until(async () => (await n()) < before, "fewer rows");
    } finally {
      await context.close();
      await own.stop();
    }
  });
});

describe("a line", () => {
  const vehicles = (page) => page.locator(".vehicle").evaluateAll((all) => all.map((each) => [each.closest("[data-stop]")?.getAttribute("data-stop"), each.textContent].join(" | ")));

  test("it shows stops in order with vehicles, without scripts", async () => {
    await visit(routeAddress, { javaScriptEnabled: false }, async (page) => {
      assert.ok((await page.locator(".direction").count()) >= 1);
      assert.ok((await page.locator(".line-stops > li").count()) > 5);
      assert.ok((await vehicles(page)).length > 0);
      await page.locator(".stop-name a").first().click();
      assert.match(page.url(), /\/stops\/city\//);
    });
  });

  test("scripts show the server's vehicles and move them", async () => {
    await visit(routeAddress, {}, async (page) => {
      await page.waitForSelector('#live[data-status="live"]');
      const first = await until(async () => (await vehicles(page)).length > 0 && vehicles(page), "vehicles");
      const reply = await fetch(`${demo.base}${routeAddress}`);
      const html = await reply.text();
      const served = await page.evaluate((text) => [...new DOMParser().parseFromString(text, "text/html").querySelectorAll(".vehicle .vehicle-name")].map((each) => each.textContent), html);
      const shown = new Set(await page.locator(".vehicle-name").allInnerTexts());
      assert.ok(served.filter((name) => shown.has(name ?? "")).length >= served.length - 3, `${served} and ${[...shown]}`);
      await until(async () => String(await vehicles(page)) !== String(first), "a vehicle that moves", 60_000);
    });
  });
});

describe("accessibility", () => {
  const wide = { width: 1280, height: 800 };
  const narrow = { width: 390, height: 844 };
  /** @type {["light"|"dark", {width: number, height: number}][]} */
  const looks = [
    ["light", wide],
    ["dark", wide],
    ["dark", narrow],
    ["light", narrow],
  ];

  /** @param {import("playwright-core").Page} page */
  async function findings(page) {
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).slice(0, 3).join(" ; ")}`);
  }

  test("axe reports no violations and nothing is too wide, light and dark, on a desktop and on a phone", async () => {
    const stop = encodeURIComponent(station.id);
    const board = await (await fetch(`${demo.base}${boardAddress()}`)).text();
    const [trip] = /\/trips\/city\/[^"]+/.exec(board) ?? assert.fail("a trip");
    const pages = ["/networks/city", "/alerts/city", trip.replaceAll("&amp;", "&"), "/", `/?q=${encodeURIComponent(station.name)}`, "/feeds/city", "/feeds/city-trips", "/feeds/city/versions", boardAddress(), `${boardAddress()}?embed=1&limit=5`, routeAddress, `/map?stop=city:${stop}`, "/map?show=list"];
    for (const address of pages) {
      await visit(address, { bypassCSP: true, reducedMotion: "reduce" }, async (page) => {
        if (address.startsWith("/map")) await mapIsDrawn(page);
        await page.evaluate(axeSource);
        for (const [colorScheme, size] of looks) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize(size);
          assert.deepEqual(await findings(page), [], `${address}, ${colorScheme}, ${size.width} wide`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(over <= 0, `${address} is ${over} px too wide for ${size.width}`);
        }
      });
    }
  });

  test("no table of feeds or versions is wider than its card", async () => {
    for (const address of ["/", "/feeds/city/versions"]) {
      await visit(address, { reducedMotion: "reduce" }, async (page) => {
        await page.locator("details.past").evaluateAll((all) => all.forEach((details) => details.setAttribute("open", "")));
        for (const width of [1280, 1024, 390]) {
          await page.setViewportSize({ width, height: 800 });
          const { pageOver, tables } = await page.evaluate(() => ({
            pageOver: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            tables: [...document.querySelectorAll(".card table")].map((table) => ({
              name: table.className,
              over: Math.round(table.getBoundingClientRect().right - (table.closest(".card")?.getBoundingClientRect().right ?? 0)),
              scrolls: (table.closest(".scroll")?.scrollWidth ?? 0) > (table.closest(".scroll")?.clientWidth ?? 0),
            })),
          }));
          assert.ok(pageOver <= 0, `${address} is ${pageOver} px too wide for ${width}`);
          assert.ok(tables.length > 0, address);
          assert.deepEqual(tables.filter(({ over, scrolls }) => over > 0 || scrolls), [], `${address}, ${width} wide`);
        }
      });
    }
  });

  test("on a phone every entry of the navigation is visible", async () => {
    for (const width of [320, 390]) {
      await visit("/networks/city", { ...phone, viewport: { width, height: 844 } }, async (page) => {
        const out = await page.locator(".nav a").evaluateAll((links) => links.filter((link) => {
          const { left, right, top, width } = link.getBoundingClientRect();
          const shown = document.elementFromPoint((left + right) / 2, top + 10);
          return width === 0 || left < 0 || right > innerWidth || !link.contains(shown);
        }).map((link) => link.getAttribute("href")));
        assert.deepEqual(out, [], `${width} px`);
      });
    }
  });

  test("touch targets are large enough on a phone", async () => {
    for (const address of ["/feeds/city", "/feeds/city-trips", routeAddress]) {
      await visit(address, { ...phone, bypassCSP: true }, async (page) => {
        await page.evaluate(axeSource);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["target-size"] }));
        const small = violations.flatMap(({ nodes }) => nodes.map(({ html }) => html));
        assert.deepEqual(small, [], address);
      });
    }
  });

  test("the map works by touch on a phone", async () => {
    await visit("/map", phone, async (page) => {
      await mapIsDrawn(page);
      await page.tap("#show-list");
      await page.locator("#list tbody button").first().tap();
      await page.waitForSelector("#detail .detail-title");
      await page.tap("#detail .close");
      await page.waitForSelector("#detail", { state: "hidden" });
    });
  });

  /**
   * Takes five pictures of the vehicles after a report that moved one, and returns the number of different ones. The page's clock
   * advances by 100 ms between pictures, independent of real time, and no messages arrive.
   * @param {import("playwright-core").Page} page
   */
  async function picturesAlone(page) {
    const enoughReports = 5; // of one vehicle: the page then knows its report interval
    const moved = 0.0003; // degrees: about 20 m, more than a vehicle moves at a stop
    /** The number of reports and the last position by vehicle. @type {Map<string, {count: number, at: {longitude: number, latitude: number}}>} */
    const reports = new Map();
    /** Returns true for a report of a vehicle that moves and has had enough reports. @param {any} change */
    const isDriving = ({ kind, id, record }) => {
      if (kind !== "vehicle" || !record?.position) return false;
      const before = reports.get(id);
      const at = record.position;
      const count = (before?.count ?? 0) + 1;
      reports.set(id, { count, at });
      return before !== undefined && count >= enoughReports && Math.hypot(at.longitude - before.at.longitude, at.latitude - before.at.latitude) > moved;
    };
    /** Removes the removals from a message: a vehicle that left its cell would disappear after a moment. @param {any} message */
    const withoutRemoves = (message) => {
      const data = message.push?.pub?.data;
      if (data?.changes) data.changes = data.changes.filter((/** @type {any} */ { op }) => op !== "remove");
      return message;
    };
    /** The last message, which is delivered after the page's clock has stopped. @type {Promise<void> | undefined} */
    let last;
    await page.routeWebSocket(/connection\/websocket/, (route) => {
      const server = route.connectToServer();
      route.onMessage((text) => server.send(text));
      server.onMessage((text) => {
        if (last) return;
        const messages = String(text).split("\n").filter(Boolean).map((line) => withoutRemoves(JSON.parse(line)));
        const passedOn = messages.map((message) => JSON.stringify(message)).join("\n");
        const drives = messages.flatMap((message) => message.push?.pub?.data?.changes ?? []).map(isDriving);
        if (!drives.includes(true)) return route.send(passedOn);
        last = page.evaluate(() => /** @type {any} */ (window).goOn(0)).then(() => route.send(passedOn));
      });
    });
    await page.addInitScript(() => {
      const real = performance.now.bind(performance);
      /** @type {number | undefined} */
      let stopped;
      performance.now = () => stopped ?? real();
      const nextFrame = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (call) => nextFrame((now) => call(stopped ?? now));
      Object.assign(window, { goOn: (/** @type {number} */ ms) => (stopped = performance.now() + ms) });
    });
    await page.goto(`${demo.base}/map`);
    await mapIsDrawn(page);
    await until(() => last !== undefined, "a report of a moving vehicle", 60_000);
    await last;
    const pictureAfter = async (/** @type {number} */ ms) => {
      await page.evaluate(async (ms) => {
        /** @type {any} */ (window).goOn(ms);
        for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
      }, ms);
      return vehiclesPicture(page);
    };
    /** @type {(string | undefined)[]} */
    const settling = [];
    await until(async () => {
      settling.push(await pictureAfter(0));
      return settling.length >= 5 && new Set(settling.slice(-5)).size === 1;
    }, "the same picture while the clock is stopped", 60_000);
    const pictures = new Set();
    for (let at = 0; at < 5; at += 1) pictures.add(await pictureAfter(100));
    return pictures.size;
  }

  test("vehicles glide between reports, but not with reduced motion", async () => {
    await visit("/", {}, async (page) => assert.equal(await picturesAlone(page), 5));
    await visit("/", { reducedMotion: "reduce" }, async (page) => assert.equal(await picturesAlone(page), 1));
  });

  test("every control can be focused by keyboard and shows its focus", async () => {
    await visit("/", {}, async (page) => {
      const seen = [];
      for (let at = 0; at < 12; at += 1) {
        await page.keyboard.press("Tab");
        seen.push(await page.evaluate(() => {
          const { outlineStyle, outlineWidth } = getComputedStyle(/** @type {Element} */ (document.activeElement));
          return document.activeElement === document.body || (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2);
        }));
      }
      assert.ok(seen.every(Boolean), "each focused control has an outline");
    });
  });
});
