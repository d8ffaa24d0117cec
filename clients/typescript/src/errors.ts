/** Errors of the daemon, with the reason codes of the service. */

import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./contract/google/rpc/error_details_pb.js";

/** A call failed. */
export class NoteweftError extends Error {
  override readonly name = "NoteweftError";
  /** Code of gRPC, such as `Code.NotFound`. */
  readonly code: Code;
  /** Stable reason, such as `UNKNOWN_NOTE`; empty if the error does not come from the daemon. */
  readonly reason: string;
  /** Values that belong to the reason, such as `actual_hash` or `path`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Field of the request that is invalid. */
  readonly field: string | undefined;
  /** URIs with names similar to an unknown one, most similar first. */
  readonly similar: readonly string[];
  /** Time in milliseconds after which a repeated call may succeed. */
  readonly retryAfterMs: number | undefined;

  /** Converts whatever a call to the daemon at `address` has thrown. */
  constructor(thrown: unknown, address: string) {
    const error = ConnectError.from(thrown);
    const info = error.findDetails(ErrorInfoSchema)[0];
    const reason = info?.reason ?? "";
    const code = reason === "" && isBrokenConnection(error) ? Code.Unavailable : error.code;
    const isUnreachable = code === Code.Unavailable && reason === "";
    const explanation = isUnreachable ? unreachable(error, address) : error.rawMessage;
    super(`${reason || Code[code]}: ${explanation}`, { cause: error });
    this.code = code;
    this.reason = reason;
    this.metadata = info?.metadata ?? {};
    this.field = error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field;
    this.similar = similar(this.metadata);
    const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
    this.retryAfterMs = delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6;
  }
}

/** Returns true if the system could not make or keep a connection, such as to a daemon whose certificate is not trusted. */
function isBrokenConnection({ cause }: ConnectError): boolean {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string";
}

/** Returns the message for a daemon that does not respond, with advice. */
function unreachable(error: ConnectError, address: string): string {
  const advice = "start one with `weft serve FOLDER`, or pass its address";
  return `no daemon responds at ${address}: ${error.rawMessage}; ${advice}`;
}

/** Returns the values of `near_1`, `near_2`, … in this order. */
function similar(metadata: Readonly<Record<string, string>>): string[] {
  const numbered = Object.entries(metadata).flatMap(([key, uri]) => {
    const found = /^near_(\d+)$/.exec(key);
    return found === null ? [] : [{ at: Number(found[1]), uri }];
  });
  return numbered.sort((a, b) => a.at - b.at).map(({ uri }) => uri);
}
