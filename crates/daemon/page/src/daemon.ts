// The daemon: its services as clients over gRPC-web, and what it says when it does not answer.

import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { signal } from "@preact/signals";
import { Unreadable } from "./address";
import { AdminService } from "./contract/noteweft/v1/admin_pb";
import { ContextService } from "./contract/noteweft/v1/context_pb";
import { GraphService } from "./contract/noteweft/v1/graph_pb";
import { NoteService } from "./contract/noteweft/v1/note_pb";
import { SearchService } from "./contract/noteweft/v1/search_pb";

/** How long a question may take, in milliseconds. */
export const DEADLINE = 10_000;

const TOKEN = "weft-token";

/** The secret sent with every question; kept until the tab is closed. Another object each time one is given, also for the same secret. */
export const token = signal({ secret: sessionStorage.getItem(TOKEN) ?? "" });

/** The login: away, asking for a token, or for another than the one the daemon refused. */
export const login = signal<"away" | "wanted" | "refused">("away");

/** Whether the reader closed the login; it then opens on demand alone. */
let declined = false;

/** Opens the login. */
export function openLogin(): void {
  declined = false;
  login.value = "wanted";
}

/** Closes it for the reader; one that is away already was closed by a token. */
export function closeLogin(): void {
  if (login.value === "away") return;
  declined = true;
  login.value = "away";
}

/** Takes a token from now on; one that no daemon can know is refused at once. */
export function setToken(written: string): void {
  const secret = written.trim();
  declined = false;
  login.value = /^[!-~]+$/.test(secret) ? "away" : "refused";
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
    // What was said of an earlier token is no longer of interest.
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
export const notes = createClient(NoteService, transport);
export const search = createClient(SearchService, transport);

/** Why a question has no answer. */
export interface Failure {
  readonly kind: "unreachable" | "opening" | "token" | "forbidden" | "unknown" | "invalid" | "unable" | "late" | "unimplemented" | "other";
  readonly text: string;
  /** Uris that resemble an unknown name, the nearest first. */
  readonly near: readonly string[];
}

/** What a thrown error means; nothing for a question that was taken back. */
export function failure(thrown: unknown): Failure | undefined {
  if (thrown instanceof Unreadable) return { kind: "invalid", text: thrown.message, near: [] };
  const error = ConnectError.from(thrown);
  const details = info(error);
  const said = (kind: Failure["kind"]): Failure => ({ kind, text: sentence(error.rawMessage), near: near(details) });
  switch (error.code) {
    case Code.Canceled:
      return undefined;
    case Code.NotFound: {
      // The details carry the near names that the sentence would repeat.
      const name = details?.get("name");
      return name === undefined ? said("unknown") : { ...said("unknown"), text: `No note answers to “${name}”.` };
    }
    case Code.InvalidArgument:
      return said("invalid");
    case Code.DeadlineExceeded:
      return { kind: "late", text: `No answer within ${DEADLINE / 1000} seconds.`, near: [] };
    case Code.FailedPrecondition:
      return said("unable");
    case Code.Unauthenticated:
      return said("token");
    case Code.PermissionDenied:
      return said("forbidden");
    case Code.Unimplemented:
      return { kind: "unimplemented", text: "This daemon does not know the question.", near: [] };
    case Code.Unavailable:
      return details === undefined ? UNREACHABLE : said("opening");
    default:
      // A failed fetch has neither status nor details.
      return error.cause instanceof TypeError ? UNREACHABLE : said("other");
  }
}

const UNREACHABLE: Failure = { kind: "unreachable", text: "The daemon does not answer. It may be restarting; this page keeps asking.", near: [] };

function sentence(text: string): string {
  const line = text.trim();
  const first = line.charAt(0);
  return /^[a-z]+[ ,]/.test(line) ? first.toUpperCase() + line.slice(1) : line;
}

/** The metadata of the error's `google.rpc.ErrorInfo`. */
function info(error: ConnectError): Map<string, string> | undefined {
  for (const detail of error.details) {
    if ("type" in detail && typeof detail.type === "string" && detail.type === "google.rpc.ErrorInfo") {
      return errorInfo(detail.value as Uint8Array);
    }
  }
  return undefined;
}

/** Reads `map<string, string> metadata = 3` and passes over the rest. */
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

function near(details: Map<string, string> | undefined): string[] {
  const found: string[] = [];
  for (let at = 1; details?.has(`near_${at}`); at += 1) found.push(details.get(`near_${at}`) ?? "");
  return found;
}
