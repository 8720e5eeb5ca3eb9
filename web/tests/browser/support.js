/** A browser to look at the pages with; `LINESIDE_CHROMIUM` names it. */
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export { startDemo, startServer, until } from "../server.js";

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

/**
 * Opens a page, hands it over, and checks that its console has no complaint.
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

/** The picture of the vehicles, as text that changes when one moves. @param {import("playwright-core").Page} page */
export const vehiclesPicture = (page) => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.querySelector("canvas.vehicles"))?.toDataURL());

export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
