/** The same scenarios over every transport, against a demo whose vehicles move. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import WebSocket from "ws";
import { cellOf } from "../../map/geohash.js";
import { startDemo, until } from "../server.js";
import { CLIENTS, TRANSPORTS, connect } from "./clients.js";
import { changes, holdsWhatTheServerHolds, states } from "./held.js";
import { openLine } from "./line.js";

/** Few enough that a change of all of them is one message. */
const CITY = ["--vehicles", "60"];
/** As many channels as one connection may have, unless configured otherwise. */
const CHANNELS_MAX = 512;

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
/** @type {any[]} */
let vehicles;

before(async () => {
  demo = await startDemo(CITY);
  vehicles = (await (await fetch(`${demo.base}/geojson/city/vehicles.geojson`)).json()).features;
});
after(() => demo?.stop());

/** Follows, hands over, and leaves nothing behind. @param {any} transport @param {string} base @param {string[]} channels @param {any} options @param {(follower: import("./clients.js").Follower) => Promise<void>} look */
async function following(transport, base, channels, options, look) {
  const follower = transport.follow(base, channels, options);
  try {
    await look(follower);
  } finally {
    follower.close();
  }
}

describe("a city's channels", { concurrency: true }, () => {
  for (const transport of TRANSPORTS) {
    describe(`over ${transport.name}`, { concurrency: true }, () => {
      test("the state comes first, then changes, and both are what the server holds", async () => {
        const vehicle = vehicles.find(({ properties }) => properties.route_id).properties;
        const channels = ["feed/city", "feed/city-vehicles", "alerts/city-alerts", `route/city/${vehicle.route_id}`];
        await following(transport, demo.base, channels, {}, async (follower) => {
          for (const channel of channels) await until(() => follower.store.holdings.get(channel)?.whole, `a state of ${channel}`);
          const first = follower.heard.find(({ channel }) => channel === "feed/city");
          assert.equal(first.data.state.part, 1);
          assert.equal(first.data.gap, undefined, "nobody was here before, so nothing was missed");
          await until(() => changes(follower).length > 2, "changes");
          for (const channel of channels) await holdsWhatTheServerHolds(demo.base, follower, channel);
        });
      });

      test("an area is what drives in it", async () => {
        const [longitude, latitude] = vehicles[0].geometry.coordinates;
        const cell = cellOf(latitude, longitude, 5);
        const channel = `area/${cell}`;
        await following(transport, demo.base, [channel], {}, (follower) => holdsWhatTheServerHolds(demo.base, follower, channel));
      });

      test("after a cut line it goes on, without a second state", async () => {
        const line = await openLine(demo.base);
        await following(transport, line.base, ["feed/city", "feed/city-vehicles"], {}, async (follower) => {
          for (const channel of ["feed/city", "feed/city-vehicles"]) await holdsWhatTheServerHolds(demo.base, follower, channel);
          line.down();
          const [before, openedBefore] = [follower.heard.length, follower.opened.length];
          await new Promise((resolve) => setTimeout(resolve, 2_500));
          assert.equal(follower.heard.length, before, "nothing is heard over a line that is down");
          line.mend();
          await until(() => changes(follower, before).length > 1, "changes after the cut");
          assert.deepEqual(states(follower, before), [], "no second state");
          assert.ok(follower.opened.slice(openedBefore).every(({ resumed }) => resumed));
          for (const channel of ["feed/city", "feed/city-vehicles"]) await holdsWhatTheServerHolds(demo.base, follower, channel);
          const offsets = follower.heard.filter(({ channel, offset }) => channel === "feed/city" && offset).map(({ offset }) => offset);
          const unique = [...new Set(offsets)];
          assert.deepEqual(unique, Array.from(unique, (_, at) => unique[0] + at), "each change of the network, none missing");
        }).finally(() => line.close());
      });

      test("a position that the server no longer has gives the state, marked", async () => {
        await following(transport, demo.base, ["feed/city-vehicles"], { since: { offset: 5, epoch: "zzzzzzzz" } }, async (follower) => {
          await until(() => follower.store.holdings.get("feed/city-vehicles")?.whole, "a state");
          assert.equal(follower.heard[0].data.gap, true);
          assert.equal(follower.opened[0].resumed, false);
          await until(() => changes(follower).length > 0, "changes");
          assert.ok(changes(follower).every(({ data }) => data.gap === undefined));
          await holdsWhatTheServerHolds(demo.base, follower, "feed/city-vehicles");
        });
      });

      test("an unknown feed and a malformed channel are refused, each by its code", async () => {
        await following(transport, demo.base, ["feed/nowhere"], {}, async ({ refused }) => {
          await until(() => refused.length > 0, "a refusal");
          assert.equal(refused[0].code, transport.unknownFeed);
        });
        for (const channel of ["feed/a%2fb", "feed/city/", "stop/city/%zz"]) {
          await following(transport, demo.base, [channel], {}, async ({ refused }) => {
            await until(() => refused.length > 0, `a refusal of ${channel}`);
            assert.equal(refused[0].code, transport.badChannel, channel);
          });
        }
      });

      test("a vehicle that is not there is an empty state", async () => {
        const channel = "vehicle/city-vehicles/nobody%20knows%20it";
        await following(transport, demo.base, [channel], {}, async ({ heard, store }) => {
          await until(() => store.holdings.get(channel)?.whole, "a state");
          assert.deepEqual(heard[0].data.changes.filter(({ kind }) => kind !== "feed"), []);
        });
      });

      test("many channels at once", async () => {
        const many = transport.isWebSocket ? CHANNELS_MAX : 64;
        const real = vehicles.map(({ properties }) => `vehicle/city-vehicles/${encodeURIComponent(properties.id ?? properties.vehicle_id)}`);
        const channels = [...real, ...Array.from({ length: CHANNELS_MAX }, (_, at) => `vehicle/city-vehicles/none-${at}`)].slice(0, many);
        await following(transport, demo.base, channels, {}, async (follower) => {
          await until(() => channels.every((channel) => follower.store.holdings.get(channel)?.whole), "all their states", 30_000);
          assert.deepEqual(follower.refused, []);
          await until(() => changes(follower).length > 5, "changes");
          for (const channel of channels.slice(0, 3)) await holdsWhatTheServerHolds(demo.base, follower, channel);
        });
      });
    });
  }

  describe("a server that restarts", { concurrency: true }, () => {
    for (const transport of TRANSPORTS) {
      test(`over ${transport.name}: clients are told, come back, and hold what it holds then`, async () => {
        const first = await startDemo(CITY);
        const follower = transport.follow(first.base, ["feed/city-vehicles"], {});
        try {
          await holdsWhatTheServerHolds(first.base, follower, "feed/city-vehicles");
          await first.stop();
          await until(() => follower.ends.length > 0, "the end of the connection");
          if (transport.isWebSocket) assert.equal(follower.ends[0], 3001);
          const before = follower.heard.length;
          const second = await startDemo(CITY, first.port);
          try {
            await until(() => follower.heard.length > before, "messages of the new server", 30_000);
            await holdsWhatTheServerHolds(second.base, follower, "feed/city-vehicles");
            // A new life of the sequence: what was missed is not known, so the state says that something was.
            if (follower.heard[before].epoch !== follower.heard[0].epoch) assert.equal(follower.heard[before].data.gap, true);
          } finally {
            await second.stop();
          }
        } finally {
          follower.close();
          await first.stop();
        }
      });
    }
  });

  for (const { name, Client, follow } of CLIENTS) {
    describe(`the stock client over ${name}`, { concurrency: true }, () => {
      /** @param {(client: any) => Promise<void>} look */
      async function connected(look, options = {}) {
        const client = connect(Client, demo.base, options);
        client.connect();
        try {
          await client.ready(10_000);
          await look(client);
        } finally {
          client.disconnect();
        }
      }

      test("a feed's history is what its log still has, in order", async () => {
        await connected(async (client) => {
          const subscription = client.newSubscription("feed/city");
          subscription.subscribe();
          await subscription.ready(10_000);
          const { epoch, publications } = await until(async () => {
            const history = await subscription.history({ limit: 10 });
            return history.publications.length > 2 && history;
          }, "a history");
          assert.match(epoch, /^[a-z0-9]{8}$/);
          const offsets = publications.map(({ offset }) => offset);
          assert.deepEqual(offsets, Array.from(offsets, (_, at) => offsets[0] + at));
          const later = await subscription.history({ limit: 10, since: { offset: offsets[0], epoch } });
          assert.equal(later.publications[0].offset, offsets[1]);
          const newest = await subscription.history({ limit: 1, reverse: true });
          assert.ok(newest.publications[0].offset >= offsets.at(-1));
        });
      });

      test("nobody publishes into what producers say, nor asks who reads it", async () => {
        await connected(async (client) => {
          const data = Client === CLIENTS[1].Client ? Buffer.from("{}") : {};
          await assert.rejects(client.publish("feed/city", data), { code: 103 });
          const subscription = client.newSubscription("feed/city");
          subscription.subscribe();
          await subscription.ready(10_000);
          await assert.rejects(subscription.publish(data), { code: 103 });
          await assert.rejects(subscription.presence(), { code: 108 });
          await assert.rejects(client.rpc("anything", data), (error) => [104, 108].includes(error.code));
        });
      });

      test("what is no longer wanted is no longer sent", async () => {
        await connected(async (client) => {
          let heard = 0;
          const subscription = client.newSubscription("feed/city-vehicles");
          subscription.on("publication", () => (heard += 1));
          subscription.subscribe();
          await until(() => heard > 1, "publications");
          subscription.unsubscribe();
          await client.ready();
          await new Promise((resolve) => setTimeout(resolve, 300));
          const before = heard;
          await new Promise((resolve) => setTimeout(resolve, 2_500));
          assert.equal(heard, before);
          subscription.subscribe();
          await until(() => heard > before + 1, "publications again");
        });
      });

      test("one channel more than a connection may have is refused, and the others go on", async () => {
        const channels = Array.from({ length: CHANNELS_MAX + 1 }, (_, at) => `vehicle/city-vehicles/v${at}`);
        const follower = follow(demo.base, channels, {});
        try {
          await until(() => follower.refused.length > 0 && follower.opened.length === CHANNELS_MAX, "all but one");
          assert.deepEqual(follower.refused.map(({ code }) => code), [106]);
        } finally {
          follower.close();
        }
      });

      test("messages are compressed where the client offers it, and only there", async () => {
        for (const perMessageDeflate of [true, false]) {
          const sockets = [];
          class Offering extends WebSocket {
            constructor(address, protocols) {
              super(address, protocols, { perMessageDeflate });
              sockets.push(this);
            }
          }
          await connected(async (client) => {
            const subscription = client.newSubscription("feed/city");
            let heard = 0;
            subscription.on("publication", () => (heard += 1));
            subscription.subscribe();
            await until(() => heard > 2, "publications");
            const agreed = sockets[0].extensions;
            assert.equal(agreed.includes("permessage-deflate"), perMessageDeflate, agreed);
          }, { websocket: Offering });
        }
      });
    });
  }
});
