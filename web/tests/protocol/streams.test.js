/** The scenarios over every transport, against a demo with moving vehicles. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import WebSocket from "ws";
import { startDemo, until } from "../server.js";
import { CLIENTS, TRANSPORTS, connect } from "./clients.js";
import { waitForServerState } from "./state_match.js";
import { CHANNELS_MAX, cityScenarios } from "./scenarios.js";

/** Few enough vehicles that a change of all of them fits one message. */
const CITY = ["--vehicles", "60"];

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
const place = { base: "", vehicles: /** @type {any[]} */ ([]) };

before(async () => {
  demo = await startDemo(CITY);
  place.base = demo.base;
  place.vehicles = (await (await fetch(`${demo.base}/geojson/city/vehicles.geojson`)).json()).features;
});
after(() => demo?.stop());

describe("a city's channels", { concurrency: 3 }, () => {
  cityScenarios(place);

  describe("a server that restarts", { concurrency: true }, () => {
    for (const transport of TRANSPORTS) {
      test(`over ${transport.name}: clients are notified, reconnect, and have the new server's state`, async () => {
        const first = await startDemo(CITY);
        const follower = transport.follow(first.base, ["feed/city-vehicles"], {});
        try {
          await waitForServerState(first.base, follower, "feed/city-vehicles");
          await first.stop();
          await until(() => follower.ends.length > 0, "the end of the connection");
          if (transport.isWebSocket) assert.equal(follower.ends[0], 3001);
          const before = follower.heard.length;
          const second = await startDemo(CITY, first.port);
          try {
            await until(() => follower.heard.length > before, "messages of the new server", 30_000);
            await waitForServerState(second.base, follower, "feed/city-vehicles");
            // With a new epoch the server cannot know the missed changes, so the state has a gap.
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

      test("a feed's history has the publications of its log in order", async () => {
        await connected(async (client) => {
          const subscription = client.newSubscription("feed/city");
          subscription.subscribe();
          await subscription.ready(10_000);
          // A page has at most 64 KiB, which may be one publication, so several pages are read.
          const offsets = [];
          let since;
          await until(async () => {
            const { epoch, publications } = await subscription.history({ limit: 10, since });
            offsets.push(...publications.map(({ offset }) => offset));
            if (offsets.length > 0) since = { epoch, offset: offsets.at(-1) };
            return offsets.length > 4;
          }, "a history");
          assert.deepEqual(offsets, Array.from(offsets, (_, at) => offsets[0] + at));
          const newest = await subscription.history({ limit: 1, reverse: true });
          assert.ok(newest.publications[0].offset >= offsets.at(-1));
        });
      });

      test("clients cannot publish to feed channels or read their presence", async () => {
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

      test("nothing is sent after unsubscribing", async () => {
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

      test("a channel above the connection's maximum is refused, and the others continue", async () => {
        const channels = Array.from({ length: CHANNELS_MAX + 1 }, (_, at) => `vehicle/city-vehicles/v${at}`);
        const follower = follow(demo.base, channels, {});
        try {
          await until(() => follower.refused.length > 0 && follower.opened.length === CHANNELS_MAX, "all but one");
          assert.deepEqual(follower.refused.map(({ code }) => code), [106]);
        } finally {
          follower.close();
        }
      });

      test("messages are compressed only if the client offers it", async () => {
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
