/** The geohash cells that a view follows: the visible ones and a margin, until the view leaves them. */
import { cover, widen } from "./geohash.js";

/** Margin around the view, as a share of its size, so that a short move needs no new cells. */
const MARGIN = 0.2;

export class FollowedArea {
  /** @type {string[]} */
  #cells = [];

  /** @param {number} most maximum number of followed cells */
  constructor(most) {
    this.most = most;
  }

  /** @param {import("./geohash.js").Bounds} box @returns {string[]} empty if the view needs too many */
  cells(box) {
    const needed = cover(box, this.most);
    const isCovered = needed.length > 0 && this.#cells[0]?.length === needed[0].length && needed.every((cell) => this.#cells.includes(cell));
    if (!isCovered) {
      const wide = cover(widen(box, MARGIN), this.most);
      this.#cells = wide[0]?.length === needed[0]?.length ? wide : needed;
    }
    return this.#cells;
  }

  /** Returns the channels of a view's cells. @param {import("./regions.js").Bounds|null} bounds @returns {string[]} empty if the view needs too many */
  channels(bounds) {
    if (!bounds) return [];
    const [west, south, east, north] = bounds;
    return this.cells({ west, south, east, north }).map((cell) => `area/${cell}`);
  }
}
