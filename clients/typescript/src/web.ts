/** Connections from a browser, over gRPC-web. */

import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { type Noteweft, overTransport } from "./calls.js";
import { withToken } from "./token.js";

export * from "./common.js";

/** Options of a connection. */
export interface ConnectOptions {
  /** `https://HOST:PORT` or `http://HOST:PORT`; that of the page if absent. The daemon answers only pages of its own origin. */
  readonly address?: string | undefined;
  /** Bearer token. */
  readonly token?: string | undefined;
  /** Default deadline of a call in milliseconds, 30000 if absent; `null` for none. Streams have no deadline unless one is passed to them. */
  readonly timeoutMs?: number | null | undefined;
}

/** Returns a connection to the daemon. */
export function connect(options: ConnectOptions = {}): Noteweft {
  const address = options.address ?? globalThis.location.origin;
  const interceptors = withToken(options.token);
  const transport = createGrpcWebTransport({ baseUrl: address, interceptors });
  return overTransport({ address, transport, timeoutMs: options.timeoutMs });
}
