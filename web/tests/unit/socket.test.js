import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { Events } from "../../plain/events.js";
import { socketUrl } from "../../plain/socket.js";

/** @type {FakeSocket[]} */
let sockets = [];
/** @type {FakeSource[]} */
let sources = [];
/** @type {Events[]} */
let running = [];

/** A fake WebSocket that tests control. */
class FakeSocket {
  constructor(url) {
    this.url = url;
    this.readyState = 0;
    /** @type {any[]} */
    this.commands = [];
    sockets.push(this);
  }
  send(text) {
    this.commands.push(...text.split("\n").map((line) => JSON.parse(line)));
  }
  close() {
    this.readyState = 3;
  }
  open() {
    this.readyState = 1;
    this.onopen();
    this.say({ id: 1, connect: { client: "c", ping: 25, pong: true } });
  }
  end(code = 1006) {
    this.readyState = 3;
    this.onclose({ code });
  }
  say(...replies) {
    this.onmessage({ data: replies.map((reply) => JSON.stringify(reply)).join("\n") });
  }
  /** Returns the last command that subscribes to a channel. */
  subscribe(channel) {
    return this.commands.findLast((command) => command.subscribe?.channel === channel);
  }
  /** Answers the subscribe command and sends the state. */
  give(channel, epoch = "e1", offset = 4) {
    this.say({ id: this.subscribe(channel).id, subscribe: { epoch, recoverable: true, positioned: true } });
    this.push(channel, offset, { at: 1, state: { part: 1, parts: 1 }, changes: [] });
  }
  push(channel, offset, data = { at: 2, changes: [] }) {
    this.say({ push: { channel, pub: { data, offset } } });
  }
}

class FakeSource {
  constructor(url) {
    this.url = new URL(url, "http://lineside.test");
    this.readyState = 0;
    sources.push(this);
  }
  answer() {
    this.readyState = 1;
    this.onopen();
  }
  refuse() {
    this.readyState = 2;
    this.onerror();
  }
  close() {
    this.readyState = 2;
  }
}

function start(channels) {
  const seen = { applied: [], status: [] };
  const events = new Events({
    onChange: (applied) => seen.applied.push(applied),
    onStatus: (status, transport) => seen.status.push(`${status} ${transport}`),
    source: /** @type {any} */ (FakeSource),
    socket: /** @type {any} */ (FakeSocket),
  });
  running.push(events);
  events.follow(channels);
  return { events, seen };
}

const offsetOf = (events, channel) => events.store.channels.get(channel)?.offset;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  globalThis.location = /** @type {any} */ ({ protocol: "http:", host: "lineside.test" });
});
afterEach(() => {
  for (const events of running) events.close();
  sockets = [];
  sources = [];
  running = [];
  mock.timers.reset();
  delete globalThis.location;
});

test("the socket uses the page's host, and TLS if the page does", () => {
  assert.equal(socketUrl({ protocol: "https:", host: "a.test:8443" }), "wss://a.test:8443/connection/websocket");
  assert.equal(socketUrl({ protocol: "http:", host: "a.test" }), "ws://a.test/connection/websocket");
});

test("it connects and subscribes in one message, and applies messages", () => {
  const { events, seen } = start(["feed/city", "area/u1"]);
  sockets[0].open();
  assert.deepEqual(sockets[0].commands.map((command) => Object.keys(command)[1]), ["connect", "subscribe", "subscribe"]);
  sockets[0].give("feed/city");
  sockets[0].push("feed/city", 5);
  assert.equal(offsetOf(events, "feed/city"), 5);
  assert.deepEqual(seen.status, ["connecting websocket", "live websocket"]);
  assert.equal(sources.length, 0);
});

test("a ping is answered", () => {
  start(["feed/city"]);
  sockets[0].open();
  sockets[0].say({});
  assert.deepEqual(sockets[0].commands.at(-1), {});
});

test("a lost connection is retried with backoff and resumes", () => {
  const { events, seen } = start(["feed/city"]);
  sockets[0].open();
  sockets[0].give("feed/city");
  sockets[0].end();
  assert.equal(seen.status.at(-1), "waiting websocket");
  mock.timers.tick(1_000);
  sockets[1].end();
  mock.timers.tick(900);
  assert.equal(sockets.length, 2);
  mock.timers.tick(1_200);
  sockets[2].open();
  const { id, subscribe } = sockets[2].subscribe("feed/city");
  assert.deepEqual(subscribe, { channel: "feed/city", recover: true, epoch: "e1", offset: 4 });
  sockets[2].say({ id, subscribe: { epoch: "e1", recovered: true, was_recovering: true, publications: [{ data: { at: 2, changes: [] }, offset: 5 }] } });
  assert.equal(offsetOf(events, "feed/city"), 5);
  assert.equal(sources.length, 0, "a single failure does not end the use of sockets after one has worked");
});

test("an incomplete state is discarded on reconnect", () => {
  const { events } = start(["feed/city"]);
  sockets[0].open();
  sockets[0].give("feed/city");
  sockets[0].push("feed/city", undefined, { at: 2, state: { part: 1, parts: 2 }, changes: [] });
  sockets[0].end();
  mock.timers.tick(1_000);
  sockets[1].open();
  sockets[1].say({ id: sockets[1].subscribe("feed/city").id, subscribe: { epoch: "e1", recovered: true } });
  sockets[1].push("feed/city", 5);
  assert.equal(offsetOf(events, "feed/city"), 5);
});

