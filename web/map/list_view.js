/** The list that replaces the map: shows it, fills it, and explains why it is empty. */
import { byId, element } from "../plain/dom.js";
import { countWords, dateWords } from "../plain/words.js";
import { rentalTable, showList, showRentals, showUnplaced, unplacedTable } from "./list.js";

/** Number of ticks between updates of the list. */
const TICKS = 2;
/** Maximum number of networks that an empty list links to. */
const LINKS_MAX = 6;

/** @typedef {import("./regions.js").Region} Region */

/**
 * Returns the reason why the list is empty, as a code for tests and as a sentence for readers.
 * @param {Region[]} visible the networks in view @param {boolean} hasFilter true if modes or lines are filtered
 * @returns {{reason: "no_network"|"timetable_only"|"filtered"|"no_vehicle", words: string}}
 */
export function emptyList(visible, hasFilter) {
  if (visible.length === 0) return { reason: "no_network", words: "No network is in view. Choose one in the panel." };
  const name = visible.length === 1 ? visible[0].name : `The ${visible.length} networks in view`;
  if (visible.every(({ live }) => live.length === 0)) {
    const ended = visible.length === 1 ? visible[0].ended : null;
    const expired = ended ? ` Its timetable ended on ${dateWords(ended)}.` : "";
    return { reason: "timetable_only", words: `${name} ${visible.length === 1 ? "has" : "have"} a timetable and no live vehicle positions.${expired}` };
  }
  if (hasFilter) return { reason: "filtered", words: "No vehicle in view passes the filters." };
  return { reason: "no_vehicle", words: visible.length === 1 ? `${name} has no vehicle in view now.` : "No vehicle is in view now." };
}

export class ListView {
  #ticks = 0;

  #rentals = rentalTable();
  #unplaced = unplacedTable();
  #legend = element("p.soft.small", { id: "list-legend", hidden: true });
  #idle = element("p.soft.small", { id: "list-idle", hidden: true });

  constructor() {
    const table = document.querySelector("#list .vehicle-list")?.parentElement;
    table?.before(this.#legend);
    table?.after(this.#unplaced, this.#rentals);
    this.#unplaced.append(this.#idle);
  }

  /** @param {boolean} isShown */
  show(isShown) {
    byId("list").classList.toggle("is-shown", isShown);
    byId("show-list").setAttribute("aria-pressed", String(isShown));
    byId("show-list-words").textContent = isShown ? "Map" : "List";
    this.refresh();
  }

  /** Makes the next tick update the list. */
  refresh() {
    this.#ticks = 0;
  }

  /**
   * @param {import("./vehicles.js").Vehicle[]} vehicles @param {import("./bikes.js").Rental[]} rentals in view @param {import("./unplaced.js").UnplacedVehicle[]} unplaced
   * @param {Region[]} visible @param {boolean} hasFilter @param {import("./list.js").Options} options
   */
  update(vehicles, rentals, unplaced, visible, hasFilter, options) {
    this.#ticks += 1;
    if (this.#ticks % TICKS !== 1) return;
    const table = /** @type {HTMLElement} */ (document.querySelector("#list .vehicle-list"));
    showList(/** @type {HTMLElement} */ (table.querySelector("tbody")), vehicles, options);
    showRentals(/** @type {HTMLElement} */ (this.#rentals.querySelector("tbody")), rentals, options);
    showUnplaced(/** @type {HTMLElement} */ (this.#unplaced.querySelector("tbody")), unplaced, options);
    this.#unplaced.hidden = unplaced.length === 0;
    // The server's title may name a single network, but this list follows the map.
    byId("list-title").textContent = titleOf(vehicles, rentals, unplaced, visible);
    this.#showLegend(vehicles.filter(options.isStale).length, table);
    this.#showIdle(hasFilter ? 0 : visible.reduce((sum, { idle }) => sum + idle, 0));
    const isEmpty = vehicles.length + rentals.length + unplaced.length === 0;
    /** @type {HTMLElement} */ (table.parentElement).hidden = vehicles.length === 0;
    this.#rentals.hidden = rentals.length === 0;
    const note = byId("list-empty");
    note.hidden = !isEmpty;
    if (isEmpty) showEmpty(note, visible, hasFilter);
  }

  /** Explains the rows in italics, and the columns that are hidden. @param {number} stale number of rows with old positions @param {HTMLElement} table */
  #showLegend(stale, table) {
    const hidden = [.../** @type {HTMLTableElement} */ (table).tHead?.rows[0].cells ?? []].filter((cell) => cell.hidden).map(({ textContent }) => `${textContent}`.toLowerCase());
    const unknown = hidden.length > 0 ? ` These vehicles report no ${hidden.join(" and no ")}.` : "";
    this.#legend.hidden = stale === 0;
    this.#legend.dataset.stale = String(stale);
    this.#legend.dataset.unknown = hidden.join(",");
    this.#legend.textContent = `Rows in italics have old positions.${unknown}`;
  }

  /** Says how many vehicles without a position are not in the list. @param {number} count */
  #showIdle(count) {
    this.#idle.hidden = count === 0;
    this.#idle.dataset.count = String(count);
    this.#idle.textContent = `${countWords(count, "more vehicle reports", "more vehicles report")} no position: ${count === 1 ? "its trip has" : "their trips have"} not begun or ${count === 1 ? "has" : "have"} ended.`;
  }
}

/**
 * Returns the list's title: vehicles without a position are not in view.
 * @param {unknown[]} vehicles in view @param {unknown[]} rentals in view @param {{network: string}[]} unplaced @param {{id: string, name: string}[]} visible networks
 */
export function titleOf(vehicles, rentals, unplaced, visible) {
  if (vehicles.length + unplaced.length === 0 && rentals.length > 0) return "In view";
  if (vehicles.length > 0 || unplaced.length === 0) return "Vehicles in view";
  const [first, ...others] = visible.filter(({ id }) => unplaced.some(({ network }) => network === id));
  return first && others.length === 0 ? `Vehicles of ${first.name}` : "Vehicles";
}

/** @param {HTMLElement} note @param {Region[]} visible @param {boolean} hasFilter */
function showEmpty(note, visible, hasFilter) {
  const { reason, words } = emptyList(visible, hasFilter);
  const links = visible.slice(0, LINKS_MAX).map(({ id, name }) => element("li", {}, element("a.target", { href: `/networks/${encodeURIComponent(id)}`, "data-network": id }, `${name}: lines, stops and departures`)));
  const shown = element("div", {}, element("p", {}, words), links.length > 0 && element("ul", {}, ...links));
  // An unchanged note is not replaced, so that its links keep the focus.
  if (note.firstElementChild?.outerHTML === shown.outerHTML) return;
  note.dataset.reason = reason;
  note.replaceChildren(shown);
}
