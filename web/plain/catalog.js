/** The catalog: states and ages as they change, and filters that need no button. */
import { DataClock } from "./clock.js";
import { island } from "./dom.js";
import { Events } from "./events.js";
import { connectionSign, keepAges, showState } from "./states.js";

/** @type {{now: number, channels: string[], feeds: string[]}} */
const page = island("catalog-data");
const clock = new DataClock(page.now);

const events = new Events({
  onStatus: connectionSign("live"),
  onChange({ upserts }, message) {
    clock.observe(message.data.at);
    for (const { kind, feed, record } of upserts) if (kind === "feed") showState(feed, record);
  },
});
events.follow(page.channels);
keepAges(page.feeds, clock);

const form = document.querySelector("form.search");
if (form instanceof HTMLFormElement) {
  for (const select of form.querySelectorAll("select")) select.addEventListener("change", () => form.requestSubmit());
  // An address without empty words: ?q=tram instead of ?q=tram&format=&theme=…
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field instanceof HTMLSelectElement || field instanceof HTMLInputElement) field.disabled = field.value === "";
  });
  globalThis.addEventListener("pageshow", () => {
    for (const field of form.elements) if (field instanceof HTMLSelectElement || field instanceof HTMLInputElement) field.disabled = false;
  });
}
