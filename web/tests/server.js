/**
 * Starts servers to test against, each in its own process.
 *
 * `LINESIDE_BIN` is the path of the binary; the default is the dev build.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const BINARY = process.env.LINESIDE_BIN ?? fileURLToPath(new URL("../../target/debug/lineside", import.meta.url));

/** Timeout for starting a server, in milliseconds. */
const START_MS_MAX = 60_000;

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Waits until `look` returns a true value. @template T @param {() => Promise<T>|T} look @param {string} what @param {number} [most] milliseconds */
export async function until(look, what, most = 30_000) {
  const end = Date.now() + most;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`timed out waiting for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Starts `lineside demo`, and waits until its vehicles have lines. @param {string[]} more arguments @param {number} [at] a port */
export async function startDemo(more = [], at) {
  const port = at ?? (await freePort());
  // Positions may arrive before the timetable that assigns them to lines.
  const isReady = async (reply) => (await reply.json()).features.some(({ properties }) => properties.route_short_name);
  return start(port, ["demo", "--port", String(port), "--seed", "1", ...more], "/geojson/city/vehicles.geojson", isReady);
}

/**
 * Starts `lineside serve` with a configuration, and waits until the address `ready` answers.
 * @param {string} folder for the configuration and the data @param {string} config the configuration without its `[server]` table
 * @param {string} [ready] @param {number} [at] a port
 */
export async function startServer(folder, config, ready = "/map", at) {
  const port = at ?? (await freePort());
  const file = path.join(folder, "lineside.toml");
  await writeFile(file, `[server]\nlisten = "127.0.0.1:${port}"\ndata_dir = "data"\ndrain = "0s"\n${config}`);
  return start(port, ["serve", "--config", file], ready, () => true, config.includes("[server.tls]") ? "https" : "http");
}

/** @param {number} port @param {string[]} args @param {string} address @param {(reply: Response) => Promise<boolean>|boolean} isGood @param {string} [scheme] */
async function start(port, args, address, isGood, scheme = "http") {
  if (!existsSync(BINARY)) throw new Error(`there is no server at ${BINARY}: build it, or name it in LINESIDE_BIN`);
  const child = spawn(BINARY, args, { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (text) => (stderr = (stderr + text).slice(-4_000)));
  const base = `${scheme}://127.0.0.1:${port}`;
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${stderr}`);
    const reply = await fetch(`${base}${address}`).catch(() => null);
    return reply?.ok && isGood(reply);
  };
  await until(isReady, `${args[0]} to answer ${address}`, START_MS_MAX);
  // Polls are staggered, and a feed's first message exceeds a channel's log.
  await until(async () => (await fetch(`${base}/readyz`)).ok, "each feed to have been polled");
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { base, port, stop };
}
