import assert from "node:assert/strict";
import { test } from "node:test";
import { ChannelState, Store } from "../../plain/state.js";

const CHANNEL = "feed/city";

/** Parses a change of one vehicle: "a=1" upserts, "-a" removes. */
function change(text, why) {
  if (text.startsWith("-")) return { op: "remove", feed: "v", kind: "vehicle", id: text.slice(1), why: why ?? "gone" };
  const [id, value] = text.split("=");
  return { op: "upsert", feed: "v", kind: "vehicle", id, record: { value: Number(value) } };
}

function message(texts, { channel = CHANNEL, epoch = "e1", offset, at = 1, ...data } = {}) {
  return { channel, epoch, ...(offset === undefined ? {} : { offset }), data: { at, ...data, changes: texts.map((text) => change(text)) } };
}

const whole = (texts, more = {}) => message(texts, { state: { part: 1, parts: 1 }, offset: 1, ...more });

/** Formats the records of a channel as "a=1 b=2". */
function held(channelState) {
  return [...channelState.records.values()].map(({ id, record }) => `${id}=${record.value}`).sort().join(" ");
}

function channelStateAfter(...messages) {
  const channelState = new ChannelState(CHANNEL);
  for (const each of messages) channelState.apply(each);
  return channelState;
}

test("a state in parts becomes visible with its last part", () => {
  const channelState = channelStateAfter(whole(["old=1"]));
  const first = channelState.apply(message(["a=1"], { state: { part: 1, parts: 3 } }));
  assert.equal(first.shown, false);
  assert.equal(held(channelState), "old=1");
  channelState.apply(message(["b=2"], { state: { part: 2, parts: 3 } }));
  const last = channelState.apply(message(["c=3"], { state: { part: 3, parts: 3 }, offset: 9 }));
  assert.equal(held(channelState), "a=1 b=2 c=3");
  assert.equal(channelState.offset, 9);
  assert.ok(last.shown && last.replaced && !last.gap);
  assert.deepEqual(last.removes.map(({ id }) => id), ["old"]);
  assert.deepEqual(last.upserts.map(({ id }) => id), ["a", "b", "c"]);
});

test("changes upsert and remove", () => {
  const channelState = channelStateAfter(whole(["a=1", "b=1"]));
  const applied = channelState.apply(message(["a=2", "-b", "c=1"], { offset: 2 }));
  assert.equal(held(channelState), "a=2 c=1");
  assert.deepEqual(applied.upserts.map(({ id }) => id), ["a", "c"]);
  assert.deepEqual(applied.removes.map(({ id, why }) => [id, why]), [["b", "gone"]]);
});

test("removing an unknown record does nothing", () => {
  const channelState = channelStateAfter(whole(["a=1"]));
  assert.deepEqual(channelState.apply(message(["-x"], { offset: 2 })).removes, []);
  assert.equal(held(channelState), "a=1");
});

test("an empty state empties the channel", () => {
  const channelState = channelStateAfter(whole(["a=1"]));
  const applied = channelState.apply(whole([], { offset: 2 }));
  assert.equal(held(channelState), "");
  assert.deepEqual(applied.removes.map(({ id }) => id), ["a"]);
});

test("a gap replaces the records and is reported", () => {
  const channelState = channelStateAfter(whole(["a=1", "b=1"]));
  const applied = channelState.apply(whole(["b=7"], { gap: true, offset: 40 }));
  assert.ok(applied.gap && applied.replaced);
  assert.equal(held(channelState), "b=7");
  assert.equal(channelState.offset, 40);
});

test("changes repeated after a resume are ignored", () => {
  const channelState = channelStateAfter(whole(["a=1"]), message(["a=2"], { offset: 2 }), message(["a=3", "b=1"], { offset: 3 }));
  const repeated = channelState.apply(message(["a=2"], { offset: 2 }));
  assert.equal(repeated.shown, false);
  assert.equal(held(channelState), "a=3 b=1");
  channelState.apply(message(["-b"], { offset: 4 }));
  assert.equal(held(channelState), "a=3");
});

