/**
 * The search box of the map: finds stops on the server and routes among the loaded ones. An empty box
 * lists the nearest stops. It follows the ARIA combobox pattern: arrows move, Enter picks, Escape
 * closes.
 */
import { badge } from "../plain/badge.js";
import { element } from "../plain/dom.js";
import { shownLines } from "./find.js";

/** Delay after the last keystroke before the search starts, in milliseconds. */
const PAUSE_MS = 180;
const STOPS_MAX = 8;
const ROUTES_MAX = 4;
const FAVOURITES_MAX = 8;
const NETWORKS_MAX = 3;

/**
 * @typedef {{feed: string, id: string, name: string, latitude: number, longitude: number, detail: string, about: string, lines: {name: string, color: string|null}[], sign?: string}} FoundStop  `about` is the detail with the distance and the network; `sign` is set for a further stop of the place before it (find.js)
 * @typedef {object} Options
 * @property {HTMLInputElement} input @property {HTMLElement} results
 * @property {HTMLElement} from  shows from where distances are measured
 * @property {(question: string) => Promise<{stops: FoundStop[], from: string|null}>} findStops
 * @property {(question: string) => {byName: import("./routes.js").Route[], byDescription: import("./routes.js").Route[]}} findRoutes
 * @property {(question: string) => import("./regions.js").Region[]} findNetworks
 * @property {(region: import("./regions.js").Region) => void} pickNetwork
 * @property {() => import("../plain/favourites.js").Favourite[]} favourites  the first options of an empty box
 * @property {(favourite: import("../plain/favourites.js").Favourite) => void} pickFavourite
 * @property {(stop: FoundStop) => void} pickStop
 * @property {(route: import("./routes.js").Route) => void} pickRoute
 */

/** Returns true if the device shows an on-screen keyboard for a text field. */
const hasScreenKeyboard = () => matchMedia("(pointer: coarse)").matches;

