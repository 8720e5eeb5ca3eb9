/** Which cells of the earth a view follows: those that it shows and a margin, until it leaves them. */
import { cover, widen } from "./geohash.js";

/** The view is followed with this margin, so that a short move needs nothing new. */
const MARGIN = 0.2;

export class FollowedArea {
  /** @type {string[]} */
  #cells = [];

  /** @param {number} most how many cells may be followed */
  constructor(most) {
    this.most = most;
  }

  /** @param {import("./geohash.js").Bounds} box @returns {string[]} none where the view needs too many */
  cells(box) {
    const needed = cover(box, this.most);
    const isCovered = needed.length > 0 && this.#cells[0]?.length === needed[0].length && needed.every((cell) => this.#cells.includes(cell));
    if (!isCovered) {
      const wide = cover(widen(box, MARGIN), this.most);
      this.#cells = wide[0]?.length === needed[0]?.length ? wide : needed;
    }
    return this.#cells;
  }

  /** The channels of the cells of a view. @param {import("./regions.js").Bounds|null} bounds @returns {string[]} none where it needs too many */
  channels(bounds) {
    if (!bounds) return [];
    const [west, south, east, north] = bounds;
    return this.cells({ west, south, east, north }).map((cell) => `area/${cell}`);
  }
}
