/**
 * A trip, or the alerts of a network: the page that the server made, loaded again when its channels say that something changed,
 * and now and then, because time passes.
 */
import { byId, island, replaceContent } from "./dom.js";
import { Events } from "./events.js";
import { showState } from "./states.js";
import { liveSign } from "./trouble.js";

/** How often the page is loaded again where nothing changes, in milliseconds. */
const RELOAD_MS = 30_000;
/** How long changes are gathered before that, in milliseconds. */
const GATHER_MS = 1_000;

/** @type {{channels: string[]}} */
const data = island("live-page-data");
const content = byId("live-page");
const sign = liveSign("live");
/** Whether the page has been asked for and did not come yet. */
let isAsked = false;

/**
 * The parts that open, by their id; of those without one, by their place among them.
 * @param {Element} within @returns {[string, HTMLDetailsElement][]}
 */
const namedDetails = (within) => [
  ...[...within.querySelectorAll("details[id]")].map((each) => /** @type {[string, HTMLDetailsElement]} */ ([each.id, each])),
  ...[...within.querySelectorAll("details:not([id])")].map((each, at) => /** @type {[string, HTMLDetailsElement]} */ ([`#${at}`, each])),
];

/** @param {Element} within */
const openedDetails = (within) => namedDetails(within).flatMap(([name, each]) => (each.open ? [name] : []));

function reload() {
  if (isAsked || document.hidden) return;
  isAsked = true;
  setTimeout(async () => {
    try {
      const reply = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!reply.ok) return;
      const made = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("live-page");
      if (!made) return;
      // What is opened stays open.
      const opened = new Set(openedDetails(content));
      for (const [name, each] of namedDetails(made)) each.toggleAttribute("open", opened.has(name));
      replaceContent(content, [...made.childNodes]);
      sign.update();
    } catch {
      // the server is away: the connection's sign says so
    } finally {
      isAsked = false;
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
