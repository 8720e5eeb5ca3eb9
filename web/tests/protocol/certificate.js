/** Makes a self-signed X.509 certificate for localhost, encoded as DER (RFC 5280, RFC 8410). */
import { generateKeyPairSync, sign } from "node:crypto";

/** @param {number} tag @param {...Uint8Array} parts */
function der(tag, ...parts) {
  const body = Buffer.concat(parts);
  const size = [body.length >> 8, body.length & 0xff].filter((byte, at) => byte > 0 || at === 1);
  const length = body.length < 0x80 ? [body.length] : [0x80 + size.length, ...size];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const bytes = (/** @type {number[]} */ ...values) => Buffer.from(values);
const sequence = (/** @type {Uint8Array[]} */ ...parts) => der(0x30, ...parts);
const oid = (/** @type {number[]} */ ...values) => der(0x06, bytes(...values));
const time = (/** @type {string} */ text) => der(0x17, Buffer.from(text));

const ED25519 = sequence(oid(0x2b, 0x65, 0x70));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const SUBJECT_ALT_NAME = oid(0x55, 0x1d, 0x11);
/** The tag of an iPAddress in a GeneralName. */
const IP_ADDRESS = 0x87;

/** @returns {{cert: string, key: string}} both as PEM */
export function selfSigned() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from("lineside tests")))));
  const names = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(der(IP_ADDRESS, bytes(127, 0, 0, 1)))));
  const signed = sequence(
    der(0xa0, der(0x02, bytes(2))), // version 3
    der(0x02, bytes(1)), // serial number
    ED25519,
    name,
    sequence(time("200101000000Z"), time("491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(names)),
  );
  const whole = sequence(signed, ED25519, der(0x03, bytes(0), sign(null, signed, privateKey)));
  const lines = whole.toString("base64").match(/.{1,64}/g)?.join("\n");
  const key = /** @type {string} */ (privateKey.export({ type: "pkcs8", format: "pem" }));
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, key };
}
