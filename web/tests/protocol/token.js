/** JSON web tokens with HS256, as an operator's back end signs them. */
import { createHmac } from "node:crypto";

const part = (/** @type {any} */ value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** @param {string} secret @param {Record<string, any>} claims */
export function sign(secret, claims) {
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** Returns the `exp` of a token that expires in this many seconds. @param {number} seconds */
export const inSeconds = (seconds) => Math.floor(Date.now() / 1000) + seconds;
