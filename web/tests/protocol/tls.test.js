/** The scenarios of a city's channels over TLS: a server with a certificate, which polls a demo's feeds. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe } from "node:test";
import { startDemo, startServer, until } from "../server.js";
import { selfSigned } from "./certificate.js";
import { cityScenarios } from "./scenarios.js";

// The certificate is self-signed. Only this file's clients run in this process.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";

const config = (/** @type {string} */ demo) => `
[server.tls]
cert = "cert.pem"
key = "key.pem"
[[feed]]
id = "city"
url = "${demo}/gtfs/city.zip"
${["city-vehicles", "city-trips", "city-alerts"].map((id) => `[[feed]]\nid = "${id}"\nurl = "${demo}/gtfs-rt/${id}.pb"\nstatic = "city"\npoll = "1s"`).join("\n")}
`;

/** @type {{stop: () => Promise<void>}[]} */
const running = [];
/** @type {string} */
let folder;
const place = { base: "", vehicles: /** @type {any[]} */ ([]) };

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "lineside-"));
  const { cert, key } = selfSigned();
  await writeFile(path.join(folder, "cert.pem"), cert);
  await writeFile(path.join(folder, "key.pem"), key);
  const demo = await startDemo(["--vehicles", "60"]);
  running.push(demo);
  const server = await startServer(folder, config(demo.base));
  running.push(server);
  place.base = server.base;
  place.vehicles = await until(async () => {
    const reply = await fetch(`${server.base}/geojson/city/vehicles.geojson`);
    const features = reply.ok ? (await reply.json()).features : [];
    return features.some(({ properties }) => properties.route_id && properties.route_short_name) && features;
  }, "vehicles with lines");
});
after(async () => {
  for (const { stop } of running.reverse()) await stop();
  await rm(folder, { recursive: true });
});

describe("a city's channels over TLS", { concurrency: true }, () => cityScenarios(place));
