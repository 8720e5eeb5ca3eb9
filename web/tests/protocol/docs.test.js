/** The programs in the documentation work as described. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startDemo, until } from "../server.js";

/** Pages and the expected output of their programs. @type {[string, RegExp][]} */
const PAGES = [
  ["docs/guide/from-javascript.md", /^[1-9]\d+ records\n([1-9]\d+ records\n)+/],
  ["docs/protocol/websocket.md", /changes: \[/],
];

/** @type {Awaited<ReturnType<typeof startDemo>>} */
let demo;
before(async () => (demo = await startDemo()));
after(() => demo?.stop());

for (const [page, expected] of PAGES) {
  test(`${page}: the program works as printed`, async () => {
    const text = await readFile(new URL(`../../../${page}`, import.meta.url), "utf8");
    const programs = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program).filter((program) => program.includes('from "centrifuge"'));
    assert.equal(programs.length, 1);
    // Node has a built-in WebSocket only since version 22.
    const program = `import Ws from "ws"; globalThis.WebSocket ??= Ws;\n${programs[0].replace("127.0.0.1:8080", new URL(demo.base).host)}`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: fileURLToPath(new URL("../..", import.meta.url)) });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += bytes));
    try {
      await until(() => expected.test(output), `the expected output of the program in ${page}`).catch((error) => assert.fail(`${error.message}; its output was ${output.slice(0, 1_000)}`));
    } finally {
      child.kill();
    }
  });
}
