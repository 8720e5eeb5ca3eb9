/**
 * The stops and lines that a reader has starred. They are kept in this browser alone; the server does not know them.
 * The pages have the stars and the lists (crates/lineside/src/pages/favourites.rs), hidden until this script shows them.
 */
import { element } from "./dom.js";

/** Where favourites are kept, and how many: the newest stay. */
const STORAGE_KEY = "lineside.favourites";
export const FAVOURITES_MAX = 30;
/** Favourites lead only to pages of stops and lines of this server. */
const ADDRESS = /^\/(stops|routes)\/([^/]+)\/([^/?#]+)$/;

/** @typedef {{href: string, name: string, kind: "stop"|"line"}} Favourite */

/** @param {any} entry @returns {entry is Favourite} */
const isFavourite = (entry) => typeof entry?.name === "string" && entry.name !== "" && ["stop", "line"].includes(entry.kind) && ADDRESS.test(entry.href);

/** @param {string|null} text what the browser has kept @returns {Favourite[]} the newest first */
export function parseFavourites(text) {
  try {
    const entries = JSON.parse(text ?? "[]");
    return Array.isArray(entries) ? entries.filter(isFavourite).map(({ href, name, kind }) => ({ href, name, kind })).slice(0, FAVOURITES_MAX) : [];
  } catch {
    return [];
  }
}

/** @param {Favourite[]} favourites @param {Favourite} favourite @returns {Favourite[]} without it if it is there, else with it first */
export function toggleFavourite(favourites, favourite) {
  const others = favourites.filter(({ href }) => href !== favourite.href);
  return others.length < favourites.length ? others : [favourite, ...others].slice(0, FAVOURITES_MAX);
}

/** The network and the id of the stop or line that a favourite leads to. @param {Favourite} favourite */
export function refOf({ href }) {
  const [, , feed, id] = ADDRESS.exec(href) ?? [];
  return { feed: decodeURIComponent(feed), id: decodeURIComponent(id) };
}

/** @returns {Favourite[]} none where the browser keeps nothing */
export function readFavourites() {
  try {
    return parseFavourites(localStorage.getItem(STORAGE_KEY));
  } catch {
    return [];
  }
}

/** @param {Favourite} favourite */
function toggle(favourite) {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(toggleFavourite(readFavourites(), favourite)));
  } catch {
    // Without storage the star stays as it is.
  }
  show();
}

/** The star of a page's own stop or line. @param {HTMLElement} star @param {Favourite[]} favourites */
function showStar(star, favourites) {
  const { href = "" } = star.dataset;
  star.setAttribute("aria-pressed", String(favourites.some((each) => each.href === href)));
  star.hidden = false;
}

/** The list, of one network where it names that. @param {HTMLElement} list @param {Favourite[]} favourites */
function showList(list, favourites) {
  const { network } = list.dataset;
  const own = favourites.filter((favourite) => network === undefined || refOf(favourite).feed === network);
  const hadFocus = list.contains(document.activeElement);
  list.querySelector("ul")?.replaceChildren(
    ...own.map((favourite) =>
      element(
        "li",
        { "data-kind": favourite.kind },
        element("a.target", { href: favourite.href }, favourite.name),
        element("button.close", { type: "button", "aria-label": `Remove ${favourite.name}`, onclick: () => toggle(favourite) }, "×"),
      ),
    ),
  );
  list.hidden = own.length === 0;
  if (hadFocus) /** @type {HTMLElement|null} */ (list.hidden ? document.querySelector("main") : list.querySelector("a"))?.focus();
}

function show() {
  const favourites = readFavourites();
  for (const star of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-favourite]"))) showStar(star, favourites);
  for (const list of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-favourites]"))) showList(list, favourites);
}

/** Shows the stars and lists of the page, and keeps them when another tab changes them. */
export function setUpFavourites() {
  for (const star of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-favourite]"))) {
    const { href = "", name = "", favourite } = star.dataset;
    star.addEventListener("click", () => toggle({ href, name, kind: favourite === "line" ? "line" : "stop" }));
  }
  show();
  globalThis.addEventListener("storage", show);
  globalThis.addEventListener("pageshow", (event) => event.persisted && show());
}
