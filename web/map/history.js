/**
 * The page's address and the browser's history: moving the map changes the address of the entry that is there. A card that opens,
 * a jump to a network and a changed filter are entries of their own, so that Back undoes them.
 *
 * The state of an entry is `{back}`: how many entries before it one without a card lies; null where none does.
 */
import { parseView } from "./view.js";

/** Browsers count how often an address changes, so it follows a moment later. */
const WRITING_MS = 200;

export class MapHistory {
  #address;
  #writing = 0;

  /**
   * @param {() => string} address what the page shows now, as the query of its address
   * @param {(view: import("./view.js").View) => void} restore shows an entry that Back or Forward has reached
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

  /** Call it before the map jumps or a filter changes: `change` does it. @param {() => void} change */
  enter(change) {
    this.#writeNow();
    history.pushState({ back: null }, "");
    change();
    this.write();
  }

  /** The card has been closed: back to where none was open, or, where it was open from the start, its address without it. */
  close() {
    clearTimeout(this.#writing);
    const back = history.state?.back;
    if (Number.isInteger(back) && back > 0) history.go(-back);
    else this.#writeNow();
  }
}
