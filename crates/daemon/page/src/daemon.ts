// The daemon: its services as clients over gRPC-web, and what it says when it does not answer.

import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { signal } from "@preact/signals";
import { AdminService } from "./contract/noteweft/v1/admin_pb";
import { ContextService } from "./contract/noteweft/v1/context_pb";
import { GraphService } from "./contract/noteweft/v1/graph_pb";
import { NoteService } from "./contract/noteweft/v1/note_pb";
import { SearchService } from "./contract/noteweft/v1/search_pb";

/** How long a question may take, in milliseconds. */
export const DEADLINE = 10_000;

const TOKEN = "weft-token";

/** The secret sent with every question; kept until the tab is closed. */
export const token = signal(sessionStorage.getItem(TOKEN) ?? "");

/** Whether the daemon asked for a token, or for another one. */
export const tokenWanted = signal(false);

/** Takes a token from now on. */
export function setToken(value: string): void {
  sessionStorage.setItem(TOKEN, value);
  token.value = value;
  tokenWanted.value = false;
}

const withToken: Interceptor = (next) => (request) => {
  if (token.value !== "") request.header.set("authorization", `Bearer ${token.value}`);
  return next(request);
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
  readonly kind: "unreachable" | "opening" | "token" | "forbidden" | "unknown" | "invalid" | "late" | "unimplemented" | "other";
  readonly text: string;
  /** Uris that resemble an unknown name, the nearest first. */
  readonly near: readonly string[];
}

/** What a thrown error means; nothing for a question that was taken back. */
export function failure(thrown: unknown): Failure | undefined {
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
    case Code.Unauthenticated:
      tokenWanted.value = true;
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
