/** What a follower holds, against what the server says that a channel holds. */
import assert from "node:assert/strict";
import { keyOf } from "../../plain/state.js";
import { until } from "../server.js";

/** A record as text, whatever the order of its members. @param {any} value @returns {any} */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

/** @param {string} base @param {string} channel */
export async function serverHolds(base, channel) {
  const reply = await fetch(`${base}/api/v1/state?${new URLSearchParams({ channel })}`);
  assert.equal(reply.status, 200, channel);
  const { changes } = await reply.json();
  return changes.map((change) => [keyOf(change), JSON.stringify(sorted(change.record))].join(" ")).sort();
}

/** @param {import("./clients.js").Follower} follower @param {string} channel */
function followerHolds(follower, channel) {
  const holding = follower.store.holdings.get(channel);
  if (!holding?.whole || holding.incoming) return null;
  return [...holding.records].map(([key, { record }]) => [key, JSON.stringify(sorted(record))].join(" ")).sort();
}

/**
 * Waits until both hold the same: the server's state moves on, so it is asked until no change was under way.
 * @param {string} base @param {import("./clients.js").Follower} follower @param {string} channel
 */
export async function holdsWhatTheServerHolds(base, follower, channel) {
  const isSame = async () => {
    const there = await serverHolds(base, channel);
    const here = followerHolds(follower, channel);
    return here !== null && here.length === there.length && here.every((line, at) => line === there[at]);
  };
  await until(isSame, `${channel} to be the same at both ends`, 60_000);
}

/** Messages with a part of a state, from the one at `from` on. @param {import("./clients.js").Follower} follower @param {number} [from] */
export const states = (follower, from = 0) => follower.heard.slice(from).filter(({ data }) => data.state);

/** Messages with changes only. @param {import("./clients.js").Follower} follower @param {number} [from] */
export const changes = (follower, from = 0) => follower.heard.slice(from).filter(({ data }) => !data.state);
