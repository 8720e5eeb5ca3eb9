/**
 * The geohash cells of a view, whose channels the map subscribes to.
 *
 * A geohash halves longitude and latitude in turn, with five halvings per base-32 character. A cell of
 * length n is 360 / 2^ceil(5n/2) degrees wide and 180 / 2^floor(5n/2) high.
 *
 * @typedef {{west: number, south: number, east: number, north: number}} Bounds
 */
const ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz";

/** The geohash lengths of `area/` channels, longest first. */
const LENGTHS = [6, 5, 4];

/** @param {number} length */
const columnsOf = (length) => 2 ** Math.ceil((5 * length) / 2);
/** @param {number} length */
const rowsOf = (length) => 2 ** Math.floor((5 * length) / 2);

/** Returns the cell at a column (from the west) and a row (from the south). @param {number} column @param {number} row @param {number} length */
function cellAt(column, row, length) {
  const columnBits = Math.ceil((5 * length) / 2);
  const rowBits = Math.floor((5 * length) / 2);
  let text = "";
  let value = 0;
  for (let bit = 0; bit < 5 * length; bit += 1) {
    const half = Math.floor(bit / 2);
    const taken = bit % 2 === 0 ? Math.floor(column / 2 ** (columnBits - 1 - half)) : Math.floor(row / 2 ** (rowBits - 1 - half));
    value = value * 2 + (taken % 2);
    if (bit % 5 === 4) {
      text += ALPHABET[value];
      value = 0;
    }
  }
  return text;
}

/** @param {number} value @param {number} low @param {number} high */
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Returns the columns and rows of a length that overlap a view. @param {Bounds} bounds @param {number} length */
function range({ west, south, east, north }, length) {
  const columns = columnsOf(length);
  const rows = rowsOf(length);
  const column = (/** @type {number} */ longitude) => Math.floor(((longitude + 180) / 360) * columns);
  const row = (/** @type {number} */ latitude) => clamp(Math.floor(((latitude + 90) / 180) * rows), 0, rows - 1);
  const first = column(west);
  return { first, last: Math.min(column(east), first + columns - 1), bottom: row(south), top: row(north), columns };
}

/** Returns the cell that contains a point. @param {number} latitude @param {number} longitude @param {number} length */
export function cellOf(latitude, longitude, length) {
  const { first, bottom, columns } = range({ west: longitude, east: longitude, south: latitude, north: latitude }, length);
  return cellAt(((first % columns) + columns) % columns, bottom, length);
}

/**
 * Returns the cells that cover the view, of the greatest length that needs at most `most` cells; empty if
 * even the largest cells are too many.
 * @param {Bounds} bounds  east may pass 180 when the view crosses the date line
 * @param {number} most @returns {string[]}
 */
export function cover(bounds, most) {
  for (const length of LENGTHS) {
    const { first, last, bottom, top, columns } = range(bounds, length);
    if ((last - first + 1) * (top - bottom + 1) > most) continue;
    const cells = [];
    for (let row = bottom; row <= top; row += 1) {
      for (let column = first; column <= last; column += 1) {
        cells.push(cellAt(((column % columns) + columns) % columns, row, length));
      }
    }
    return cells;
  }
  return [];
}

/** Widens a view by a share of its size on every side. @param {Bounds} bounds @param {number} share */
export function widen({ west, south, east, north }, share) {
  const x = (east - west) * share;
  const y = (north - south) * share;
  return { west: west - x, east: east + x, south: Math.max(south - y, -90), north: Math.min(north + y, 90) };
}
