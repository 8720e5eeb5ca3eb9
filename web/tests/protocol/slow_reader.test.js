/** A slow reader whose position falls out of the log receives the state again. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { startDemo, startServer, until } from "../server.js";
import { CLIENTS, TRANSPORTS, connect } from "./clients.js";
import { changes, waitForServerState, states } from "./state_match.js";
import { openProxy } from "./proxy.js";

const KEY = "the key of a back end";
/** Configured maximum size of a channel's log, in bytes. */
const LOG_BYTES = 1 << 20;
const [CITY, FLOOD] = ["feed/city-vehicles", "app/flood"];
const config = (/** @type {string} */ demo) => `
[limits]
channel_log_bytes = ${LOG_BYTES}
[api]
key = "${KEY}"
[[feed]]
id = "city-vehicles"
url = "${demo}/gtfs-rt/city-vehicles.pb"
poll = "1s"
`;
/** Size of the publications that fill a socket, in bytes, and a number of them that exceeds any socket buffer. */
const [FILLING_BYTES, FILLINGS_MAX] = [140_000, 600];

/** Maximum number of checks until one of them is delivered. */
const CHECKS_MAX = 4_000;

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
before(async () => (demo = await startDemo(["--vehicles", "600"])));
after(() => demo?.stop());

/** Reads a metric of a server. @param {string} base @param {string} name */
async function metric(base, name) {
  const text = await (await fetch(`${base}/metrics`)).text();
  const line = text.split("\n").find((line) => line.startsWith(`${name} `));
  assert.ok(line, `no ${name}`);
  return Number(line.slice(name.length));
}

/** @param {string} base @param {string} body */
async function publish(base, body) {
  const reply = await fetch(`${base}/api/publish`, { method: "POST", headers: { "x-api-key": KEY }, body });
  assert.equal((await reply.json()).error, undefined);
}

/** Publishes until the socket of the only subscriber is full. @param {string} base @param {string} channel @param {boolean} more true continues until the log overflows */
async function fill(base, channel, more) {
  const before = await metric(base, "lineside_wire_blocked_total");
  const isBlocked = async () => (await metric(base, "lineside_wire_blocked_total")) > before;
  // Random bytes, which do not compress.
  const body = JSON.stringify({ channel, data: randomBytes(FILLING_BYTES).toString("base64") });
  for (let sent = 0; !(await isBlocked()); sent += 1) {
    assert.ok(sent < FILLINGS_MAX, "the socket never fills");
    const delivered = await metric(base, "lineside_wire_deliveries_total");
    await publish(base, body);
    // Each publication is delivered before the next, so that the socket fills before the log overflows.
    const isOnItsWay = async () => (await isBlocked()) || (await metric(base, "lineside_wire_deliveries_total")) > delivered;
    for (let checks = 0; !(await isOnItsWay()); checks += 1) {
      assert.ok(checks < CHECKS_MAX, "a publication is not delivered");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  for (let beyond = 0; more && beyond < 2 * LOG_BYTES; beyond += FILLING_BYTES) await publish(base, body);
}

/** Waits until the log of the city's vehicles begins after its current end. @param {string} base */
async function overtaken(base) {
  const client = connect(CLIENTS[0].Client, base);
  client.connect();
  try {
    const subscription = client.newSubscription(CITY);
    subscription.subscribe();
    await subscription.ready(10_000);
    const { offset } = await subscription.history({ limit: 0 });
    const first = async () => (await subscription.history({ limit: 1 })).publications[0]?.offset;
    await until(async () => (await first()) > offset + 1, "the log to move on");
  } finally {
    client.disconnect();
  }
}

describe("a reader that falls behind the log", { concurrency: true }, () => {
  for (const { name, follow, isWebSocket } of TRANSPORTS) {
    // Each test has its own server, because the metric of blocked sockets counts all connections.
    test(`over ${name}: it receives the state with a gap over the same connection`, async () => {
      const folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
      const server = await startServer(folder, config(demo.base), "/proxy/city-vehicles");
      const proxy = await openProxy(server.base);
      const follower = follow(proxy.base, [CITY, FLOOD], {});
      try {
        await until(() => changes(follower).length > 0, "a state and changes");
        if (isWebSocket) await until(() => follower.opened.length === 2, "both subscriptions");
        const before = follower.heard.length;
        proxy.hold();
        // An event stream would end with the channel without a state.
        await fill(server.base, FLOOD, isWebSocket);
        await overtaken(server.base);
        proxy.release();
        const again = () => states(follower, before).filter(({ channel }) => channel === CITY);
        await until(() => again().length > 0, "a state that replaces the missed changes");
        const [{ data }] = again();
        assert.deepEqual([data.state.part, data.gap], [1, true]);
        const from = follower.heard.length;
        await until(() => changes(follower, from).some(({ channel }) => channel === CITY), "changes after it");
        await waitForServerState(server.base, follower, CITY);
        assert.deepEqual([follower.ends, again().filter(({ data }) => data.state.part === 1).length], [[], 1]);
        // A channel without a state is unsubscribed, and a WebSocket client subscribes to it again.
        if (isWebSocket) await until(() => follower.opened.some(({ channel }, at) => channel === FLOOD && at > 1), "the flood again");
      } finally {
        follower.close();
        proxy.close();
        await server.stop();
        await rm(folder, { recursive: true });
      }
    });
  }
});
