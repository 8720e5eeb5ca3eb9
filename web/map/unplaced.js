/**
 * The vehicles without a position in the networks in view. No cell of the map has them, so the list fetches them.
 *
 * @typedef {{network: string, trip_address: string|null, vehicle: import("./vehicles.js").Vehicle}} UnplacedVehicle
 */
import { fetchJson } from "./fetch_json.js";
import { vehicleWithoutMap } from "./vehicles.js";

/** Interval at which the vehicles of a network are fetched, in milliseconds. */
const RELOAD_MS = 10_000;
/** Maximum number of networks whose vehicles are fetched. */
const NETWORKS_MAX = 6;

export class UnplacedVehicles {
  /** @type {Map<string, {at: number, vehicles: UnplacedVehicle[]}>} by network */
  #known = new Map();

  /** Returns the known vehicles of these networks, and fetches them again if they are old. @param {import("./regions.js").Region[]} visible @param {() => void} changed called when they have arrived */
  of(visible, changed) {
    const networks = visible.filter(({ unplaced }) => unplaced > 0).slice(0, NETWORKS_MAX);
    for (const { id } of networks) {
      const known = this.#known.get(id) ?? { at: -Infinity, vehicles: [] };
      if (performance.now() - known.at < RELOAD_MS) continue;
      known.at = performance.now();
      this.#known.set(id, known);
      this.#fetch(id).then(changed);
    }
    return networks.flatMap(({ id }) => this.#known.get(id)?.vehicles ?? []);
  }

  /** @param {string} network */
  async #fetch(network) {
    const rows = await fetchJson("/map/unplaced", { network });
    const known = this.#known.get(network);
    if (rows && known) known.vehicles = rows.map((/** @type {any} */ { feed, id, record, trip_address }) => ({ network, trip_address, vehicle: vehicleWithoutMap(feed, id, record) }));
  }
}