/** @param {Options} options */
export function setUpSearch({ input, results, from, findStops, findRoutes, findNetworks, favourites, pickFavourite, pickStop, pickRoute, pickNetwork }) {
  let timer = 0;
  let asked = 0;
  /** True while the results do not match the typed text. */
  let isStale = false;
  let active = -1;
  /** True if the results stay open without the focus in the box, as after "Near me" on a phone. */
  let isPinned = false;
  /** True while the box receives the focus without opening its results. */
  let isQuiet = false;
  const options = () => /** @type {HTMLElement[]} */ ([...results.querySelectorAll('[role="option"]')]);

  const close = () => {
    asked += 1;
    isPinned = false;
    results.hidden = true;
    from.hidden = true;
    results.replaceChildren();
    delete results.dataset.question;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  };

  const activate = (/** @type {number} */ index) => {
    const all = options();
    active = all.length === 0 ? -1 : (index + all.length) % all.length;
    for (const [at, option] of all.entries()) option.setAttribute("aria-selected", String(at === active));
    if (active < 0) return;
    input.setAttribute("aria-activedescendant", all[active].id);
    all[active].scrollIntoView({ block: "nearest" });
  };

  /** Closes the results and empties the box before `pick` opens a card, which records the focused element. @param {() => void} pick */
  const choose = (pick) => {
    close();
    input.value = "";
    if (hasScreenKeyboard()) input.blur();
    pick();
  };

  const option = (/** @type {number} */ at, /** @type {() => void} */ pick, /** @type {(Node|string|null)[]} */ ...children) =>
    element("div.option", { role: "option", id: `result-${at}`, "aria-selected": "false", onmousedown: (/** @type {Event} */ event) => event.preventDefault(), onclick: () => choose(pick) }, ...children);

  const routeOption = (/** @type {import("./routes.js").Route} */ route) => (/** @type {number} */ at) =>
    option(at, () => pickRoute(route), badge(route.name, route.color), element("span", {}, route.long), element("span.where", {}, "line"));
  const stopOption = (/** @type {FoundStop} */ stop) => (/** @type {number} */ at) => {
    const { shown, more } = shownLines(stop.lines);
    const lines = shown.length > 0 && element("span.option-lines", {}, ...shown.map(({ name, color }) => badge(name, color)), more > 0 ? element("span.soft", {}, `+${more} more`) : null);
    const about = element("span.option-about", {}, lines, element("span.soft", {}, stop.about));
    // A further stop of the place before it needs its whole name only for screen readers.
    const name = stop.sign === undefined ? [element("span", {}, stop.name)] : [element("span.visually-hidden", {}, stop.name), stop.sign ? element("span", { "aria-hidden": "true" }, stop.sign) : null];
    const made = option(at, () => pickStop(stop), ...name, about);
    made.dataset.stop = `${stop.feed}:${stop.id}`;
    made.classList.toggle("is-namesake", stop.sign !== undefined);
    return made;
  };

  const favouriteOption = (/** @type {import("../plain/favourites.js").Favourite} */ favourite) => (/** @type {number} */ at) =>
    option(at, () => pickFavourite(favourite), element("span.star-sign", { "aria-hidden": "true" }, "★"), element("span", {}, favourite.name), element("span.where", {}, `your ${favourite.kind}`));

  const networkOption = (/** @type {import("./regions.js").Region} */ region) => (/** @type {number} */ at) =>
    option(at, () => pickNetwork(region), element("span", {}, region.name), element("span.where", {}, "network"));

  /** Picks the active option, else the first, and waits for the results of the typed text. */
  const pick = async () => {
    clearTimeout(timer);
    if (isStale) await ask();
    options()[Math.max(active, 0)]?.click();
  };

  const ask = async () => {
    const question = input.value.trim();
    const mine = ++asked;
    const { stops, from: origin } = await findStops(question).catch(() => ({ stops: [], from: null }));
    if (mine !== asked || (document.activeElement !== input && !isPinned)) return;
    isStale = false;
    const { byName, byDescription } = question ? findRoutes(question) : { byName: [], byDescription: [] };
    const starred = question || isPinned ? [] : favourites().slice(0, FAVOURITES_MAX);
    const found = [
      ...starred.map(favouriteOption),
      ...findNetworks(question).slice(0, NETWORKS_MAX).map(networkOption),
      ...byName.slice(0, ROUTES_MAX).map(routeOption),
      ...stops.slice(0, STOPS_MAX).map(stopOption),
      ...byDescription.slice(0, ROUTES_MAX).map(routeOption),
    ];
    const made = found.map((make, at) => make(at));
    const nothing = question ? element("p.soft.small.nothing", {}, `No stop, line or network matches “${question}”.`) : isPinned ? element("p.soft.small.nothing", {}, "No stops nearby.") : null;
    results.replaceChildren(...(made.length > 0 ? made : nothing ? [nothing] : []));
    results.dataset.question = question;
    results.hidden = results.childElementCount === 0;
    from.textContent = starred.length > 0 ? `Your stops and lines first, then ${(origin ?? "").toLowerCase()}` : (origin ?? "");
    from.hidden = stops.length === 0 || !origin;
    input.setAttribute("aria-expanded", String(!results.hidden));
    active = -1;
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    isStale = true;
    timer = /** @type {any} */ (setTimeout(ask, PAUSE_MS));
  });
  input.addEventListener("focus", () => void (isQuiet || ask()));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") activate(active + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "Escape" && !results.hidden) close();
    else if (event.key === "Enter") pick();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  input.form?.addEventListener("submit", (event) => event.preventDefault());

  return {
    close,
    /** Lists the nearest stops, without opening the on-screen keyboard. */
    showNearest() {
      input.value = "";
      isPinned = true;
      if (!hasScreenKeyboard() && document.activeElement !== input) input.focus();
      else ask();
    },
    /** Focuses the box without opening its results. */
    focusQuietly() {
      isQuiet = true;
      input.focus({ preventScroll: true });
      isQuiet = false;
    },
  };
}
