/**
 * "Is my train late?": the page as the server made it, asked for again now and then. The server makes it once per change
 * and answers "not changed" otherwise, so nothing is computed here. While the server is away the page keeps what it
 * shows, with its time, until that is as old as data may be; then nobody knows any more.
 */
import { byId, replaceContent } from "./dom.js";

/** How often it is looked whether the answer has grown old, in milliseconds. */
const JUDGED_MS = 1_000;

const shown = byId("delays");
const every = Number(shown.dataset.refresh) * 1_000;
const isOpen = (/** @type {Element} */ of) => of.hasAttribute("open");
/** When the server last answered, by this machine's clock. */
let heard = Date.now();
/** Whether nobody has looked for a while: the server is asked before the answer is judged. */
let isBack = false;

/** Shows how the connection is, beside the time that the answer is of. @param {boolean} isLive */
function sign(isLive) {
  const live = document.getElementById("live");
  if (live) live.dataset.status = isLive ? "live" : "off";
  const lost = document.getElementById("connection");
  if (!lost) return;
  lost.dataset.status = isLive ? "live" : "waiting";
  lost.hidden = isLive;
}

/** Takes the answer back once the server has not been heard from for as long as data may be old. */
function judge() {
  const answer = /** @type {HTMLElement|null} */ (shown.querySelector(".answer"));
  if (!answer || (Date.now() - heard) / 1_000 <= Number(answer.dataset.lateAfter)) return;
  sign(false);
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

/** Takes the page of the moment, if it is another. */
async function refresh() {
  try {
    const reply = await fetch(location.href, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(every) });
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
    heard = Date.now();
    sign(true);
  } catch {
    sign(false); // the server is away: what is shown keeps its time, and says so
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
  // Of an answer that nobody looks at the server is not asked, so its silence says nothing.
  if (!document.hidden && !isBack) judge();
}, JUDGED_MS);
sign(true);
