/**
 * The stops and lines that a reader has starred. Only this browser stores them; the server does not know them.
 * The pages contain stars and lists (crates/lineside-pages/src/favourites.rs), hidden until this script shows them.
 */
import { badge } from "./badge.js";
import { element } from "./dom.js";

/** Key of the favourites in local storage, and their maximum number; the oldest are dropped. */
const STORAGE_KEY = "lineside.favourites";
export const FAVOURITES_MAX = 30;
/** Addresses that a favourite may have: only pages of stops and lines of this server. */
const ADDRESS = /^\/(stops|routes)\/([^/]+)\/([^/?#]+)$/;

/** @typedef {{href: string, name: string, kind: "stop"|"line", badge?: string, color?: string}} Favourite  `badge` is a line's short name, `color` six hexadecimal digits */

/** @param {any} entry @returns {entry is Favourite} */
const isFavourite = (entry) => typeof entry?.name === "string" && entry.name !== "" && ["stop", "line"].includes(entry.kind) && ADDRESS.test(entry.href);

/** @param {any} entry @returns {Favourite} only the known properties of a stored entry */
function withoutOthers({ href, name, kind, badge, color }) {
  const isColor = typeof color === "string" && /^[\da-f]{6}$/.test(color);
  return { href, name, kind, ...(typeof badge === "string" && badge !== "" ? { badge } : {}), ...(isColor ? { color } : {}) };
}

/** @param {string|null} text the stored text @returns {Favourite[]} the newest first */
export function parseFavourites(text) {
  try {
    const entries = JSON.parse(text ?? "[]");
    return Array.isArray(entries) ? entries.filter(isFavourite).map(withoutOthers).slice(0, FAVOURITES_MAX) : [];
  } catch {
    return [];
  }
}

/** Removes a favourite, or adds it as the first. @param {Favourite[]} favourites @param {Favourite} favourite @returns {Favourite[]} */
export function toggleFavourite(favourites, favourite) {
  const others = favourites.filter(({ href }) => href !== favourite.href);
  return others.length < favourites.length ? others : [favourite, ...others].slice(0, FAVOURITES_MAX);
}

/** Returns the network and the id of the stop or line of a favourite. @param {Favourite} favourite */
export function refOf({ href }) {
  const [, , feed, id] = ADDRESS.exec(href) ?? [];
  return { feed: decodeURIComponent(feed), id: decodeURIComponent(id) };
}

/** @returns {Favourite[]} empty if the browser has no storage */
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
    // Without storage the star does not change.
  }
  show();
}

/** Shows the star of the page's own stop or line. @param {HTMLElement} star @param {Favourite[]} favourites */
function showStar(star, favourites) {
  const { href = "" } = star.dataset;
  star.setAttribute("aria-pressed", String(favourites.some((each) => each.href === href)));
  star.hidden = false;
}

/** Shows a list of favourites; a list with a network shows only that network's. @param {HTMLElement} list @param {Favourite[]} favourites */
function showList(list, favourites) {
  const { network } = list.dataset;
  const own = favourites.filter((favourite) => network === undefined || refOf(favourite).feed === network);
  const hadFocus = list.contains(document.activeElement);
  list.querySelector("ul")?.replaceChildren(
    ...own.map((favourite) =>
      element(
        "li",
        { "data-kind": favourite.kind },
        element("a.target", { href: favourite.href }, favourite.badge && badge(favourite.badge, favourite.color), favourite.badge && " ", favourite.name),
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

/** Shows the stars and lists of the page, and updates them when another tab changes the favourites. */
export function setUpFavourites() {
  for (const star of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-favourite]"))) {
    const { href = "", name = "", favourite, badge, color } = star.dataset;
    star.addEventListener("click", () => toggle(withoutOthers({ href, name, kind: favourite === "line" ? "line" : "stop", badge, color })));
  }
  show();
  globalThis.addEventListener("storage", show);
  globalThis.addEventListener("pageshow", (event) => event.persisted && show());
}
