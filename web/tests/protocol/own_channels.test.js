/** An operator's own channels: the server API, tokens, namespaces, presence and history. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import http2 from "node:http2";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import WebSocket from "ws";
import { Events } from "../../plain/events.js";
import { startServer, until } from "../server.js";
import { CLIENTS, TRANSPORTS, connect, read, written } from "./clients.js";
import { openProxy } from "./proxy.js";
import { inSeconds, sign } from "./token.js";

const KEY = "the key of a back end";
const SECRET = "the secret of a back end";
const CONFIG = `
[api]
key = "${KEY}"
[token]
hmac = "${SECRET}"
anonymous = true
[[namespace]]
prefix = "app/"
history_size = 5
history_ttl = "1m"
presence = true
join_leave = true
publish = "users"
[[namespace]]
prefix = "app/plain/"
[[namespace]]
prefix = "app/private/"
subscribe = "nobody"
`;
const PUBLICATIONS_KEPT = 5;
/** The server's ping interval, and a little more than the time that a client has to answer. */
const [PING_MS, PONG_MS] = [25_000, 11_500];
/** Maximum number of publications in a channel's log. */
const LOG_PUBLICATIONS_MAX = 1_024;

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {string} */
let folder;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  server = await startServer(folder, CONFIG);
});
after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true });
});

/** Calls the server API. @param {string} method @param {any} body */
async function api(method, body) {
  const reply = await fetch(`${server.base}/api/${method}`, { method: "POST", headers: { "x-api-key": KEY }, body: JSON.stringify(body) });
  assert.equal(reply.status, 200, method);
  const { result, error } = await reply.json();
  assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
  return result;
}

const tokenOf = (/** @type {string} */ user, /** @type {any} */ more = {}) => sign(SECRET, { sub: user, exp: inSeconds(60), ...more });

let named = 0;
/** Returns a channel that no other test uses. @param {string} [prefix] */
const fresh = (prefix = "app/room/") => `${prefix}${(named += 1)}`;

