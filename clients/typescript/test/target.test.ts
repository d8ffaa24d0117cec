import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect } from "@noteweft/client";
import { find, reachable } from "#target";
import { Daemon, PACKAGE, PROGRAM } from "./daemon.js";

const folder = mkdtempSync(join(tmpdir(), "noteweft-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a file, and returns its path. */
function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test("address comes from environment and settings", () => {
  const socket = file("weft.sock", "");
  const cases: [Record<string, string>, string, string][] = [
    [{}, "", "127.0.0.1:9338"],
    [{ WEFT_ADDR: "notes.example:1" }, "server.address = '127.0.0.1:7'", "notes.example:1"],
    [{}, "[server]\naddress = '0.0.0.0:7'", "127.0.0.1:7"],
    [{ WEFT__SERVER__ADDRESS: "127.0.0.1:8" }, "server.address = '127.0.0.1:7'", "127.0.0.1:8"],
    [{ WEFT__SERVER__ADDRESS: "'127.0.0.1:8'" }, "", "127.0.0.1:8"],
    [{}, "tls.certificate = 'c.pem'", "https://127.0.0.1:9338"],
    // No socket exists there, so the port is used.
    [{}, "[[access.tokens]]\nname = 'a'", "127.0.0.1:9338"],
    [{}, `server.socket = '${socket}'\ntls.client_ca = 'ca.pem'`, `unix:${socket}`],
    [{}, `server.socket = '${socket}'\naccess.tokens = [{ name = 'a' }]`, `unix:${socket}`],
    [{}, `server.socket = '${socket}'\naccess.tokens = []`, "127.0.0.1:9338"],
    [{}, `server.socket = 'none'\naccess.tokens = [{ name = 'a' }]`, "127.0.0.1:9338"],
    [{ WEFT_TOKEN: "secret" }, `server.socket = '${socket}'\ntls.client_ca = 'ca.pem'`, "127.0.0.1:9338"],
  ];
  for (const [variables, settings, expected] of cases) {
    const config = file("config.toml", settings);
    assert.equal(find({ config }, { HOME: folder, ...variables }).address, expected, settings);
  }
});

test("socket is in the runtime folder, else in the state folder", () => {
  const config = file("config.toml", "server.address = '127.0.0.1:7'\ntls.client_ca = 'ca.pem'");
  const folders = { XDG_RUNTIME_DIR: "run", HOME: "home/.local/state" };
  for (const [variable, below] of Object.entries(folders)) {
    mkdirSync(join(folder, below, "weft"), { recursive: true });
    const socket = file(join(below, "weft", "7.sock"), "");
    const found = find({ config }, { [variable]: join(folder, below.split("/")[0] ?? "") });
    assert.equal(found.address, `unix:${socket}`);
  }
});

test("wildcard address is reached at loopback", () => {
  assert.equal(reachable("0.0.0.0:9338"), "127.0.0.1:9338");
  assert.equal(reachable("[::]:9338"), "[::1]:9338");
  assert.equal(reachable("192.0.2.1:9338"), "192.0.2.1:9338");
  assert.equal(reachable("localhost:9338"), "localhost:9338");
});

test("token is the last line of its file", () => {
  const tokenFile = file("token", "old-token\n# newer\n new-token \n\n");
  assert.equal(find({ address: "a:1", tokenFile }, { WEFT_TOKEN: "other" }).token, "new-token");
  assert.equal(find({ address: "a:1" }, { WEFT_TOKEN_FILE: tokenFile }).token, "new-token");
  assert.equal(find({ address: "a:1" }, { WEFT_TOKEN: "other", WEFT_TOKEN_FILE: tokenFile }).token, "other");
  file("token", "# nothing\n");
  assert.throws(() => find({ address: "a:1", tokenFile }, {}), /token contains no token/);
});

test("wrong files and addresses are reported", () => {
  const wrong = file("wrong", "nothing = [");
  assert.throws(() => find({ tlsCa: wrong }, {}), /no PEM certificate/);
  assert.throws(() => find({ tlsCert: wrong }, {}), /both tlsCert and tlsKey/);
  assert.throws(() => find({ config: wrong }, {}), /wrong: /);
  assert.throws(() => find({ config: join(folder, "missing") }, {}), /ENOENT/);
  for (const address of ["ftp://a", "not an address"]) {
    assert.throws(() => connect({ address }), new RegExp(`"${address}" is not an address`));
  }
});

test("client and program find the same daemon", async () => {
  const daemon = await Daemon.protected();
  try {
    const settings = `server = { address = "${daemon.address}", socket = "${daemon.socket}" }
      tls = { certificate = "${daemon.certificate}", key = "${daemon.key}" }`;
    mkdirSync(join(folder, "weft"));
    file("weft/config.toml", settings);
    const env = { ...daemon.environment(), XDG_CONFIG_HOME: folder };
    const printed = execFileSync(PROGRAM, ["status"], { env, encoding: "utf8" });
    const program = `
      import { connect } from "@noteweft/client";
      const notes = connect();
      console.log(notes.address, String((await notes.status({})).noteCount));
      notes.close();`;
    const arguments_ = ["--input-type=module", "--eval", program];
    const found = execFileSync(process.execPath, arguments_, { env, encoding: "utf8", cwd: PACKAGE });
    const [address, count] = found.trim().split(" ");
    assert.equal(address, `unix:${daemon.socket}`);
    assert.ok(printed.includes(`${count} notes`), printed);
  } finally {
    await daemon.end();
  }
});
