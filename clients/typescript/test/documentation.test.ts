import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Daemon, PACKAGE } from "./daemon.js";

const README = readFileSync(join(PACKAGE, "README.md"), "utf8");

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.open();
});
after(() => daemon.end());

/** Runs Node.js in the package, and returns its output and errors. */
function node(...words: string[]): { output: string; errors: string; status: number | null } {
  const env = { ...daemon.environment(), WEFT_ADDR: daemon.address };
  const done = spawnSync(process.execPath, words, { cwd: PACKAGE, env, encoding: "utf8", timeout: 60_000 });
  return { output: done.stdout, errors: done.stderr, status: done.status };
}

test("programs in the README run as they are printed", () => {
  const marked = [...README.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const first = [...README.matchAll(/^cat > first\.mjs <<'END'\n(.*?)^END$/gms)].map(([, block = ""]) => block);
  assert.equal(first.length, 1);
  assert.ok(marked.length >= 2);
  // A page has no command line; browser.test.ts runs what it does.
  for (const block of [...first, ...marked].filter((each) => !each.includes("document."))) {
    const { output, errors, status } = node("--input-type=module", "--eval", block);
    assert.equal(status, 0, `${block}\n${errors}`);
    assert.equal(errors, "");
    assert.notEqual(output, "");
    for (const [, promised = ""] of block.matchAll(/\/\/ ([A-Z_]{4,} .*)$/gm)) {
      assert.ok(output.includes(promised), `${promised}\n${output}`);
    }
  }
});

test("examples run and end", () => {
  const cases = [
    ["ask.js", ["leap second"], "Leap second"],
    ["watch.js", ["leap second", "--answers=1"], "Leap second"],
    ["rag.js", ["leap second"], "--- user"],
  ] as const;
  for (const [name, words, expected] of cases) {
    const { output, errors, status } = node(join("build/examples", name), ...words);
    assert.equal(status, 0, errors);
    assert.ok(output.includes(expected), output);
  }
});

test("an example reports its error in one line", () => {
  const { errors, status } = node("build/examples/ask.js");
  assert.equal(status, 1);
  assert.equal(errors, 'give a question: npm run ask -- "why do cells age"\n');
});
