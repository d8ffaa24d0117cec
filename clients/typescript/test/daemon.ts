/** Starts daemons for tests: `WEFT` is the program, else the debug build. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The compiled test is in `build/test` of the package. */
export const PACKAGE = resolve(import.meta.dirname, "../..");
export const REPOSITORY = resolve(PACKAGE, "../..");
const TARGET = process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target");
export const PROGRAM = process.env["WEFT"] ?? join(TARGET, "debug/weft");

export const READ_TOKEN = "token-that-may-only-read";
export const WRITE_TOKEN = "token-that-may-also-write";

/** Maximum number of open streams of a daemon that is to notice streams that are not closed. */
export const MAX_STREAMS = 4;

/** Number of those streams that one client can open. */
export const CLIENT_STREAMS = 3;

/** A running daemon without a model, over its own copy of the example vault. */
export class Daemon {
  readonly folder = mkdtempSync(join(tmpdir(), "noteweft-"));
  readonly socket = join(this.folder, "weft.sock");
  readonly certificate = join(this.folder, "certificate.pem");
  readonly key = join(this.folder, "key.pem");
  address = "";
  #child: ChildProcess | undefined;

  /** Starts a daemon without credentials. */
  static async open(...settings: string[]): Promise<Daemon> {
    const daemon = new Daemon();
    await daemon.#start(settings);
    return daemon;
  }

  /** Starts a daemon with tokens, and a certificate that signs itself. */
  static async protected(): Promise<Daemon> {
    const daemon = new Daemon();
    const rows = Object.entries({ read: READ_TOKEN, write: WRITE_TOKEN }).map(([permission, secret]) => {
      const file = join(daemon.folder, permission);
      writeFileSync(file, `# the token\n${secret}\n`);
      return `{ name = "${permission}", permission = "${permission}", file = "${file}" }`;
    });
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const names = ["-subj", "/CN=notes.example", "-addext", "subjectAltName=DNS:notes.example,IP:127.0.0.1"];
    const files = ["-keyout", daemon.key, "-out", daemon.certificate];
    execFileSync("openssl", ["req", "-x509", ...kind, ...names, ...files], { stdio: "pipe" });
    await daemon.#start([
      `access.tokens=[${rows.join(", ")}]`,
      `tls.certificate=${daemon.certificate}`,
      `tls.key=${daemon.key}`,
    ]);
    return daemon;
  }

  /** An environment without settings of the user. */
  environment(): NodeJS.ProcessEnv {
    const others = Object.entries(process.env).filter(([name]) => !name.startsWith("WEFT"));
    const xdg = ["CONFIG_HOME", "DATA_HOME", "STATE_HOME"].map((name) => [`XDG_${name}`, this.folder]);
    return { ...Object.fromEntries([...others, ...xdg]), HOME: this.folder };
  }

  async #start(more: string[]): Promise<void> {
    const vault = join(this.folder, "notes");
    if (!existsSync(vault)) cpSync(join(REPOSITORY, "examples/timekeeping"), vault, { recursive: true });
    const settings = ["embedding.model=none", ...more];
    const place = ["--addr", "127.0.0.1:0", "--socket", this.socket, "--store", join(this.folder, "store")];
    const set = settings.flatMap((setting) => ["--set", setting]);
    const child = spawn(PROGRAM, ["serve", vault, ...place, ...set], { env: this.environment() });
    this.#child = child;
    let output = "";
    await new Promise<void>((serves, fails) => {
      const read = (bytes: Buffer) => {
        output += bytes.toString();
        const found = / at (?:https:\/\/)?(127\.0\.0\.1:\d+)/.exec(output);
        if (found?.[1] !== undefined) {
          this.address = found[1];
          serves();
        }
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.once("error", fails);
      child.once("exit", (code) => fails(new Error(`weft ended with ${code}: ${output}`)));
    });
  }

  /** Stops the daemon and removes its files. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null) {
      const over = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      await over;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
