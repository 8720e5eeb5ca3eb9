/**
 * A trip, or the alerts of a network: fetches the page from the server when its channels report a change, and at intervals,
 * because its contents depend on the time.
 */
import { byId, island, replaceContent } from "./dom.js";
import { Events } from "./events.js";
import { showState } from "./states.js";
import { liveSign } from "./trouble.js";

/** Interval at which the page is fetched without a change, in milliseconds. */
const RELOAD_MS = 30_000;
/** Time over which changes are collected before the page is fetched, in milliseconds. */
const GATHER_MS = 1_000;

/** @type {{channels: string[]}} */
const data = island("live-page-data");
const content = byId("live-page");
const sign = liveSign("live");
/** True while a request for the page is pending. */
let isPending = false;

/**
 * Returns the details elements by id; those without an id are named by their position.
 * @param {Element} within @returns {[string, HTMLDetailsElement][]}
 */
const namedDetails = (within) => [
  ...[...within.querySelectorAll("details[id]")].map((each) => /** @type {[string, HTMLDetailsElement]} */ ([each.id, each])),
  ...[...within.querySelectorAll("details:not([id])")].map((each, at) => /** @type {[string, HTMLDetailsElement]} */ ([`#${at}`, each])),
];

/** @param {Element} within */
const openedDetails = (within) => namedDetails(within).flatMap(([name, each]) => (each.open ? [name] : []));

function reload() {
  if (isPending || document.hidden) return;
  isPending = true;
  setTimeout(async () => {
    try {
      const reply = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!reply.ok) return;
      const made = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("live-page");
      if (!made) return;
      // Opened details stay open.
      const opened = new Set(openedDetails(content));
      for (const [name, each] of namedDetails(made)) each.toggleAttribute("open", opened.has(name));
      replaceContent(content, [...made.childNodes]);
      sign.update();
    } catch {
      // The server is unreachable; the connection status shows it.
    } finally {
      isPending = false;
    }
  }, GATHER_MS);
}

const events = new Events({
  onStatus: (status, transport) => sign.show(status, transport),
  onChange(applied) {
    for (const { kind, feed, record } of applied.upserts) {
      if (kind !== "feed") continue;
      showState(feed, record);
      sign.update();
    }
    if (applied.shown) reload();
  },
});

events.follow(data.channels);
setInterval(reload, RELOAD_MS);
