/** The panel on a small screen: a button hides its networks, filters and notices to show more of the map. */
import { byId } from "../plain/dom.js";

export function listenToPanel() {
  const toggle = byId("panel-toggle");
  toggle.addEventListener("click", () => {
    const isOpen = toggle.getAttribute("aria-expanded") === "true";
    toggle.setAttribute("aria-expanded", String(!isOpen));
    byId("panel-more").classList.toggle("is-closed", isOpen);
  });
}