test("changes of another epoch cannot be applied", () => {
  const channelState = channelStateAfter(whole(["a=1"]));
  const applied = channelState.apply(message(["a=2"], { epoch: "e2", offset: 2 }));
  assert.ok(applied.lost);
  assert.equal(held(channelState), "a=1", "the records stay visible until the new state arrives");
  channelState.apply(whole(["a=9"], { epoch: "e2", offset: 1, gap: true }));
  assert.equal(held(channelState), "a=9");
  assert.equal(channelState.epoch, "e2");
});

test("changes without a state cannot be applied", () => {
  assert.ok(new ChannelState(CHANNEL).apply(message(["a=1"], { offset: 5 })).lost);
});

test("a state with a part missing is not shown", () => {
  const channelState = channelStateAfter(whole(["a=1"]), message(["x=1"], { state: { part: 1, parts: 3 } }));
  assert.ok(channelState.apply(message(["z=1"], { state: { part: 3, parts: 3 }, offset: 5 })).lost);
  assert.equal(held(channelState), "a=1");
});

test("part 1 discards an incomplete state", () => {
  const channelState = channelStateAfter(
    message(["x=1"], { state: { part: 1, parts: 2 } }),
    message(["a=1"], { state: { part: 1, parts: 2 }, gap: true }),
    message(["b=1"], { state: { part: 2, parts: 2 }, offset: 8 }),
  );
  assert.equal(held(channelState), "a=1 b=1");
});

test("if two cells have a vehicle, the newest position wins", () => {
  const store = new Store();
  store.apply(whole(["a=1"], { channel: "area/u1", at: 10 }));
  store.apply(whole([], { channel: "area/u2", at: 10 }));
  store.apply(message(["a=2"], { channel: "area/u2", offset: 2, at: 20 }));
  assert.deepEqual(store.list("vehicle").map(({ record }) => record.value), [2]);
  store.apply(message(["-a"], { channel: "area/u1", offset: 2, at: 20 }));
  assert.equal(store.find({ feed: "v", kind: "vehicle", id: "a" })?.record.value, 2);
});

test("unwanted channels are removed", () => {
  const store = new Store();
  store.apply(whole(["a=1"], { channel: "area/u1" }));
  store.apply(whole(["b=1"], { channel: "area/u2" }));
  assert.deepEqual(store.retainChannels(["area/u2"]).map(({ id }) => id), ["a"]);
  assert.deepEqual(store.list("vehicle").map(({ id }) => id), ["b"]);
});

test("any interleaving of changes, repetitions and states ends with the channel's records", () => {
  let seed = 7;
  const random = (/** @type {number} */ below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 200; round += 1) {
    const truth = new Map();
    const log = [];
    const channelState = new ChannelState(CHANNEL);
    const stateAt = (/** @type {number} */ offset) => whole([...truth].map(([id, value]) => `${id}=${value}`), { offset, gap: offset > 0 });
    channelState.apply(stateAt(0));
    for (let offset = 1; offset <= 30; offset += 1) {
      const id = "abcd"[random(4)];
      if (random(3) === 0) truth.delete(id);
      else truth.set(id, offset);
      log.push(message([truth.has(id) ? `${id}=${offset}` : `-${id}`], { offset }));
      switch (random(4)) {
        case 0: // a broken connection: resume from an earlier position
          for (const each of log.slice(random(log.length))) if (each.offset <= channelState.offset + 1) channelState.apply(each);
          break;
        case 1: // an evicted position: state with gap
          channelState.apply(stateAt(offset));
          break;
        default:
          for (const each of log.slice(channelState.offset)) channelState.apply(each);
      }
    }
    for (const each of log.slice(channelState.offset)) channelState.apply(each);
    assert.equal(held(channelState), [...truth].map(([id, value]) => `${id}=${value}`).sort().join(" "), `round ${round}`);
  }
});
