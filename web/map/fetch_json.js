/** Fetches stops and trips from the server. */

/** @param {string} path @param {Record<string, string>} query @returns {Promise<any>} null if the server refuses or does not know it */
export async function fetchJson(path, query) {
  const reply = await fetch(`${path}?${new URLSearchParams(query)}`);
  return reply.ok ? reply.json() : null;
}