describe("an operator's channels", { concurrency: true }, () => {
  for (const { name, follow } of TRANSPORTS) {
    describe(`over ${name}`, { concurrency: true }, () => {
      test("publications of a back end reach subscribers in order", async () => {
        const channel = fresh();
        const follower = follow(server.base, [channel], {});
        try {
          // Server-sent events do not confirm a subscription; the first message does.
          await until(async () => {
            await api("publish", { channel, data: { warm: true } });
            return follower.heard.length > 0;
          }, "a first publication");
          const before = follower.heard.length;
          for (let number = 1; number <= 20; number += 1) await api("publish", { channel, data: { number, text: "Grüße, 駅 & <b>" } });
          await until(() => follower.heard.some(({ data }) => data.number === 20), "the last");
          const numbers = follower.heard.slice(before).map(({ data }) => data.number).filter(Boolean);
          assert.deepEqual(numbers, Array.from({ length: 20 }, (_, at) => at + 1));
          assert.equal(follower.heard.at(-1).data.text, "Grüße, 駅 & <b>");
          const offsets = follower.heard.map(({ offset }) => offset);
          assert.deepEqual(offsets, Array.from(offsets, (_, at) => offsets[0] + at));
        } finally {
          follower.close();
        }
      });

      test("publications during a lost connection are not missed", async () => {
        const channel = fresh();
        const proxy = await openProxy(server.base);
        const follower = follow(proxy.base, [channel], { network: channel });
        try {
          await until(async () => {
            await api("publish", { channel, data: { warm: true } });
            return follower.heard.length > 0;
          }, "a first publication");
          proxy.down();
          for (let number = 1; number <= PUBLICATIONS_KEPT - 1; number += 1) await api("publish", { channel, data: { number } });
          proxy.mend();
          await until(() => follower.heard.some(({ data }) => data.number === PUBLICATIONS_KEPT - 1), "what was missed");
          assert.deepEqual(follower.heard.map(({ data }) => data.number).filter(Boolean), [1, 2, 3, 4]);
          assert.equal(follower.opened.at(-1)?.resumed, true);
        } finally {
          follower.close();
          proxy.close();
        }
      });
    });
  }

  for (const { name, Client, follow } of CLIENTS) {
    describe(`the stock client over ${name}`, { concurrency: true }, () => {
      /** @param {any} options @param {(client: any) => Promise<void>} look */
      async function connected(options, look) {
        const client = connect(Client, server.base, options);
        client.connect();
        try {
          await client.ready(10_000);
          await look(client);
        } finally {
          client.disconnect();
        }
      }

      /** @param {any} client @param {string} channel @param {any} [options] */
      async function subscribed(client, channel, options) {
        const subscription = client.newSubscription(channel, options);
        subscription.subscribe();
        await subscription.ready(10_000);
        return subscription;
      }

      /** Records joins and leaves as text. @param {any} subscription */
      function recordJoins(subscription) {
        /** @type {string[]} */
        const events = [];
        subscription.on("join", ({ info }) => events.push(`join ${info.user}`));
        subscription.on("leave", ({ info }) => events.push(`leave ${info.user}`));
        return events;
      }

      test("a subscription is not recovered if more was missed than the log has", async () => {
        const channel = fresh();
        const proxy = await openProxy(server.base);
        const follower = follow(proxy.base, [channel], {});
        try {
          await until(() => follower.opened.length > 0, "a subscription");
          await api("publish", { channel, data: 0 });
          await until(() => follower.heard.length > 0, "a publication");
          proxy.down();
          // A channel's log is larger than its history: this many publications evict the first from both.
          const publish = (/** @type {any} */ _, /** @type {number} */ number) => api("publish", { channel, data: { number } });
          for (let round = 0; round < LOG_PUBLICATIONS_MAX / 64 + 1; round += 1) await Promise.all(Array.from({ length: 64 }, publish));
          proxy.mend();
          await until(() => follower.opened.length > 1, "a subscription again");
          assert.equal(follower.opened[1].resumed, false);
          await api("publish", { channel, data: { number: "next" } });
          await until(() => follower.heard.at(-1).data.number === "next", "the next publication");
        } finally {
          follower.close();
          proxy.close();
        }
      });

      test("only users can publish where the namespace allows it, and publications name them", async () => {
        const channel = fresh();
        await connected({ token: tokenOf("anna", { info: { name: "Anna" } }) }, async (anna) => {
          await connected({}, async (nobody) => {
            const heard = [];
            const reader = await subscribed(nobody, channel);
            reader.on("publication", ({ data, info, offset }) => heard.push({ data: read(data), user: info?.user, info: read(info?.connInfo), offset }));
            const writer = await subscribed(anna, channel);
            await writer.publish(written(Client, { text: "hello" }));
            await until(() => heard.length === 1, "a publication");
            assert.deepEqual(heard[0], { data: { text: "hello" }, user: "anna", info: { name: "Anna" }, offset: 1 });
            await assert.rejects(reader.publish(written(Client, {})), { code: 101 });
            await assert.rejects(anna.publish(fresh("app/plain/"), written(Client, {})), { code: 103 });
          });
        });
      });

      test("history can be read forwards, backwards and from a position", async () => {
        const channel = fresh();
        for (let number = 1; number <= PUBLICATIONS_KEPT + 2; number += 1) await api("publish", { channel, data: { number } });
        await connected({}, async (client) => {
          const subscription = await subscribed(client, channel);
          const numbers = async (/** @type {any} */ asked) => (await subscription.history(asked)).publications.map(({ data }) => read(data).number);
          const { epoch, offset } = await subscription.history({ limit: 0 });
          assert.equal(offset, 7);
          assert.deepEqual(await numbers({ limit: 100 }), [3, 4, 5, 6, 7]);
          assert.deepEqual(await numbers({ limit: 2, reverse: true }), [7, 6]);
          assert.deepEqual(await numbers({ limit: 2, since: { offset: 4, epoch } }), [5, 6]);
          await assert.rejects(subscription.history({ limit: 2, since: { offset: 4, epoch: "zzzzzzzz" } }), { code: 112 });
          const plain = await subscribed(client, fresh("app/plain/"));
          await assert.rejects(plain.history({ limit: 1 }), { code: 108 });
          await assert.rejects(plain.presence(), { code: 108 });
        });
      });

      test("presence lists clients, and joins and leaves are announced", async () => {
        const channel = fresh();
        await connected({ token: tokenOf("anna", { info: { name: "Anna" } }) }, async (anna) => {
          const subscription = anna.newSubscription(channel, { joinLeave: true });
          const events = recordJoins(subscription);
          subscription.subscribe();
          await subscription.ready(10_000);
          await connected({ token: tokenOf("bert") }, async (bert) => {
            const other = await subscribed(bert, channel);
            await until(() => events.includes("join bert"), "Bert's join");
            const { clients } = await subscription.presence();
            assert.deepEqual(Object.values(clients).map(({ user }) => user).sort(), ["anna", "bert"]);
            const own = Object.values(clients).find(({ user }) => user === "anna");
            assert.deepEqual(read(own.connInfo), { name: "Anna" });
            assert.deepEqual(await subscription.presenceStats(), { numClients: 2, numUsers: 2 });
            assert.deepEqual(await api("presence_stats", { channel }), { num_clients: 2, num_users: 2 });
            const { presence } = await api("presence", { channel });
            assert.deepEqual(Object.keys(presence).sort(), Object.keys(clients).sort());
            for (const [id, { client, user, conn_info }] of Object.entries(presence)) {
              assert.deepEqual([client, user], [id, clients[id].user]);
              assert.deepEqual(conn_info, user === "anna" ? { name: "Anna" } : undefined);
            }
            other.unsubscribe();
            await until(() => events.includes("leave bert"), "Bert's leave");
            assert.deepEqual(await subscription.presenceStats(), { numClients: 1, numUsers: 1 });
            const { presence: left } = await api("presence", { channel });
            assert.deepEqual(Object.values(left).map(({ user }) => user), ["anna"]);
          });
          assert.deepEqual(events.filter((line) => line.endsWith("bert")), ["join bert", "leave bert"]);
        });
      });

      test("a private channel requires a subscription token, or a connection token that names it", async () => {
        const channel = fresh("app/private/");
        await connected({ token: tokenOf("anna") }, async (anna) => {
          const refused = [];
          const plain = anna.newSubscription(channel);
          plain.on("unsubscribed", ({ code }) => refused.push(code));
          plain.subscribe();
          await until(() => refused.length > 0, "a refusal");
          assert.deepEqual(refused, [103]);
          anna.removeSubscription(plain);
          const others = anna.newSubscription(fresh("app/private/"), { token: tokenOf("anna", { channel }) });
          const errors = [];
          others.on("error", ({ error }) => errors.push(error.code));
          others.on("unsubscribed", ({ code }) => errors.push(code));
          others.subscribe();
          await until(() => errors.length > 0, "a refusal of a token for another channel");
          anna.removeSubscription(others);
          const heard = [];
          const opened = await subscribed(anna, channel, { token: tokenOf("anna", { channel }) });
          opened.on("publication", ({ data }) => heard.push(read(data)));
          await api("publish", { channel, data: { for: "anna" } });
          await until(() => heard.length > 0, "a publication");
        });
        const client = connect(Client, server.base, { token: tokenOf("anna", { channels: [channel] }) });
        const heard = [];
        client.on("subscribed", (context) => heard.push(`subscribed ${context.channel}`));
        client.on("publication", (context) => heard.push(read(context.data).for));
        client.connect();
        try {
          await until(() => heard.length > 0, "the server's subscription");
          await api("publish", { channel, data: { for: "everyone" } });
          await until(() => heard.includes("everyone"), "a publication");
          assert.equal(heard[0], `subscribed ${channel}`);
        } finally {
          client.disconnect();
        }
      });

      test("an invalid token is refused, and an expiring one is refreshed", async () => {
        const ends = [];
        const stranger = connect(Client, server.base, { token: sign("another secret", { sub: "eve" }) });
        stranger.on("disconnected", ({ code }) => ends.push(code));
        stranger.on("error", ({ error }) => ends.push(error.code));
        stranger.connect();
        await until(() => ends.length > 0, "a refusal");
        stranger.disconnect();
        assert.ok(ends.includes(101), `${ends}`);

        let made = 0;
        const getToken = async () => {
          made += 1;
          return tokenOf("anna", { exp: inSeconds(3) });
        };
        await connected({ getToken }, async (client) => {
          const gone = [];
          client.on("connecting", ({ code }) => gone.push(code));
          client.on("disconnected", ({ code }) => gone.push(code));
          const heard = [];
          const channel = fresh();
          const subscription = await subscribed(client, channel);
          subscription.on("publication", ({ data }) => heard.push(read(data)));
          await until(() => made >= 3, "a refresh or two", 20_000);
          await api("publish", { channel, data: "still here" });
          await until(() => heard.includes("still here"), "a publication after the first token's end");
          assert.deepEqual(gone, [], "the connection stayed open");
        });
      });

      test("an expired token is refreshed before connecting", async () => {
        let made = 0;
        const getToken = async () => {
          made += 1;
          return tokenOf("anna");
        };
        await connected({ token: tokenOf("anna", { exp: inSeconds(-60) }), getToken }, async () => assert.equal(made, 1));
      });

      test("an idle connection is pinged and stays open", async () => {
        /** @type {Buffer[]} */
        const said = [];
        class Listening extends WebSocket {
          constructor(address, protocols) {
            super(address, protocols);
            this.on("message", (data) => said.push(Buffer.from(data)));
          }
        }
        await connected({ websocket: Listening }, async (client) => {
          const channel = fresh("app/plain/");
          const ends = [];
          for (const event of ["connecting", "disconnected"]) client.on(event, ({ code }) => ends.push(code));
          const heard = [];
          (await subscribed(client, channel)).on("publication", ({ data }) => heard.push(read(data)));
          const before = said.length;
          await until(() => said.length > before, "a ping", PING_MS + 10_000);
          assert.ok(said[before].length <= 2, `only a ping was sent: ${said[before]}`);
          // A client that does not answer is disconnected within this time.
          await new Promise((resolve) => setTimeout(resolve, PONG_MS));
          await api("publish", { channel, data: "still here" });
          await until(() => heard.includes("still here"), "a publication");
          assert.deepEqual(ends, []);
        });
      });

      test("a connection that the back end closes stays closed", async () => {
        const user = `user-${fresh()}`;
        const client = connect(Client, server.base, { token: tokenOf(user) });
        const ends = [];
        client.on("disconnected", ({ code }) => ends.push(code));
        client.connect();
        try {
          await client.ready(10_000);
          await api("disconnect", { user });
          await until(() => ends.length > 0, "the end");
          assert.deepEqual(ends, [3503]);
          assert.equal(client.state, "disconnected");
        } finally {
          client.disconnect();
        }
      });
    });
  }
});

