/** Scenarios of a city's channels for every transport, with and without TLS. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cellOf } from "../../map/geohash.js";
import { until } from "../server.js";
import { TRANSPORTS } from "./clients.js";
import { changes, waitForServerState, states } from "./state_match.js";
import { openProxy } from "./proxy.js";

/** Default maximum number of channels of a connection. */
export const CHANNELS_MAX = 512;

/** Follows channels, calls `look` with the follower, and closes it. @param {any} transport @param {string} base @param {string[]} channels @param {any} options @param {(follower: import("./clients.js").Follower) => Promise<void>} look */
async function following(transport, base, channels, options, look) {
  const follower = transport.follow(base, channels, options);
  try {
    await look(follower);
  } finally {
    follower.close();
  }
}

/** @param {{base: string, vehicles: any[]}} place  filled in before the tests run */
export function cityScenarios(place) {
  for (const transport of TRANSPORTS) {
    describe(`over ${transport.name}`, { concurrency: true }, () => {
      test("the state comes first, then changes, and the result matches the server's state", async () => {
        const vehicle = place.vehicles.find(({ properties }) => properties.route_id).properties;
        const channels = ["feed/city", "feed/city-vehicles", "alerts/city-alerts", `route/city/${vehicle.route_id}`];
        await following(transport, place.base, channels, {}, async (follower) => {
          for (const channel of channels) await until(() => follower.store.channels.get(channel)?.hasState, `a state of ${channel}`);
          const first = follower.heard.find(({ channel }) => channel === "feed/city");
          assert.equal(first.data.state.part, 1);
          assert.equal(first.data.gap, undefined, "a new client has missed nothing");
          await until(() => changes(follower).length > 2, "changes");
          for (const channel of channels) await waitForServerState(place.base, follower, channel);
        });
      });

      test("an area channel has the vehicles in its cell", async () => {
        const [longitude, latitude] = place.vehicles[0].geometry.coordinates;
        const cell = cellOf(latitude, longitude, 5);
        const channel = `area/${cell}`;
        await following(transport, place.base, [channel], {}, (follower) => waitForServerState(place.base, follower, channel));
      });

      test("a lost connection resumes without a second state", async () => {
        const proxy = await openProxy(place.base);
        await following(transport, proxy.base, ["feed/city", "feed/city-vehicles"], {}, async (follower) => {
          for (const channel of ["feed/city", "feed/city-vehicles"]) await waitForServerState(place.base, follower, channel);
          proxy.down();
          await until(() => follower.ends.length > 0, "the end of the connection");
          const [before, openedBefore] = [follower.heard.length, follower.opened.length];
          await new Promise((resolve) => setTimeout(resolve, 2_500));
          assert.equal(follower.heard.length, before, "no messages arrive while the connection is down");
          proxy.mend();
          await until(() => changes(follower, before).length > 1, "changes after the cut");
          assert.deepEqual(states(follower, before), [], "no second state");
          assert.ok(follower.opened.slice(openedBefore).every(({ resumed }) => resumed));
          for (const channel of ["feed/city", "feed/city-vehicles"]) await waitForServerState(place.base, follower, channel);
          const offsets = follower.heard.filter(({ channel, offset }) => channel === "feed/city" && offset).map(({ offset }) => offset);
          const unique = [...new Set(offsets)];
          assert.deepEqual(unique, Array.from(unique, (_, at) => unique[0] + at), "each change of the network, none missing");
        }).finally(() => proxy.close());
      });

      test("an unknown position gives the state with a gap", async () => {
        await following(transport, place.base, ["feed/city-vehicles"], { since: { offset: 5, epoch: "zzzzzzzz" } }, async (follower) => {
          await until(() => follower.store.channels.get("feed/city-vehicles")?.hasState, "a state");
          assert.equal(follower.heard[0].data.gap, true);
          assert.equal(follower.opened[0].resumed, false);
          await until(() => changes(follower).length > 0, "changes");
          assert.ok(changes(follower).every(({ data }) => data.gap === undefined));
          await waitForServerState(place.base, follower, "feed/city-vehicles");
        });
      });

      test("an unknown feed and a malformed channel are refused with their codes", async () => {
        await following(transport, place.base, ["feed/nowhere"], {}, async ({ refused }) => {
          await until(() => refused.length > 0, "a refusal");
          assert.equal(refused[0].code, transport.unknownFeed);
        });
        for (const channel of ["feed/a%2fb", "feed/city/", "stop/city/%zz"]) {
          await following(transport, place.base, [channel], {}, async ({ refused }) => {
            await until(() => refused.length > 0, `a refusal of ${channel}`);
            assert.equal(refused[0].code, transport.badChannel, channel);
          });
        }
      });

      test("an unknown vehicle has an empty state", async () => {
        const channel = "vehicle/city-vehicles/nobody%20knows%20it";
        await following(transport, place.base, [channel], {}, async ({ heard, store }) => {
          await until(() => store.channels.get(channel)?.hasState, "a state");
          assert.deepEqual(heard[0].data.changes.filter(({ kind }) => kind !== "feed"), []);
        });
      });

      test("many channels can be followed at once", async () => {
        const many = transport.isWebSocket ? CHANNELS_MAX : 64;
        const real = place.vehicles.map(({ properties }) => `vehicle/city-vehicles/${encodeURIComponent(properties.id ?? properties.vehicle_id)}`);
        const channels = [...real, ...Array.from({ length: CHANNELS_MAX }, (_, at) => `vehicle/city-vehicles/none-${at}`)].slice(0, many);
        await following(transport, place.base, channels, {}, async (follower) => {
          await until(() => channels.every((channel) => follower.store.channels.get(channel)?.hasState), "all their states", 30_000);
          assert.deepEqual(follower.refused, []);
          await until(() => changes(follower).length > 5, "changes");
          for (const channel of channels.slice(0, 3)) await waitForServerState(place.base, follower, channel);
        });
      });
    });
  }
}
