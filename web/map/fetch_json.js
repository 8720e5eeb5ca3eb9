/** Reading what the server knows of a stop or a trip. */

/** @param {string} path @param {Record<string, string>} query @returns {Promise<any>} null where the server does not know it */
export async function fetchJson(path, query) {
  const reply = await fetch(`${path}?${new URLSearchParams(query)}`);
  return reply.ok ? reply.json() : null;
}
