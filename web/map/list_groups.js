/** The rows of the list's tables: under a heading for each network, and without the columns in which no row has a value. */
import { element } from "../plain/dom.js";
import { numberWords } from "../plain/words.js";

/** Maximum number of rows of a table. */
const ROWS_MAX = 300;

/** The text of a cell without a value in a column that has values. */
export const NO_VALUE = "–";

/** @typedef {import("./regions.js").Region} Region */
/** @template T @typedef {{region: Region|undefined, items: T[]}} NetworkGroup  without a region for feeds of no network on the map */

/**
 * Returns items by network, in the order of the networks' names.
 * @template T @param {T[]} items in their order @param {(item: T) => Region|undefined} regionOf @returns {NetworkGroup<T>[]}
 */
export function groupByNetwork(items, regionOf) {
  /** @type {Map<string, NetworkGroup<T>>} */
  const groups = new Map();
  for (const item of items) {
    const region = regionOf(item);
    const group = groups.get(region?.id ?? "") ?? { region, items: [] };
    group.items.push(item);
    groups.set(region?.id ?? "", group);
  }
  return [...groups.values()].sort((a, b) => (a.region?.name ?? "\uffff").localeCompare(b.region?.name ?? "\uffff", "en"));
}

/**
 * Returns the rows of all groups. Several networks have headings and share the rows; a single one has a heading only if it is a recording.
 * @template T @param {NetworkGroup<T>[]} groups @param {(item: T) => HTMLElement} makeRow @param {number} width number of columns @returns {HTMLElement[]}
 */
export function groupedRows(groups, makeRow, width) {
  const most = Math.ceil(ROWS_MAX / Math.max(groups.length, 1));
  return groups.flatMap(({ region, items }) => {
    const rows = items.slice(0, most).map(makeRow);
    return groups.length > 1 || region?.recording ? [networkRow(region, rows.length, items.length, width), ...rows] : rows;
  });
}

/** @param {Region|undefined} region @param {number} shown number of rows @param {number} total @param {number} width */
function networkRow(region, shown, total, width) {
  const notes = [region?.recording ? "recording" : null, shown < total ? `first ${numberWords(shown)} of ${numberWords(total)}` : null].filter(Boolean).join(" · ");
  return element(
    "tr.network-row",
    { "data-network": region?.id ?? "", "data-recording": region?.recording ? "" : null, "data-total": String(total) },
    element("th", { scope: "colgroup", colspan: String(width) }, region?.name ?? "Other networks", notes ? element("span.soft.small", {}, ` · ${notes}`) : null),
  );
}

/** @param {HTMLElement} body of a table @param {HTMLElement[]} rows */
export function replaceRows(body, rows) {
  // Unchanged rows are not replaced, so that a click never misses them.
  if (body.innerHTML === rows.map(({ outerHTML }) => outerHTML).join("")) return;
  const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  body.replaceChildren(...rows);
  if (focused) /** @type {HTMLElement|null} */ (body.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
}

/**
 * Hides the columns in which no row has a value.
 * @param {HTMLElement} body the table's body @param {any[]} rows @param {number[]} columns
 */
export function hideEmptyColumns(body, rows, columns) {
  const table = /** @type {HTMLTableElement} */ (body.parentElement);
  const filled = rows.filter((row) => row.cells.length > 1);
  for (const column of columns) {
    const isEmpty = filled.every((row) => ["", NO_VALUE].includes(row.cells[column].textContent));
    for (const row of [table.rows[0], ...filled]) row.cells[column].hidden = isEmpty;
  }
  return rows;
}
