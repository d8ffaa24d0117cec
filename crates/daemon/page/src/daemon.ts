// Clients of the daemon's services over gRPC-web, and its errors.

import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { signal } from "@preact/signals";
import { InvalidAddress } from "./address";
import { AdminService } from "./contract/noteweft/v1/admin_pb";
import { ContextService } from "./contract/noteweft/v1/context_pb";
import { GraphService } from "./contract/noteweft/v1/graph_pb";
import { HygieneService } from "./contract/noteweft/v1/hygiene_pb";
import { NoteService } from "./contract/noteweft/v1/note_pb";
import { SearchService } from "./contract/noteweft/v1/search_pb";

/** Deadline of a request, in milliseconds. */
export const DEADLINE = 10_000;

const TOKEN = "weft-token";

/** The token sent with every request; kept until the tab is closed. Each login creates a new object, even for the same token. */
export const token = signal({ secret: sessionStorage.getItem(TOKEN) ?? "" });

/** State of the login dialog: closed, asking for a token, or asking again after a rejected one. */
export const login = signal<"closed" | "wanted" | "refused">("closed");

/** True if the user closed the login dialog; it then opens on demand only. */
let declined = false;

/** Opens the login dialog. */
export function openLogin(): void {
  declined = false;
  login.value = "wanted";
}

/** Closes the login dialog on behalf of the user; if it is already closed, a token closed it. */
export function closeLogin(): void {
  if (login.value === "closed") return;
  declined = true;
  login.value = "closed";
}

/** Uses a token from now on; one with invalid characters is rejected immediately. */
export function setToken(input: string): void {
  const secret = input.trim();
  declined = false;
  login.value = /^[!-~]+$/.test(secret) ? "closed" : "refused";
  if (login.value === "refused") return;
  sessionStorage.setItem(TOKEN, secret);
  token.value = { secret };
}

const withToken: Interceptor = (next) => async (request) => {
  const sent = token.value;
  if (sent.secret !== "") request.header.set("authorization", `Bearer ${sent.secret}`);
  try {
    return await next(request);
  } catch (thrown) {
    // A response to an earlier token is ignored.
    const refused = ConnectError.from(thrown).code === Code.Unauthenticated && sent === token.value;
    if (refused && !declined) login.value = sent.secret === "" ? "wanted" : "refused";
    throw thrown;
  }
};

const transport = createGrpcWebTransport({
  baseUrl: location.origin,
  interceptors: [withToken],
  defaultTimeoutMs: DEADLINE,
});

export const admin = createClient(AdminService, transport);
export const context = createClient(ContextService, transport);
export const graph = createClient(GraphService, transport);
export const hygiene = createClient(HygieneService, transport);
export const notes = createClient(NoteService, transport);
export const search = createClient(SearchService, transport);

/** Why a request failed. */
export interface Failure {
  readonly kind: "unreachable" | "opening" | "token" | "forbidden" | "unknown" | "invalid" | "unable" | "late" | "unimplemented" | "other";
  readonly text: string;
  /** URIs similar to an unknown name, most similar first. */
  readonly suggestions: readonly string[];
}

/** Converts a thrown error; `undefined` for a cancelled request. */
export function failure(thrown: unknown): Failure | undefined {
  if (thrown instanceof InvalidAddress) return { kind: "invalid", text: thrown.message, suggestions: [] };
  const error = ConnectError.from(thrown);
  const details = info(error);
  const withMessage = (kind: Failure["kind"]): Failure => ({ kind, text: sentence(error.rawMessage), suggestions: suggestions(details) });
  switch (error.code) {
    case Code.Canceled:
      return undefined;
    case Code.NotFound: {
      // The details contain the suggestions that the message repeats.
      const name = details?.get("name");
      return name === undefined ? withMessage("unknown") : { ...withMessage("unknown"), text: `No note matches “${name}”.` };
    }
    case Code.InvalidArgument:
      return withMessage("invalid");
    case Code.DeadlineExceeded:
      return { kind: "late", text: `No response within ${DEADLINE / 1000} seconds.`, suggestions: [] };
    case Code.FailedPrecondition:
      return withMessage("unable");
    case Code.Unauthenticated:
      return withMessage("token");
    case Code.PermissionDenied:
      return withMessage("forbidden");
    case Code.Unimplemented:
      return { kind: "unimplemented", text: "This daemon does not support the request.", suggestions: [] };
    case Code.Unavailable:
      return details === undefined ? UNREACHABLE : withMessage("opening");
    default:
      // A failed fetch has neither status nor details.
      return error.cause instanceof TypeError ? UNREACHABLE : withMessage("other");
  }
}

const UNREACHABLE: Failure = { kind: "unreachable", text: "The daemon does not respond. It may be restarting; this page keeps retrying.", suggestions: [] };

function sentence(text: string): string {
  const line = text.trim();
  const first = line.charAt(0);
  return /^[a-z]+[ ,]/.test(line) ? first.toUpperCase() + line.slice(1) : line;
}

/** Returns the metadata of the error's `google.rpc.ErrorInfo`. */
function info(error: ConnectError): Map<string, string> | undefined {
  for (const detail of error.details) {
    if ("type" in detail && typeof detail.type === "string" && detail.type === "google.rpc.ErrorInfo") {
      return errorInfo(detail.value as Uint8Array);
    }
  }
  return undefined;
}

/** Decodes `map<string, string> metadata = 3` and skips the other fields. */
function errorInfo(bytes: Uint8Array): Map<string, string> {
  const metadata = new Map<string, string>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field !== 3) {
      reader.skip(wire);
      continue;
    }
    const entry = new BinaryReader(reader.bytes());
    let key = "";
    let value = "";
    while (entry.pos < entry.len) {
      const [part, kind] = entry.tag();
      if (part === 1) key = entry.string();
      else if (part === 2) value = entry.string();
      else entry.skip(kind);
    }
    metadata.set(key, value);
  }
  return metadata;
}

function suggestions(details: Map<string, string> | undefined): string[] {
  const found: string[] = [];
  for (let at = 1; details?.has(`near_${at}`); at += 1) found.push(details.get(`near_${at}`) ?? "");
  return found;
}
