/** The programs that the papers print do what the papers say. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startDemo, until } from "../server.js";

/** Which papers, and what a program says that works. @type {[string, RegExp][]} */
const PAPERS = [
  ["docs/guide/from-javascript.md", /^[1-9]\d+ records\n([1-9]\d+ records\n)+/],
  ["docs/protocol/websocket.md", /changes: \[/],
];

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
before(async () => (demo = await startDemo()));
after(() => demo?.stop());

for (const [paper, good] of PAPERS) {
  test(`${paper}: the program works as printed`, async () => {
    const text = await readFile(new URL(`../../../${paper}`, import.meta.url), "utf8");
    const programs = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program).filter((program) => program.includes('from "centrifuge"'));
    assert.equal(programs.length, 1);
    // Node has a WebSocket of its own only from version 22 on.
    const program = `import Ws from "ws"; globalThis.WebSocket ??= Ws;\n${programs[0].replace("127.0.0.1:8080", new URL(demo.base).host)}`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: fileURLToPath(new URL("../..", import.meta.url)) });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (said += bytes));
    try {
      await until(() => good.test(said), `${paper}'s program to say what it should`).catch((error) => assert.fail(`${error.message}; it said ${said.slice(0, 1_000)}`));
    } finally {
      child.kill();
    }
  });
}
