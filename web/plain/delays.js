/**
 * "Is my train late?": the page as the server made it, asked for again now and then. The server makes it once per change
 * and answers "not changed" otherwise, so nothing is computed here.
 */
import { byId, replaceContent } from "./dom.js";
import { connectionSign } from "./states.js";

const shown = byId("delays");
const every = Number(shown.dataset.refresh) * 1_000;
const isOpen = (/** @type {Element} */ of) => of.hasAttribute("open");

/** Takes the page of the moment, if it is another. */
async function refresh() {
  const sign = connectionSign("live");
  try {
    const reply = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const next = page.getElementById("delays");
    if (!next) throw new Error("another page");
    // What somebody has opened or chosen stays as it is.
    next.querySelectorAll("details").forEach((each, at) => each.toggleAttribute("open", [...shown.querySelectorAll("details")].map(isOpen)[at] ?? false));
    const chosen = /** @type {HTMLSelectElement|null} */ (shown.querySelector("select"));
    const choice = /** @type {HTMLSelectElement|null} */ (next.querySelector("select"));
    if (chosen && choice) for (const option of choice.options) option.toggleAttribute("selected", option.value === chosen.value);
    replaceContent(shown, [...next.childNodes]);
    const live = document.getElementById("live");
    if (live) live.dataset.status = "live";
  } catch {
    sign("waiting", "fetch"); // the server is away: what is shown keeps its time, and says so
  }
}

setInterval(() => {
  if (!document.hidden) refresh();
}, every);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
const live = document.getElementById("live");
if (live) live.dataset.status = "live";
