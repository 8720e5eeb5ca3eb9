// Compares the protobuf and the JSON of one GTFS-Realtime message: node realtime.cjs <message.pb> <message.json>
// Prints the number of entities; NODE_PATH names the folder with gtfs-realtime-bindings.

const assert = require("node:assert");
const { readFileSync } = require("node:fs");
const { FeedMessage } = require("gtfs-realtime-bindings").transit_realtime;

/** The same value with the names of fields that the bindings use: `trip_update` becomes `tripUpdate`. */
function renameFields(value) {
  if (Array.isArray(value)) return value.map(renameFields);
  if (value === null || typeof value !== "object") return value;
  const rename = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [rename(name), renameFields(inner)]));
}

const [binary, text] = process.argv.slice(2);
const decoded = FeedMessage.decode(readFileSync(binary));
const parsed = FeedMessage.fromObject(renameFields(JSON.parse(readFileSync(text, "utf8"))));
// Numbers with fraction have 32 bits in protobuf only.
const rounded = FeedMessage.decode(FeedMessage.encode(parsed).finish());
const plain = (message) => FeedMessage.toObject(message, { longs: String, enums: String }).entity ?? [];
assert.deepStrictEqual(plain(rounded), plain(decoded));
console.log(decoded.entity.length);
