/** A reader that its channels overtake: what it is told then, and what it holds. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { startDemo, startServer, until } from "../server.js";
import { CLIENTS, TRANSPORTS, connect } from "./clients.js";
import { changes, holdsWhatTheServerHolds, states } from "./held.js";
import { openLine } from "./line.js";

const KEY = "the key of a back end";
/** What a channel's log may hold in any case. */
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
/** What fills sockets: publications of a size near the largest, and more of them than any system's buffers take. */
const [FILLING_BYTES, FILLINGS_MAX] = [140_000, 600];

/** How often one of them is looked after. */
const LOOKS_MAX = 4_000;

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
before(async () => (demo = await startDemo(["--vehicles", "600"])));
after(() => demo?.stop());

/** A metric of a server. @param {string} base @param {string} name */
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

/** Publishes until the connection that alone listens there takes no more. @param {string} base @param {string} channel @param {boolean} more on until the log has run over */
async function fill(base, channel, more) {
  const before = await metric(base, "lineside_wire_blocked_total");
  const isBlocked = async () => (await metric(base, "lineside_wire_blocked_total")) > before;
  // At random, so that it is as long compressed.
  const body = JSON.stringify({ channel, data: randomBytes(FILLING_BYTES).toString("base64") });
  for (let sent = 0; !(await isBlocked()); sent += 1) {
    assert.ok(sent < FILLINGS_MAX, "sockets take without end");
    const delivered = await metric(base, "lineside_wire_deliveries_total");
    await publish(base, body);
    // Each on its way before the next, so that the log does not run over before sockets do.
    const isOnItsWay = async () => (await isBlocked()) || (await metric(base, "lineside_wire_deliveries_total")) > delivered;
    for (let looks = 0; !(await isOnItsWay()); looks += 1) {
      assert.ok(looks < LOOKS_MAX, "a publication does not set out");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  for (let beyond = 0; more && beyond < 2 * LOG_BYTES; beyond += FILLING_BYTES) await publish(base, body);
}

/** Waits until the log of the city's vehicles begins later than it now ends. @param {string} base */
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

describe("a reader that is overtaken", { concurrency: true }, () => {
  for (const { name, follow, isWebSocket } of TRANSPORTS) {
    // A server each: whose socket is full is only known of a server as a whole.
    test(`over ${name}: it is given the state, marked, and goes on over the same connection`, async () => {
      const folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
      const server = await startServer(folder, config(demo.base), "/proxy/city-vehicles");
      const line = await openLine(server.base);
      const follower = follow(line.base, [CITY, FLOOD], {});
      try {
        await until(() => changes(follower).length > 0, "a state and changes");
        if (isWebSocket) await until(() => follower.opened.length === 2, "both subscriptions");
        const before = follower.heard.length;
        line.hold();
        // A stream of events would end with its channel that has no state.
        await fill(server.base, FLOOD, isWebSocket);
        await overtaken(server.base);
        line.release();
        const again = () => states(follower, before).filter(({ channel }) => channel === CITY);
        await until(() => again().length > 0, "a state in place of what was missed");
        const [{ data }] = again();
        assert.deepEqual([data.state.part, data.gap], [1, true]);
        const from = follower.heard.length;
        await until(() => changes(follower, from).some(({ channel }) => channel === CITY), "changes after it");
        await holdsWhatTheServerHolds(server.base, follower, CITY);
        assert.deepEqual([follower.ends, again().filter(({ data }) => data.state.part === 1).length], [[], 1]);
        // A channel without a state ends instead, and over a WebSocket the client asks for it again.
        if (isWebSocket) await until(() => follower.opened.some(({ channel }, at) => channel === FLOOD && at > 1), "the flood again");
      } finally {
        follower.close();
        line.close();
        await server.stop();
        await rm(folder, { recursive: true });
      }
    });
  }
});
