/** The filters by mode and line: tests vehicles, and shows the chips that change the filters. */
import { badge } from "../plain/badge.js";
import { byId, element } from "../plain/dom.js";
import { removeIgnoredValues } from "./panel.js";
import { rentalSign } from "./rental.js";
import { MODES, formatRef, modeOf, routeAddress } from "./view.js";

/** Names of modes in a sentence, where they differ from "<name> lines". */
const LINES_OF_MODE = new Map([["bike", "bikes"], ["ferry", "ferries"], ["tram", "trams"]]);

/** @param {string} mode */
const linesOfMode = (mode) => LINES_OF_MODE.get(mode) ?? `${(MODES.get(mode) ?? mode).toLowerCase()} lines`;

export class Filters {
  #view;
  #routes;
  #networkOf;
  #inView;
  #changing;
  /** What the chips show, so that unchanged ones keep the focus. */
  #shown = "";

  /**
   * @param {import("./view.js").View} view its modes and routes are the filters
   * @param {import("./routes.js").Routes} routes
   * @param {(feed: string) => string|undefined} networkOf
   * @param {() => Set<string>} inView  returns the modes of the networks in view
   * @param {(change: () => void) => void} changing calls `change` and shows the result
   */
  constructor(view, routes, networkOf, inView, changing) {
    this.#view = view;
    this.#routes = routes;
    this.#networkOf = networkOf;
    this.#inView = inView;
    this.#changing = changing;
  }

  /** @param {import("./vehicles.js").Vehicle} vehicle */
  passes(vehicle) {
    const { modes, routes } = this.#view;
    if (modes.size > 0 && !modes.has(vehicle.mode)) return false;
    if (routes.length === 0) return true;
    const network = this.#networkOf(vehicle.feed);
    const id = vehicle.record.lineside?.route_id ?? vehicle.record.trip?.route_id;
    return routes.some((route) => route.feed === network && route.id === id);
  }

  /** True if any filter is set. */
  get isSet() {
    return this.#view.modes.size + this.#view.routes.length > 0;
  }

  /** True if stations and free vehicles are shown. */
  get showsBikes() {
    const { modes, routes } = this.#view;
    return modes.size > 0 ? modes.has("bike") : routes.length === 0;
  }

  /** True if nothing but stations and free vehicles is shown. */
  get showsOnlyBikes() {
    return this.showsBikes && this.#view.modes.size === 1;
  }

  /** Shows the modes of the networks in view, and the set filters. */
  show() {
    const { modes, routes } = this.#view;
    // Not from the loaded lines: the modes of a network that has just come into view would appear one by one.
    const present = this.#inView();
    const offered = [...MODES].filter(([mode]) => modes.has(mode) || present.has(mode));
    this.#showMissing([...modes].filter((mode) => !present.has(mode)));
    const shown = JSON.stringify([offered, [...modes], routes.map((ref) => [ref, this.#routes.all.has(formatRef(ref))])]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    byId("modes").replaceChildren(
      ...offered.map(([mode, name]) => element("button.chip", { type: "button", "aria-pressed": String(modes.has(mode)), onclick: () => this.#toggleMode(mode) }, mode === "bike" ? rentalSign() : null, name)),
    );
    byId("modes").hidden = offered.length < 2 && modes.size === 0;
    byId("routes").replaceChildren(
      ...routes.map((ref) => {
        const route = this.#routes.all.get(formatRef(ref));
        const name = route?.name ?? ref.id;
        return element(
          "span.route-filter",
          {},
          element("button.chip", { type: "button", "aria-label": `Show all lines again, not only ${name}`, onclick: () => this.toggleRoute(ref) }, badge(name, route?.color), route?.long && route.long !== name ? element("span.route-long", {}, route.long) : null, " ×"),
          element("a.small", { href: routeAddress(ref) }, "Line page"),
        );
      }),
    );
    byId("routes").hidden = routes.length === 0;
  }

  /** Says which of the set modes no network in view has. @param {string[]} missing modes */
  #showMissing(missing) {
    const note = byId("modes-note");
    note.hidden = missing.length === 0;
    const words = note.hidden ? "" : `No ${missing.map(linesOfMode).join(" or ")} in view.`;
    if (note.textContent !== words) note.textContent = words;
    note.dataset.missing = missing.join(" ");
  }

  /** @param {string} mode */
  #toggleMode(mode) {
    this.#change(() => {
      if (!this.#view.modes.delete(mode)) this.#view.modes.add(mode);
    });
  }

  /** @param {import("./view.js").Ref} ref */
  toggleRoute(ref) {
    this.#change(() => {
      const others = this.#view.routes.filter(({ feed, id }) => feed !== ref.feed || id !== ref.id);
      this.#view.routes = others.length < this.#view.routes.length ? others : [...others, { feed: ref.feed, id: ref.id }];
    });
  }

  /** Restores the filters of a view. @param {import("./view.js").View} past @returns {boolean} true if they differ from the current ones */
  restore({ modes, routes }) {
    const words = (/** @type {{modes: Set<string>, routes: import("./view.js").Ref[]}} */ view) => [...[...view.modes].sort(), ...view.routes.map(formatRef)].join(" ");
    if (words({ modes, routes }) === words(this.#view)) return false;
    Object.assign(this.#view, { modes, routes });
    this.show();
    return true;
  }

  /** @param {() => void} change */
  #change(change) {
    const focused = document.activeElement?.textContent;
    removeIgnoredValues();
    this.#changing(change);
    this.show();
    /** @type {HTMLElement|undefined} */ ([.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#modes .chip"))].find(({ textContent }) => textContent === focused))?.focus();
  }
}
