import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { CHANNELS_MAX, Events } from "../../plain/events.js";
import { eventsUrl, reusablePositions } from "../../plain/stream.js";

/** @type {FakeSource[]} */
let opened = [];
/** @type {Events[]} */
let running = [];

/** A fake EventSource that tests control. */
class FakeSource {
  constructor(url) {
    this.url = new URL(url, "http://lineside.test");
    this.readyState = 0;
    opened.push(this);
  }
  get channels() {
    return this.url.searchParams.getAll("channel");
  }
  get lastId() {
    return this.url.searchParams.get("last_event_id");
  }
  answer() {
    this.readyState = 1;
    this.onopen();
  }
  refuse() {
    this.readyState = 2;
    this.onerror();
  }
  drop() {
    this.readyState = 0;
    this.onerror();
  }
  send(message, lastEventId = "") {
    if (this.readyState !== 2) this.onmessage({ data: JSON.stringify(message), lastEventId });
  }
  close() {
    this.readyState = 2;
  }
}

function start() {
  const seen = { applied: [], status: [] };
  const events = new Events({ onChange: (applied) => seen.applied.push(applied), onStatus: (status) => seen.status.push(status), source: FakeSource, socket: null });
  running.push(events);
  return { events, seen };
}

const state = (channel, epoch = "e1", offset = 1) => ({ channel, epoch, offset, data: { at: 1, state: { part: 1, parts: 1 }, changes: [] } });

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] }));
afterEach(() => {
  for (const events of running) events.close();
  opened = [];
  running = [];
  mock.timers.reset();
});

test("one request names all channels, encoded", () => {
  assert.equal(eventsUrl(["stop/city/a%2Fb", "feed/x"]), "/events?channel=stop%2Fcity%2Fa%252Fb&channel=feed%2Fx");
});

test("a request never names more channels than allowed", () => {
  const { events } = start();
  events.follow(Array.from({ length: 100 }, (_, at) => `area/${at}`));
  assert.equal(opened[0].channels.length, CHANNELS_MAX);
});

test("only positions of channels with a sequence of their own are reused for another set", () => {
  const lastId = "area/u1@e1:5,area/u2@e2:6,city@e3:7";
  assert.equal(reusablePositions(lastId, ["area/u2", "area/u3", "route/city/1"]), "area/u2@e2:6");
});

test("a new set resumes shared channels, and the old stream is read until the new one is open", () => {
  const { events, seen } = start();
  events.follow(["area/u1", "area/u2"]);
  const [first] = opened;
  first.answer();
  first.send(state("area/u1", "e1", 4), "area/u1@e1:4");
  first.send(state("area/u2", "e2", 9), "area/u1@e1:4,area/u2@e2:9");
  events.follow(["area/u2", "area/u3"]);
  const second = opened[1];
  assert.equal(second.lastId, "area/u2@e2:9");
  first.send({ channel: "area/u2", epoch: "e2", offset: 10, data: { at: 2, changes: [] } });
  assert.equal(events.store.channels.get("area/u2").offset, 10);
  second.answer();
  assert.equal(first.readyState, 2);
  assert.deepEqual(seen.status, ["connecting", "live", "live"]);
  assert.equal(events.store.channels.has("area/u1"), false);
});

test("following the same set again changes nothing", () => {
  const { events } = start();
  events.follow(["area/u1", "area/u2"]);
  events.follow(["area/u2", "area/u1"]);
  assert.equal(opened.length, 1);
});

test("a refused stream is retried with backoff and the last position", () => {
  const { events, seen } = start();
  events.follow(["feed/city"]);
  opened[0].answer();
  opened[0].send(state("feed/city", "e1", 4), "city@e1:4");
  opened[0].refuse();
  assert.equal(seen.status.at(-1), "waiting");
  mock.timers.tick(1_000);
  assert.equal(opened.length, 2);
  assert.equal(opened[1].lastId, "city@e1:4");
  opened[1].refuse();
  mock.timers.tick(900);
  assert.equal(opened.length, 2);
  mock.timers.tick(1_200);
  assert.equal(opened.length, 3);
});

test("a broken connection is left to the browser, which resumes it", () => {
  const { events, seen } = start();
  events.follow(["feed/city"]);
  opened[0].answer();
  opened[0].drop();
  mock.timers.tick(60_000);
  assert.equal(opened.length, 1);
  assert.equal(seen.status.at(-1), "waiting");
  opened[0].answer();
  assert.equal(seen.status.at(-1), "live");
});

test("a lost channel is requested again without a position", () => {
  const { events, seen } = start();
  events.follow(["feed/city"]);
  opened[0].answer();
  opened[0].send(state("feed/city", "e1", 4), "city@e1:4");
  opened[0].send({ channel: "feed/city", epoch: "e2", offset: 5, data: { at: 2, changes: [] } }, "city@e2:5");
  assert.ok(seen.applied.at(-1).lost);
  assert.equal(opened[0].readyState, 2);
  mock.timers.tick(1_000);
  assert.equal(opened[1].lastId, null);
});

test("a silent connection is reopened", () => {
  const { events } = start();
  events.follow(["feed/city"]);
  opened[0].answer();
  opened[0].send(state("feed/city", "e1", 4), "city@e1:4");
  mock.timers.tick(181_000);
  mock.timers.tick(30_000);
  assert.equal(opened.length, 2);
  assert.equal(opened[1].lastId, "city@e1:4");
});

test("without channels there is no connection", () => {
  const { events, seen } = start();
  events.follow([]);
  assert.deepEqual(seen.status, ["idle"], "no connection is pending");
  events.follow(["feed/city"]);
  opened[0].answer();
  events.follow([]);
  assert.equal(opened[0].readyState, 2);
  assert.equal(opened.length, 1);
  assert.deepEqual(seen.status, ["idle", "connecting", "live", "idle"]);
});

test("a client without a token is refused and does not retry", async (context) => {
  const asked = [];
  context.mock.method(globalThis, "fetch", async (address, { method }) => {
    asked.push(`${method} ${address}`);
    return { status: 401 };
  });
  const { events, seen } = start();
  events.follow(["feed/city"]);
  opened[0].refuse();
  await new Promise(setImmediate);
  assert.deepEqual(asked, ["HEAD /events?channel=feed%2Fcity"]);
  assert.equal(seen.status.at(-1), "refused");
  mock.timers.tick(120_000);
  assert.equal(opened.length, 1);
});

test("a client refused by a full server retries", async (context) => {
  context.mock.method(globalThis, "fetch", async () => ({ status: 503 }));
  const { events, seen } = start();
  events.follow(["feed/city"]);
  opened[0].refuse();
  await new Promise(setImmediate);
  assert.equal(seen.status.at(-1), "waiting");
  mock.timers.tick(2_000);
  assert.equal(opened.length, 2);
});
