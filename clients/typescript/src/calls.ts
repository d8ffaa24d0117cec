/** One method for each RPC, over any transport. */

import type { DescMethod } from "@bufbuild/protobuf";
import { type CallOptions, type Client, createClient, type Transport } from "@connectrpc/connect";
import { NoteweftError } from "./errors.js";
import {
  AdminService,
  ContextService,
  GraphService,
  HygieneService,
  NoteService,
  SearchService,
} from "./v1.js";

const SERVICES = [
  AdminService,
  ContextService,
  GraphService,
  HygieneService,
  NoteService,
  SearchService,
] as const;

/** Default deadline of a call in milliseconds: that of the daemon's setting `server.timeout_ms`. */
export const TIMEOUT_MS = 30_000;

/** A connection to a daemon, with one method for each RPC. */
export interface Noteweft
  extends Client<typeof AdminService>,
    Client<typeof ContextService>,
    Client<typeof GraphService>,
    Client<typeof HygieneService>,
    Client<typeof NoteService>,
    Client<typeof SearchService> {
  /** Address of the daemon. */
  readonly address: string;
  /** Closes the connection and ends all calls. */
  close(): void;
}

/** Parts of a connection. */
export interface Connection {
  readonly address: string;
  readonly transport: Transport;
  /** Default deadline of a call in milliseconds; `null` for none. Streams have no deadline unless one is passed to them. */
  readonly timeoutMs?: number | null | undefined;
  readonly close?: () => void;
}

type Unary = (request: object, options?: CallOptions) => Promise<object>;
type Streaming = (request: object, options?: CallOptions) => AsyncIterable<object>;

/** Returns the methods of all services over one transport. */
export function overTransport({ address, transport, timeoutMs, close }: Connection): Noteweft {
  const calls: Record<string, unknown> = { address, close: close ?? (() => undefined) };
  const deadline = timeoutMs === null ? {} : { timeoutMs: timeoutMs ?? TIMEOUT_MS };
  for (const service of SERVICES) {
    const client = createClient(service, transport) as unknown as Record<string, Unary & Streaming>;
    for (const method of service.methods as readonly DescMethod[]) {
      const call = client[method.localName];
      if (call === undefined) throw new Error(`${service.typeName} lacks ${method.name}`);
      calls[method.localName] =
        method.methodKind === "unary" ? unary(call, deadline, address) : streaming(call, address);
    }
  }
  return calls as unknown as Noteweft;
}

/** Adds a deadline to a call, and converts its errors. */
function unary(call: Unary, deadline: CallOptions, address: string): Unary {
  return async (request, options) => {
    try {
      return await call(request, { ...deadline, ...options });
    } catch (thrown) {
      throw new NoteweftError(thrown, address);
    }
  };
}

/** Converts the errors of a stream. Connect ends the stream when its reader leaves the loop. */
function streaming(call: Streaming, address: string): Streaming {
  return async function* (request, options) {
    try {
      yield* call(request, options);
    } catch (thrown) {
      throw new NoteweftError(thrown, address);
    }
  };
}
