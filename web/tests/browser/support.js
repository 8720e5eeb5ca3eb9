/**
 * A running server and a browser to look at it with.
 *
 * `LINESIDE_BIN` names the server (the dev build unless given), `LINESIDE_CHROMIUM` the browser.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const BINARY = process.env.LINESIDE_BIN ?? fileURLToPath(new URL("../../../target/debug/lineside", import.meta.url));
const CHROMIUM = process.env.LINESIDE_CHROMIUM ?? "/usr/bin/chromium";

/** Software drawing, and none of the services that a browser else calls home for. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--ignore-gpu-blocklist",
];

/** What the browser says of its software drawing, and not of the page. */
const NOT_THE_PAGE = /GL Driver Message|GPU stall|Automatic fallback to software WebGL/;

/** How long the demo may take to have a city on the map. */
const START_MS_MAX = 60_000;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Waits until something is so. @template T @param {() => Promise<T>|T} look @param {string} what @param {number} [most] milliseconds */
export async function until(look, what, most = 15_000) {
  const end = Date.now() + most;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`in vain waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Starts `lineside demo`, and waits until its vehicles are known. @param {string[]} more arguments */
export async function startDemo(more = []) {
  const port = await freePort();
  // Positions may come before the timetable that says which line they belong to.
  const isReady = async (reply) => (await reply.json()).features.some(({ properties }) => properties.route_short_name);
  return start(port, ["demo", "--port", String(port), "--seed", "1", ...more], "/geojson/city/vehicles.geojson", isReady);
}

/**
 * Starts `lineside serve` with a configuration, and waits until an address of it answers.
 * @param {string} folder for the configuration and the data @param {string} config all but the server's own table @param {string} [ready]
 */
export async function startServer(folder, config, ready = "/map") {
  const port = await freePort();
  const file = path.join(folder, "lineside.toml");
  await writeFile(file, `[server]\nlisten = "127.0.0.1:${port}"\ndata_dir = "data"\ndrain = "0s"\n${config}`);
  return start(port, ["serve", "--config", file], ready, () => true);
}

/** @param {number} port @param {string[]} args @param {string} address @param {(reply: Response) => Promise<boolean>|boolean} isGood */
async function start(port, args, address, isGood) {
  if (!existsSync(BINARY)) throw new Error(`there is no server at ${BINARY}: build it, or name it in LINESIDE_BIN`);
  const child = spawn(BINARY, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text) => (said = (said + text).slice(-4_000)));
  const base = `http://127.0.0.1:${port}`;
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${said}`);
    const reply = await fetch(`${base}${address}`).catch(() => null);
    return reply?.ok && isGood(reply);
  };
  await until(isReady, `${args[0]} to answer ${address}`, START_MS_MAX);
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { base, stop };
}

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS });

/**
 * A page of its own, that keeps what goes wrong in it.
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !NOT_THE_PAGE.test(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  return { page, context, faults };
}

/** The picture of the vehicles, as text that changes when one moves. @param {import("playwright-core").Page} page */
export const vehiclesPicture = (page) => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.querySelector("canvas.vehicles"))?.toDataURL());

export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
