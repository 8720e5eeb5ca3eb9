/** Compares a follower's state of a channel with the server's. */
import assert from "node:assert/strict";
import { keyOf } from "../../plain/state.js";
import { until } from "../server.js";

/** Sorts the members of a record, so that equal records have equal JSON. @param {any} value @returns {any} */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

/** @param {string} base @param {string} channel */
export async function fetchServerState(base, channel) {
  const reply = await fetch(`${base}/api/v1/state?${new URLSearchParams({ channel })}`);
  assert.equal(reply.status, 200, channel);
  const { changes } = await reply.json();
  return changes.map((change) => [keyOf(change), JSON.stringify(sorted(change.record))].join(" ")).sort();
}

/** @param {import("./clients.js").Follower} follower @param {string} channel */
function followerState(follower, channel) {
  const channelState = follower.store.channels.get(channel);
  if (!channelState?.hasState || channelState.incoming) return null;
  return [...channelState.records].map(([key, { record }]) => [key, JSON.stringify(sorted(record))].join(" ")).sort();
}

/**
 * Waits until both states are equal. The server's state keeps changing, so it is polled until no change is in flight.
 * @param {string} base @param {import("./clients.js").Follower} follower @param {string} channel
 */
export async function waitForServerState(base, follower, channel) {
  const isSame = async () => {
    const there = await fetchServerState(base, channel);
    const here = followerState(follower, channel);
    return here !== null && here.length === there.length && here.every((line, at) => line === there[at]);
  };
  await until(isSame, `${channel} to be the same at both ends`, 60_000);
}

/** Returns the messages with a part of a state, starting at index `from`. @param {import("./clients.js").Follower} follower @param {number} [from] */
export const states = (follower, from = 0) => follower.heard.slice(from).filter(({ data }) => data.state);

/** Returns the messages with changes, starting at index `from`. @param {import("./clients.js").Follower} follower @param {number} [from] */
export const changes = (follower, from = 0) => follower.heard.slice(from).filter(({ data }) => !data.state);
