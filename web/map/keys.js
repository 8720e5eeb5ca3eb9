/** The keyboard shortcuts of the map page: Escape closes results or the card, and a slash focuses the search box. */
import { byId } from "../plain/dom.js";

/** @param {import("./finder.js").Finder} finder @param {() => boolean} hasCard @param {() => void} closeCard */
export function listenToKeys(finder, hasCard, closeCard) {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key === "Escape" && !byId("results").hidden) finder.close();
    else if (event.key === "Escape" && !isTyping && hasCard()) closeCard();
    else if (event.key === "/" && !isTyping) {
      event.preventDefault();
      byId("search").focus();
    }
  });
}
