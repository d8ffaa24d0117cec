/** Connections from Node.js, over gRPC. */

import { connect as connectSocket } from "node:net";
import type { ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type Noteweft, overTransport } from "./calls.js";
import { type FindOptions, find, type Target } from "./target.js";
import { withToken } from "./token.js";

export * from "./common.js";

/** Options of a connection. */
export interface ConnectOptions extends FindOptions {
  /** Default deadline of a call in milliseconds, 30000 if absent; `null` for none. Streams have no deadline unless one is passed to them. */
  readonly timeoutMs?: number | null | undefined;
}

/** Interval of pings to a daemon that computes a response, and the timeout of each, in milliseconds. */
const KEEPALIVE_MS = 10_000;

/** Returns a connection to the daemon that `weft` would use. It is made with the first call, and restored when it breaks. */
export function connect(options: ConnectOptions = {}): Noteweft {
  const target = find(options, process.env);
  const { baseUrl, nodeOptions } = session(target);
  const pings = { pingIntervalMs: KEEPALIVE_MS, pingTimeoutMs: KEEPALIVE_MS };
  const sessionManager = new Http2SessionManager(baseUrl, pings, nodeOptions);
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    interceptors: withToken(target.token),
  });
  const close = () => sessionManager.abort();
  return overTransport({ address: target.address, transport, timeoutMs: options.timeoutMs, close });
}

/** Returns how HTTP/2 reaches the daemon. An address without a scheme uses TLS if an authority or a name is given. */
function session(target: Target): {
  baseUrl: string;
  nodeOptions: ClientSessionOptions | SecureClientSessionOptions;
} {
  const { address, authority, identity, name } = target;
  if (address.startsWith("unix:")) {
    // The rest of the address is a path, with two slashes or without.
    const path = address.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    return { baseUrl: "http://localhost", nodeOptions: { createConnection: () => connectSocket(path) } };
  }
  const isEncrypted = !address.includes("://") && (authority !== undefined || name !== undefined);
  const baseUrl = address.includes("://") ? address : `${isEncrypted ? "https" : "http"}://${address}`;
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new TypeError(`"${address}" is not an address; expected HOST:PORT, https://HOST:PORT or unix:PATH`);
  }
  return {
    baseUrl,
    nodeOptions: {
      ...(authority === undefined ? {} : { ca: authority }),
      ...(identity === undefined ? {} : { cert: identity.certificate, key: identity.key }),
      ...(name === undefined ? {} : { servername: name }),
    },
  };
}
