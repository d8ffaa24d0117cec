/** Finds the daemon as `weft` does: from arguments, the environment, and the settings. */

import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { parse } from "smol-toml";

/** Default of the setting `server.address`. */
const DEFAULT_ADDRESS = "127.0.0.1:9338";

/** Address of a daemon and credentials for it; each overrides its environment variable. */
export interface FindOptions {
  /** `HOST:PORT`, `https://HOST:PORT` or `unix:PATH`; else `WEFT_ADDR`, else the address in the settings. */
  readonly address?: string | undefined;
  /** Bearer token; else `WEFT_TOKEN`. */
  readonly token?: string | undefined;
  /** File with the token in its last line; else `WEFT_TOKEN_FILE`. */
  readonly tokenFile?: string | undefined;
  /** PEM file with the certificate authority to trust; else `WEFT_TLS_CA`, else the usual authorities. */
  readonly tlsCa?: string | undefined;
  /** PEM file with the certificate of this client; else `WEFT_TLS_CERT`. */
  readonly tlsCert?: string | undefined;
  /** PEM file with the key of this client; else `WEFT_TLS_KEY`. */
  readonly tlsKey?: string | undefined;
  /** Name in the daemon's certificate, if it differs from the host; else `WEFT_TLS_NAME`. */
  readonly tlsName?: string | undefined;
  /** File with settings; that of the user if absent. */
  readonly config?: string | undefined;
}

/** Environment variables by name. */
type Variables = Readonly<Record<string, string | undefined>>;

/** Address of a daemon and the credentials for it. */
export interface Target {
  readonly address: string;
  readonly token: string | undefined;
  readonly authority: string | undefined;
  readonly identity: { readonly certificate: string; readonly key: string } | undefined;
  readonly name: string | undefined;
}

/** Returns the daemon that `weft` would use with the same flags, environment and settings. Throws if a file that was named cannot be used. */
export function find(options: FindOptions, variables: Variables): Target {
  const token = options.token || readToken(options.tokenFile, variables);
  const ca = options.tlsCa || variables["WEFT_TLS_CA"];
  const certificate = options.tlsCert || variables["WEFT_TLS_CERT"];
  const key = options.tlsKey || variables["WEFT_TLS_KEY"];
  const name = options.tlsName || variables["WEFT_TLS_NAME"] || undefined;
  if (!certificate !== !key) throw new TypeError("a certificate of the client needs both tlsCert and tlsKey");
  const credentials = {
    token,
    authority: ca ? readAuthority(ca) : undefined,
    identity: certificate && key ? { certificate: text(certificate), key: text(key) } : undefined,
    name,
  };
  const given = options.address || variables["WEFT_ADDR"];
  if (given) return { address: given, ...credentials };
  const hasCredentials = Object.values(credentials).some((credential) => credential !== undefined);
  const settings = new Settings(options.config, variables);
  return { address: settings.address(hasCredentials), ...credentials };
}

/** Returns the token of a file or of the environment: in a file, its last line that is not a comment. */
function readToken(file: string | undefined, variables: Variables): string | undefined {
  if (file === undefined && variables["WEFT_TOKEN"]) return variables["WEFT_TOKEN"];
  const path = file ?? variables["WEFT_TOKEN_FILE"];
  if (!path) return undefined;
  const lines = text(path).split("\n").map((line) => line.trim());
  const token = lines.filter((line) => line !== "" && !line.startsWith("#")).at(-1);
  if (token === undefined) throw new TypeError(`${path} contains no token`);
  return token;
}

function readAuthority(path: string): string {
  const pem = text(path);
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) throw new TypeError(`${path} contains no PEM certificate`);
  return pem;
}

const text = (path: string) => readFileSync(path, "utf8");

/** Settings of the daemon that lead to it: those of the user's file, overridden by the environment. */
class Settings {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #variables: Variables;

  /** Reads the settings; the user's file may be missing, one that was named must exist. */
  constructor(file: string | undefined, variables: Variables) {
    const path = file ?? configFile(variables);
    this.#variables = variables;
    this.#values = path !== undefined && (file !== undefined || existsSync(path)) ? parseSettings(path) : {};
  }

  /** Returns the value of a setting; `undefined` if neither the environment nor the file sets it. */
  #get(section: string, name: string): unknown {
    const given = this.#variables[`WEFT__${section}__${name}`.toUpperCase()];
    if (given === undefined) {
      const table = this.#values[section];
      return typeof table === "object" && table !== null ? (table as Record<string, unknown>)[name] : undefined;
    }
    try {
      return parse(`value = ${given}`)["value"];
    } catch {
      return given;
    }
  }

  /** Returns the daemon's address: its Unix socket if the port requires credentials and there are none. */
  address(hasCredentials: boolean): string {
    const address = String(this.#get("server", "address") ?? DEFAULT_ADDRESS);
    const hasTls = this.#get("tls", "certificate") !== undefined;
    const tokens = this.#get("access", "tokens");
    const hasTokens = Array.isArray(tokens) && tokens.length > 0;
    const asks = hasTls || hasTokens || this.#get("tls", "client_ca") !== undefined;
    const socket = asks && !hasCredentials ? this.#socket(address) : undefined;
    if (socket !== undefined && existsSync(socket)) return `unix:${socket}`;
    return hasTls ? `https://${reachable(address)}` : reachable(address);
  }

  /** Returns the Unix socket of the daemon at `address`, if it has one. */
  #socket(address: string): string | undefined {
    const setting = String(this.#get("server", "socket") ?? "auto");
    if (setting === "none") return undefined;
    if (setting !== "auto") return setting;
    const port = /:(\d+)$/.exec(address)?.[1];
    return port === undefined ? undefined : join(socketFolder(this.#variables), `${port}.sock`);
  }
}

function parseSettings(path: string): Record<string, unknown> {
  try {
    return parse(text(path));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new TypeError(`${path}: ${reason}`, { cause: thrown });
  }
}

/** Returns the address at which this machine reaches a daemon that listens at `address`. */
export function reachable(address: string): string {
  const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(address) ?? [];
  const ip = host.replace(/^\[|\]$/g, "");
  if (isIP(ip) === 4 && ip === "0.0.0.0") return `127.0.0.1:${port}`;
  return isIP(ip) === 6 && /^[0:]+$/.test(ip) ? `[::1]:${port}` : address;
}

/** Returns a folder of the XDG base directory specification; relative ones do not count. */
function folder(variables: Variables, name: string, belowHome: string): string | undefined {
  const given = variables[name];
  if (given && isAbsolute(given)) return given;
  const home = [variables["HOME"], variables["USERPROFILE"]].find((each) => each && isAbsolute(each));
  return home === undefined ? undefined : join(home, belowHome);
}

/** Returns the path of the user's settings, which may not exist. */
function configFile(variables: Variables): string | undefined {
  const config = folder(variables, "XDG_CONFIG_HOME", ".config");
  return config && join(config, "weft", "config.toml");
}

/** Returns the folder of the daemon's sockets. */
function socketFolder(variables: Variables): string {
  const runtime = variables["XDG_RUNTIME_DIR"];
  if (runtime && isAbsolute(runtime)) return join(runtime, "weft");
  return join(folder(variables, "XDG_STATE_HOME", ".local/state") ?? tmpdir(), "weft");
}
