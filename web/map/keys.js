/** The keyboard shortcuts of the map page: Escape closes results or the card, and a slash focuses the search box. Also tells the keyboard from a pointer. */
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

/** Records the last used input device, so that the map has a focus frame only for the keyboard: scripts also focus it after a click. */
export function trackInputDevice() {
  const record = (/** @type {string} */ device) => () => void (document.documentElement.dataset.input = device);
  document.addEventListener("pointerdown", record("pointer"), { capture: true });
  document.addEventListener("keydown", record("keyboard"), { capture: true });
}
