/** The panel: a button hides its networks, filters and notices on a small screen, and its notes on the address go away. */
import { byId } from "../plain/dom.js";

const isFolded = () => byId("panel-toggle").getAttribute("aria-expanded") === "false";

/** @param {boolean} folded */
export function foldPanel(folded) {
  byId("panel-toggle").setAttribute("aria-expanded", String(!folded));
  byId("panel-more").classList.toggle("is-closed", folded);
}

/** Removes the notes on ignored values of the address. Call it once the reader has changed what they say about the map. */
export function removeIgnoredValues() {
  document.querySelector(".panel .ignored-values")?.remove();
}

export function listenToPanel() {
  byId("panel-toggle").addEventListener("click", () => foldPanel(!isFolded()));
}
