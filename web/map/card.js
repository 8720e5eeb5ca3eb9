/** The card beside the map: shows its content, names the window after it, and moves the focus into it and back. */
import { byId, replaceContent } from "../plain/dom.js";

/** The title of the page without a card. */
const PAGE_TITLE = document.title;

export class Card {
  /** The element that had the focus before the card opened. @type {HTMLElement|null} */
  #cameFrom = null;
  #isNew = false;

  /** Call it before a card opens while none is open. */
  rememberFocus() {
    this.#cameFrom = /** @type {HTMLElement|null} */ (document.activeElement);
  }

  /** Makes the next content take the focus. */
  renew() {
    this.#isNew = true;
  }

  /** @param {Node[]} content an empty card is hidden */
  show(content) {
    const card = byId("detail");
    replaceContent(card, content);
    card.hidden = content.length === 0;
    const title = [...(card.querySelector("#detail-title")?.childNodes ?? [])].map(({ textContent }) => textContent).filter(Boolean).join(" ");
    document.title = [title, PAGE_TITLE].filter(Boolean).join(" · ");
    document.body.classList.toggle("has-detail", content.length > 0);
    if (content.length === 0 || !this.#isNew) return;
    this.#isNew = false;
    byId("detail-title").focus({ preventScroll: true });
  }

  /** Returns the element that had the focus before the card opened, if it can have it again. */
  formerFocus() {
    const former = this.#cameFrom;
    return former?.isConnected && former !== document.body && former.checkVisibility() ? former : null;
  }
}
