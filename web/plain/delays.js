/**
 * "Is my train late?": fetches the page from the server at intervals. The server answers 304 unless something changed, and
 * nothing is computed here. While the server is unreachable the page keeps its answer and the answer's time, until the
 * answer exceeds the maximum age of data; then the page says that it does not know.
 */
import { byId, replaceContent } from "./dom.js";

/** Interval at which the age of the answer is checked, in milliseconds. */
const CHECK_MS = 1_000;

const shown = byId("delays");
const every = Number(shown.dataset.refresh) * 1_000;
const isOpen = (/** @type {Element} */ of) => of.hasAttribute("open");
/** Time of the server's last answer, by this device's clock. */
let heard = Date.now();
/** True after the page was hidden for a while, until the server has been asked again. */
let isBack = false;

/** Shows the connection status next to the time of the answer. @param {boolean} isLive */
function showConnection(isLive) {
  const live = document.getElementById("live");
  if (live) live.dataset.status = isLive ? "live" : "off";
  const lost = document.getElementById("connection");
  if (!lost) return;
  lost.dataset.status = isLive ? "live" : "waiting";
  lost.hidden = isLive;
}

/** Withdraws the answer once the server has been silent for longer than the maximum age of data. */
function withdrawStaleAnswer() {
  const answer = /** @type {HTMLElement|null} */ (shown.querySelector(".answer"));
  if (!answer || (Date.now() - heard) / 1_000 <= Number(answer.dataset.lateAfter)) return;
  showConnection(false);
  const word = answer.querySelector(".answer-word");
  const unknown = document.getElementById("unknown-answer");
  if (answer.dataset.lost !== undefined || !word || !(unknown instanceof HTMLTemplateElement)) return;
  answer.dataset.lost = "";
  answer.dataset.answer = "unknown";
  answer.classList.remove("is-share");
  answer.querySelector(".answer-figures")?.remove();
  word.replaceChildren(unknown.content.cloneNode(true));
  const words = answer.querySelector(".answer-words");
  if (words) words.textContent = "The server can't be reached, so we can't say.";
  for (const list of shown.querySelectorAll(":scope > .card")) list.toggleAttribute("hidden", true);
}

/** Fetches the current page and shows it if it has changed. */
async function refresh() {
  try {
    const reply = await fetch(location.href, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(every) });
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const next = page.getElementById("delays");
    if (!next) throw new Error("another page");
    // Opened details and form choices are preserved.
    next.querySelectorAll("details").forEach((each, at) => each.toggleAttribute("open", [...shown.querySelectorAll("details")].map(isOpen)[at] ?? false));
    const chosen = /** @type {HTMLSelectElement|null} */ (shown.querySelector("select"));
    const choice = /** @type {HTMLSelectElement|null} */ (next.querySelector("select"));
    if (chosen && choice) for (const option of choice.options) option.toggleAttribute("selected", option.value === chosen.value);
    replaceContent(shown, [...next.childNodes]);
    heard = Date.now();
    showConnection(true);
  } catch {
    showConnection(false); // the server is unreachable; the answer stays, with its time
  }
}

setInterval(() => {
  if (!document.hidden) refresh();
}, every);
document.addEventListener("visibilitychange", async () => {
  isBack = true;
  if (document.hidden) return;
  await refresh();
  isBack = document.hidden;
});
setInterval(() => {
  // A hidden page does not ask the server, so silence means nothing.
  if (!document.hidden && !isBack) withdrawStaleAnswer();
}, CHECK_MS);
showConnection(true);
