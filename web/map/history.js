/**
 * The page's address and the browser's history. Moving the map changes the address of the current entry. Opening a card,
 * jumping to a network and changing a filter add entries, so that Back undoes them.
 *
 * The state of an entry is `{back}`: the number of entries back to one without a card; null if there is none.
 */
import { parseView } from "./view.js";

/** Delay before the address is written, in milliseconds: browsers limit the rate of changes. */
const WRITING_MS = 200;

export class MapHistory {
  #address;
  #writing = 0;

  /**
   * @param {() => string} address returns the query for the current view
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

  /** Schedules an update of the address. */
  write() {
    clearTimeout(this.#writing);
    this.#writing = /** @type {any} */ (setTimeout(() => this.#writeNow(), WRITING_MS));
  }

  #writeNow() {
    clearTimeout(this.#writing);
    history.replaceState(history.state, "", this.#href());
  }

  /** Call it before a card opens. @param {boolean} isOpen true if another card is open @param {() => void} show opens the card */
  open(isOpen, show) {
    this.#writeNow();
    const back = isOpen ? history.state?.back : 0;
    show();
    history.pushState({ back: Number.isInteger(back) ? back + 1 : null }, "", this.#href());
  }

  /** Adds an entry. @param {() => void} change makes the map jump or changes a filter */
  enter(change) {
    this.#writeNow();
    history.pushState({ back: null }, "");
    change();
    this.write();
  }

  /** Call it after a card was closed: goes back to the entry without a card, or removes the card from the address. */
  close() {
    clearTimeout(this.#writing);
    const back = history.state?.back;
    if (Number.isInteger(back) && back > 0) history.go(-back);
    else this.#writeNow();
  }
}