test("new channels are subscribed over the same connection", () => {
  const { events } = start(["area/u1", "area/u2"]);
  sockets[0].open();
  sockets[0].give("area/u1");
  sockets[0].give("area/u2");
  const before = sockets[0].commands.length;
  events.follow(["area/u2", "area/u3"]);
  const [gone, fresh] = sockets[0].commands.slice(before);
  assert.deepEqual([gone.unsubscribe, fresh.subscribe], [{ channel: "area/u1" }, { channel: "area/u3" }]);
  sockets[0].push("area/u1", 5);
  assert.equal(events.store.channels.has("area/u1"), false);
  assert.equal(sockets.length, 1);
});

test("server-sent events are used if no socket can be opened", () => {
  const { seen } = start(["feed/city"]);
  sockets[0].end();
  mock.timers.tick(1);
  assert.equal(sources[0].url.pathname, "/events");
  sources[0].answer();
  assert.equal(seen.status.at(-1), "live events");
  mock.timers.tick(60_000);
  assert.equal(sockets.length, 1);
});

test("a proxy that accepts and never answers counts as blocking", () => {
  start(["feed/city"]);
  sockets[0].readyState = 1;
  sockets[0].onopen();
  mock.timers.tick(10_000);
  mock.timers.tick(1);
  assert.equal(sockets[0].readyState, 3);
  assert.equal(sources.length, 1);
});

test("if both transports fail, both are retried with backoff", () => {
  start(["feed/city"]);
  for (let round = 0; round < 3; round += 1) {
    sockets.at(-1).end();
    mock.timers.tick(30_000);
    sources.at(-1).refuse();
    mock.timers.tick(30_000);
  }
  assert.deepEqual([sockets.length, sources.length], [4, 3]);
});

test("channels with a sequence of their own resume over server-sent events after a socket", () => {
  const { events } = start(["area/u1", "feed/city"]);
  sockets[0].open();
  sockets[0].give("area/u1", "e9", 7);
  sockets[0].give("feed/city", "e1", 4);
  events.socketWorked = false;
  sockets[0].end();
  mock.timers.tick(1_000);
  sockets[1].end();
  mock.timers.tick(3_000);
  assert.equal(sources[0].url.searchParams.get("last_event_id"), "area/u1@e9:7");
});

test("a permanently refused channel is dropped, a temporarily refused one is requested again", () => {
  start(["feed/none", "feed/busy"]);
  sockets[0].open();
  sockets[0].say({ id: sockets[0].subscribe("feed/none").id, error: { code: 102, message: "unknown channel" } });
  sockets[0].say({ id: sockets[0].subscribe("feed/busy").id, error: { code: 111, message: "too many requests", temporary: true } });
  const before = sockets[0].commands.length;
  mock.timers.tick(60_000);
  assert.deepEqual(sockets[0].commands.slice(before).map(({ subscribe }) => subscribe?.channel), ["feed/busy"]);
});

test("only a lost channel is requested again without a position", () => {
  const { seen } = start(["feed/city", "area/u1"]);
  sockets[0].open();
  sockets[0].give("feed/city");
  sockets[0].give("area/u1");
  sockets[0].push("feed/city", undefined, { at: 2, state: { part: 2, parts: 2 }, changes: [] });
  assert.ok(seen.applied.at(-1).lost);
  sockets[0].push("feed/city", 6);
  const before = sockets[0].commands.length;
  mock.timers.tick(2_000);
  assert.deepEqual(sockets[0].commands.slice(before).map(({ subscribe }) => subscribe), [{ channel: "feed/city" }]);
});

test("a subscription that ends with insufficient state restarts without a position", () => {
  start(["app/x"]);
  sockets[0].open();
  sockets[0].give("app/x");
  sockets[0].say({ push: { channel: "app/x", unsubscribe: { code: 2500, reason: "insufficient state" } } });
  mock.timers.tick(2_000);
  assert.deepEqual(sockets[0].subscribe("app/x").subscribe, { channel: "app/x" });
});

test("a silent connection is reopened", () => {
  start(["feed/city"]);
  sockets[0].open();
  mock.timers.tick(30_000);
  assert.equal(sockets.length, 1);
  mock.timers.tick(10_000);
  assert.equal(sockets[0].readyState, 3);
  assert.equal(sockets.length, 2);
});

test("a final close code stops reconnecting", () => {
  const { events, seen } = start(["feed/city"]);
  sockets[0].open();
  sockets[0].end(3503);
  assert.equal(seen.status.at(-1), "ended websocket");
  mock.timers.tick(120_000);
  events.follow(["feed/other"]);
  assert.deepEqual([sockets.length, sources.length], [1, 0]);
});

test("a client without a token is refused once and does not retry", () => {
  const { events, seen } = start(["feed/city"]);
  sockets[0].readyState = 1;
  sockets[0].onopen();
  sockets[0].say({ id: 1, error: { code: 101, message: "unauthorized" } });
  assert.deepEqual(seen.status, ["connecting websocket", "refused websocket"]);
  mock.timers.tick(120_000);
  events.follow(["feed/other"]);
  assert.deepEqual([sockets.length, sources.length], [1, 0]);
});

test("a temporarily full server is retried", () => {
  start(["feed/city"]);
  sockets[0].readyState = 1;
  sockets[0].onopen();
  sockets[0].say({ id: 1, error: { code: 111, message: "too many requests", temporary: true } });
  mock.timers.tick(60_000);
  assert.equal(sources.length, 1);
});
