/** The panel on a small screen: a button hides its networks, filters and notices to show more of the map. */
import { byId } from "../plain/dom.js";

const isFolded = () => byId("panel-toggle").getAttribute("aria-expanded") === "false";

/** @param {boolean} folded */
export function foldPanel(folded) {
  byId("panel-toggle").setAttribute("aria-expanded", String(!folded));
  byId("panel-more").classList.toggle("is-closed", folded);
}

export function listenToPanel() {
  byId("panel-toggle").addEventListener("click", () => foldPanel(!isFolded()));
}
