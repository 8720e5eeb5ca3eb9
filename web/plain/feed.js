/** A feed's page: updates its state, and copies lines to the clipboard. */
import { DataClock } from "./clock.js";
import { island } from "./dom.js";
import { Events } from "./events.js";
import { connectionSign, pollFeeds, showState } from "./states.js";

/** @type {{now: number, channels: string[], feeds: string[]}} */
const page = island("feed-data");
const clock = new DataClock(page.now);

const events = new Events({
  onStatus: connectionSign("live"),
  onChange({ upserts }, message) {
    clock.observe(message.data.at);
    for (const { kind, feed, record } of upserts) if (kind === "feed") showState(feed, record);
  },
});
events.follow(page.channels);
pollFeeds(page.feeds, clock);

/** Time for which a button confirms that it has copied, in milliseconds. */
const COPIED_MS = 1_600;

/** @param {HTMLElement} button */
async function copy(button) {
  const text = button.parentElement?.querySelector("code")?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without a secure context or permission there is no clipboard: the line is selected, to be copied by hand.
    const line = button.parentElement?.querySelector("code");
    if (line) getSelection()?.selectAllChildren(line);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), COPIED_MS);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!(button instanceof HTMLElement)) continue;
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

/** Opens the section in the address's fragment, for browsers that do not open it themselves. */
function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  for (let part = target; part; part = part.parentElement) if (part instanceof HTMLDetailsElement) part.open = true;
  const details = target?.closest("details");
  if (details && target) (details.querySelector("summary") ?? target).scrollIntoView({ block: "start" });
}
addEventListener("hashchange", openTarget);
openTarget();
