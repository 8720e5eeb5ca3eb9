/**
 * Makes tile archives and tiles for tests, from the public specifications: PMTiles version 3, Mapbox
 * Vector Tiles 2.1, PNG. Like real archives they have gzip and a leaf directory.
 */
import { crc32, deflateSync, gzipSync } from "node:zlib";

/** Tile types of the archive's header. */
export const VECTOR = 1;
export const PNG = 2;
const GZIP = 2;
const UNCOMPRESSED = 1;

const HEADER_BYTES = 127;
const EXTENT = 4096;

// ---- protocol buffers ---------------------------------------------------------------------------

/** @param {number} value @returns {number[]} */
const varint = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]);
/** @param {number} number @param {number} value */
const numberField = (number, value) => Buffer.from([...varint(number * 8), ...varint(value)]);
/** @param {number} number @param {Uint8Array|number[]|string} bytes */
const bytesField = (number, bytes) => Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(Buffer.from(bytes).length)]), Buffer.from(bytes)]);

// ---- vector tiles -------------------------------------------------------------------------------

const KINDS = { Point: 1, LineString: 2, Polygon: 3 };
/** @param {number} value */
const zigzag = (value) => (value < 0 ? -value * 2 - 1 : value * 2);

/** Encodes a path: a move to the first point, lines to the others, closed for a polygon. @param {keyof KINDS} kind @param {[number, number][]} path */
function commands(kind, path) {
  let [x, y] = [0, 0];
  const steps = path.map(([toX, toY]) => {
    const step = [zigzag(toX - x), zigzag(toY - y)];
    [x, y] = [toX, toY];
    return step;
  });
  const [first, ...others] = steps;
  const lines = others.length > 0 ? [2 + others.length * 8, ...others.flat()] : [];
  return [1 + 8, ...first, ...lines, ...(kind === "Polygon" ? [7 + 8] : [])];
}

/**
 * Makes a vector tile. Coordinates range from 0 to 4096, y downwards.
 * @param {Record<string, {kind: keyof KINDS, path: [number, number][], properties?: Record<string, string|number>}[]>} layers
 */
export function vectorTile(layers) {
  return Buffer.concat(Object.entries(layers).map(([name, features]) => {
    const keys = [...new Set(features.flatMap(({ properties }) => Object.keys(properties ?? {})))];
    const values = [...new Set(features.flatMap(({ properties }) => Object.values(properties ?? {})))];
    const encoded = features.map(({ kind, path, properties }) => {
      const tags = Object.entries(properties ?? {}).flatMap(([key, value]) => [keys.indexOf(key), values.indexOf(value)]);
      return bytesField(2, Buffer.concat([bytesField(2, tags.flatMap(varint)), numberField(3, KINDS[kind]), bytesField(4, commands(kind, path).flatMap(varint))]));
    });
    const value = (/** @type {string|number} */ each) => bytesField(4, typeof each === "string" ? bytesField(1, each) : numberField(5, each));
    return bytesField(3, Buffer.concat([numberField(15, 2), bytesField(1, name), ...encoded, ...keys.map((key) => bytesField(3, key)), ...values.map(value), numberField(5, EXTENT)]));
  }));
}

// ---- raster tiles -------------------------------------------------------------------------------

/** Makes a tile of one color. @param {[number, number, number]} color @returns {Buffer} */
export function pngTile(color, size = 256) {
  const chunk = (/** @type {string} */ kind, /** @type {Buffer} */ data) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2], 8); // eight bits each of red, green and blue
  const row = Buffer.from([0, ...Array.from({ length: size }, () => color).flat()]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.concat(Array.from({ length: size }, () => row)))), chunk("IEND", Buffer.alloc(0))]);
}

// ---- the archive --------------------------------------------------------------------------------

/** Returns the id of a tile: its position on the consecutive Hilbert curves of all zooms. @param {number} z @param {number} x @param {number} y */
export function tileId(z, x, y) {
  let id = (4 ** z - 1) / 3;
  for (let half = 2 ** (z - 1); half >= 1; half /= 2) {
    const [right, down] = [x & half ? 1 : 0, y & half ? 1 : 0];
    id += half * half * ((3 * right) ^ down);
    if (down === 0) {
      if (right === 1) [x, y] = [half - 1 - (x & (half - 1)), half - 1 - (y & (half - 1))];
      [x, y] = [y, x];
    }
  }
  return id;
}

/** @param {{id: number, run: number, length: number, offset: number}[]} entries in the order of their ids */
function directory(entries) {
  const ids = entries.map(({ id }, at) => id - (entries[at - 1]?.id ?? 0));
  const columns = [ids, entries.map(({ run }) => run), entries.map(({ length }) => length), entries.map(({ offset }) => offset + 1)];
  return gzipSync(Buffer.from([entries.length, ...columns.flat()].flatMap(varint)));
}

/** @param {number} z @param {number} x @param {number} y the north-west corner of a tile, in degrees */
export const cornerOf = (z, x, y) => ({ longitude: (x / 2 ** z) * 360 - 180, latitude: (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / 2 ** z))) * 180) / Math.PI });

/**
 * Makes an archive of one zoom.
 * @param {{type: number, zoom: number, tiles: {x: number, y: number, data: Buffer}[], metadata: object}} holds
 */
export function archive({ type, zoom, tiles, metadata }) {
  const bodies = tiles.map(({ x, y, data }) => ({ id: tileId(zoom, x, y), data: type === VECTOR ? gzipSync(data) : data })).sort((a, b) => a.id - b.id);
  let end = 0;
  const entries = bodies.map(({ id, data }) => ({ id, run: 1, length: data.length, offset: (end += data.length) - data.length }));
  const leaf = directory(entries);
  const root = directory([{ id: entries[0].id, run: 0, length: leaf.length, offset: 0 }]);
  const about = gzipSync(JSON.stringify(metadata));
  const parts = [root, about, leaf, Buffer.concat(bodies.map(({ data }) => data))];
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("PMTiles", "latin1");
  header[7] = 3;
  let offset = HEADER_BYTES;
  for (const [at, part] of parts.entries()) {
    header.writeBigUInt64LE(BigInt(offset), 8 + at * 16);
    header.writeBigUInt64LE(BigInt(part.length), 16 + at * 16);
    offset += part.length;
  }
  for (const at of [72, 80, 88]) header.writeBigUInt64LE(BigInt(tiles.length), at);
  header.set([1, GZIP, type === VECTOR ? GZIP : UNCOMPRESSED, type, zoom, zoom], 96);
  const [xs, ys] = [tiles.map(({ x }) => x), tiles.map(({ y }) => y)];
  const northWest = cornerOf(zoom, Math.min(...xs), Math.min(...ys));
  const southEast = cornerOf(zoom, Math.max(...xs) + 1, Math.max(...ys) + 1);
  for (const [at, degrees] of [northWest.longitude, southEast.latitude, southEast.longitude, northWest.latitude].entries()) {
    header.writeInt32LE(Math.round(degrees * 1e7), 102 + at * 4);
  }
  return Buffer.concat([header, ...parts]);
}
