// Starts daemons and browsers for tests.

import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { chromium } from "playwright-core";

const repository = resolve(import.meta.dirname, "../../../..");

/** The program under test: `WEFT`, or the debug build. */
const PROGRAM = process.env.WEFT ?? join(process.env.CARGO_TARGET_DIR ?? join(repository, "target"), "debug/weft");
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const EXAMPLE = join(repository, "examples/timekeeping");

const vaults = [];
process.once("exit", () => vaults.forEach((root) => rmSync(root, { recursive: true, force: true })));

/** Creates a folder of notes from texts by path; it is removed when this process exits. */
export function vault(files) {
  const root = mkdtempSync(join(tmpdir(), "weft-vault-"));
  vaults.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Creates a vault of `n` notes in fifty folders: a tree with ten children per note, in which each note also links to another note and to an unresolved target. */
export const manyNotes = (n) =>
  vault(
    Object.fromEntries(
      Array.from({ length: n }, (_, nth) => [
        `f${nth % 50}/Note ${nth}.md`,
        `${nth === 0 ? "" : `---\nparent: "[[Note ${Math.floor(nth / 10)}]]"\n---\n`}# Note ${nth}\n\nWord${nth % 97} common [[Note ${(nth * 7) % n}]] and [[Nowhere ${nth % 10}]].\n`,
      ]),
    ),
  );

/** A running daemon for one or several vaults, without a model by default; its store is removed with it. `tokens` are the secrets of clients by permission. */
export class Daemon {
  #child;
  #store = mkdtempSync(join(tmpdir(), "weft-store-"));
  #vaults;
  #settings;
  address = "127.0.0.1:0";

  static async over(root, { model = "none", tokens = {}, settings = [] } = {}) {
    const daemon = new Daemon();
    daemon.#vaults = [root].flat();
    daemon.#settings = ["server.socket=none", `embedding.model=${model}`, ...settings];
    for (const [permission, secret] of Object.entries(tokens)) writeFileSync(join(daemon.#store, permission), secret);
    const rows = Object.keys(tokens).map((permission) => `{ name = "${permission}", permission = "${permission}", file = "${join(daemon.#store, permission)}" }`);
    if (rows.length > 0) daemon.#settings.push(`access.tokens=[${rows.join(", ")}]`);
    await daemon.start();
    return daemon;
  }

  /** Starts it at its previous address; resolves when it is ready. */
  async start() {
    const settings = this.#settings.flatMap((setting) => ["--set", setting]);
    const home = { ...process.env, HOME: this.#store, XDG_CONFIG_HOME: this.#store, XDG_DATA_HOME: this.#store };
    this.#child = spawn(PROGRAM, ["serve", ...this.#vaults, "--addr", this.address, "--store", join(this.#store, "index"), ...settings], { env: home });
    let output = "";
    await new Promise((serves, fails) => {
      const read = (bytes) => {
        output += bytes;
        const at = / at (127\.0\.0\.1:\d+)/.exec(output);
        if (at !== null) serves((this.address = at[1]));
      };
      this.#child.stdout.on("data", read);
      this.#child.stderr.on("data", read);
      this.#child.once("error", fails);
      this.#child.once("exit", (code) => fails(new Error(`weft ended with ${code}: ${output}`)));
    });
  }

  /** Stops it; the store is kept for another start. */
  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const over = new Promise((done) => this.#child.once("exit", done));
    this.#child.kill("SIGTERM");
    await over;
  }

  async end() {
    await this.stop();
    rmSync(this.#store, { recursive: true, force: true });
  }
}

/** Launches a browser with software WebGL and without network requests of its own. */
export const browse = () =>
  chromium.launch({
    executablePath: BROWSER,
    args: [
      "--no-sandbox",
      "--no-first-run",
      "--disable-quic",
      "--disable-sync",
      "--disable-background-networking",
      "--disable-component-update",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
    ],
  });