for (const [version, read] of /** @type {const} */ ([["HTTP/1.1", overHttp1], ["HTTP/2", overHttp2]])) {
  describe(`an event stream over ${version} ends with a reason`, { concurrency: true }, () => {
    test("when the token of its reader expires", async () => {
      const heard = await read(`/events?channel=${fresh()}&token=${tokenOf("anna", { exp: inSeconds(3) })}`);
      assert.match(heard, /\n: expired: .+\n$/);
    });

    test("when the back end closes its user's connections", async () => {
      const user = `user-${fresh()}`;
      const close = () => api("disconnect", { user, disconnect: { code: 3503, reason: "out of hours" } });
      const heard = await read(`/events?channel=${fresh()}&token=${tokenOf(user)}`, close);
      assert.match(heard, /\n: disconnected: out of hours\n$/);
    });
  });
}

/** Reads a whole response. @param {string} address @param {() => Promise<any>} [begun] called when the response has begun */
async function overHttp1(address, begun = async () => {}) {
  const reply = await fetch(`${server.base}${address}`);
  assert.equal(reply.status, 200);
  await begun();
  return reply.text();
}

/** Reads a whole response over HTTP/2. @param {string} address @param {() => Promise<any>} [begun] */
async function overHttp2(address, begun = async () => {}) {
  const session = http2.connect(server.base);
  try {
    const stream = session.request({ ":path": address }).setEncoding("utf8");
    const [headers] = await once(stream, "response");
    assert.equal(headers[":status"], 200);
    await begun();
    let heard = "";
    for await (const piece of stream) heard += piece;
    return heard;
  } finally {
    session.close();
  }
}

test("a page without a token is refused by a server that requires one, and does not retry", async () => {
  const place = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const strict = await startServer(place, `[token]\nhmac = "${SECRET}"\n`);
  /** @type {string[]} */
  const [tries, statuses] = [[], []];
  class Socket extends WebSocket {
    constructor(address) {
      super(address);
      tries.push("websocket");
    }
  }
  class Source {
    constructor() {
      tries.push("events");
    }
    close() {}
  }
  globalThis.location = /** @type {any} */ (new URL(strict.base));
  const onStatus = (/** @type {string} */ status) => statuses.push(status);
  const events = new Events({ onChange: () => {}, onStatus, socket: /** @type {any} */ (Socket), source: /** @type {any} */ (Source) });
  try {
    events.follow(["app/x"]);
    await until(() => statuses.includes("refused"), "a refusal");
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    assert.deepEqual([tries, statuses], [["websocket"], ["connecting", "refused"]]);
  } finally {
    events.close();
    delete globalThis.location;
    await strict.stop();
    await rm(place, { recursive: true });
  }
});
