/** The form that records a profile: shows that a recording runs until its flame graph opens. */
import { byId, element } from "./dom.js";

/** Interval at which the remaining time is updated, in milliseconds. */
const TICK_MS = 1_000;

const form = /** @type {HTMLFormElement} */ (byId("profile"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
const status = element("output.small", { "data-recording": "" });
form.append(status);

/** @type {ReturnType<typeof setTimeout>|undefined} */
let timer;

/** Shows the remaining seconds of the recording. @param {number} left */
function showRemaining(left) {
  status.textContent = left > 0 ? `Recording, ${left} s left. The flame graph opens when it is done.` : "Preparing the flame graph.";
  if (left > 0) timer = setTimeout(() => showRemaining(left - 1), TICK_MS);
}

form.addEventListener("submit", () => {
  button.disabled = true;
  showRemaining(Number(new FormData(form).get("seconds")));
});
// A page that the browser restores from its history records nothing.
addEventListener("pageshow", () => {
  clearTimeout(timer);
  button.disabled = false;
  status.textContent = "";
});
