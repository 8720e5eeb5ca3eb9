/** Starts a browser and opens pages; `LINESIDE_CHROMIUM` is the path of the browser. */
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export { startDemo, startServer, until } from "../server.js";

const CHROMIUM = process.env.LINESIDE_CHROMIUM ?? "/usr/bin/chromium";

/** Software rendering, and no background requests. */
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

/** Console messages about software rendering, which the page does not cause. */
const NOT_THE_PAGE = /GL Driver Message|GPU stall|Automatic fallback to software WebGL/;

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS });

/**
 * Opens an empty page that records console errors and exceptions in `faults`.
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

/**
 * Opens a page, calls `look`, and checks that the console has no errors.
 * @param {import("playwright-core").Browser} browser @param {string} address
 * @param {(page: import("playwright-core").Page) => Promise<void>} look
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function visitPage(browser, address, look, options = {}) {
  const { page, context, faults } = await openPage(browser, options);
  try {
    await page.goto(address, { waitUntil: "load" });
    await look(page);
    assert.deepEqual(faults, [], `console of ${address}`);
  } finally {
    await context.close();
  }
}

/** Returns the canvas of the vehicles as a data URL, which changes when a vehicle moves. @param {import("playwright-core").Page} page */
export const vehiclesPicture = (page) => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.querySelector("canvas.vehicles"))?.toDataURL());

/** Asserts that a page is at most `screens` times as high as the window. @param {import("playwright-core").Page} page @param {number} screens */
export async function assertFitsScreens(page, screens) {
  const [height, screen] = await page.evaluate(() => [document.documentElement.scrollHeight, innerHeight]);
  assert.ok(height <= screens * screen, `${page.url()} is ${height} px high in a window of ${screen} px`);
}

export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
