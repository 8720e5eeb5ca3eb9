/**
 * The page's address and the browser's history: moving the map and filtering change the address of
 * the entry that is there; each card that opens is an entry of its own, so that Back closes it.
 *
 * The state of an entry is `{back}`: how many entries before it one without a card lies.
 */
import { parseView } from "./view.js";

/** Browsers count how often an address changes, so it follows a moment later. */
const WRITING_MS = 200;

export class CardHistory {
  #address;
  #writing = 0;

  /**
   * @param {() => string} address what the page shows now, as the query of its address
   * @param {(view: import("./view.js").View) => void} restore shows the card of an entry that Back or Forward has reached
   */
  constructor(address, restore) {
    this.#address = address;
    addEventListener("popstate", () => {
      clearTimeout(this.#writing);
      restore(parseView(location.search));
      this.write();
    });
  }

  #href() {
    return `${location.pathname}${this.#address()}`;
  }

  /** The address follows what is shown. */
  write() {
    clearTimeout(this.#writing);
    this.#writing = /** @type {any} */ (setTimeout(() => this.#writeNow(), WRITING_MS));
  }

  #writeNow() {
    clearTimeout(this.#writing);
    history.replaceState(history.state, "", this.#href());
  }

  /** Call it before a card opens. @param {boolean} isOpen whether another card is open @param {() => void} show opens it */
  open(isOpen, show) {
    this.#writeNow();
    const back = isOpen ? history.state?.back : 0;
    show();
    history.pushState({ back: Number.isInteger(back) ? back + 1 : null }, "", this.#href());
  }

  /** The card has been closed: back to where none was open, or, where it was open from the start, its address without it. */
  close() {
    clearTimeout(this.#writing);
    const back = history.state?.back;
    if (Number.isInteger(back) && back > 0) history.go(-back);
    else this.#writeNow();
  }
}
