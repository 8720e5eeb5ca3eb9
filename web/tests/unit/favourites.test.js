import assert from "node:assert/strict";
import { test } from "node:test";
import { FAVOURITES_MAX, parseFavourites, refOf, toggleFavourite } from "../../plain/favourites.js";

/** @param {number} at @returns {import("../../plain/favourites.js").Favourite} */
const stop = (at) => ({ href: `/stops/city/${at}`, name: `Stop ${at}`, kind: "stop" });

test("a favourite is added as the first and removed again", () => {
  const both = toggleFavourite(toggleFavourite([], stop(1)), stop(2));
  assert.deepEqual(both, [stop(2), stop(1)]);
  assert.deepEqual(toggleFavourite(both, { ...stop(2), name: "renamed" }), [stop(1)]);
});

test("the oldest favourite is dropped above the maximum", () => {
  let all = /** @type {import("../../plain/favourites.js").Favourite[]} */ ([]);
  for (let at = 0; at <= FAVOURITES_MAX; at += 1) all = toggleFavourite(all, stop(at));
  assert.equal(all.length, FAVOURITES_MAX);
  assert.deepEqual([all[0], all.at(-1)], [stop(FAVOURITES_MAX), stop(1)]);
});

test("invalid stored favourites are ignored", () => {
  const line = { href: "/routes/city/T%201", name: "Line 1", kind: "line" };
  assert.deepEqual(parseFavourites(JSON.stringify([line, stop(1)])), [line, stop(1)]);
  for (const text of [null, "", "{", "7", "{}", "null"]) assert.deepEqual(parseFavourites(text), [], String(text));
  const wrong = [null, 7, { ...line, href: "javascript:alert(1)" }, { ...line, href: "//elsewhere.example/stops/a/b" }, { ...line, href: "/ops" }, { ...line, kind: "feed" }, { ...line, name: "" }];
  assert.deepEqual(parseFavourites(JSON.stringify([...wrong, line])), [line]);
});

test("a favourite names its network and its id", () => {
  assert.deepEqual(refOf({ href: "/routes/city/T%2F1", name: "Line 1", kind: "line" }), { feed: "city", id: "T/1" });
});
