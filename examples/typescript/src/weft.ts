// Clients for the daemon's services.
//
// WEFT_ADDR is the daemon's address (127.0.0.1:9338, https://HOST:PORT), and WEFT_TOKEN the token if the daemon requires one.

import { ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ContextService } from "./contract/noteweft/v1/context_pb.js";
import { NoteService } from "./contract/noteweft/v1/note_pb.js";
import { SearchService } from "./contract/noteweft/v1/search_pb.js";

const address = process.env.WEFT_ADDR ?? "127.0.0.1:9338";
const token = process.env.WEFT_TOKEN;

const withToken: Interceptor = (next) => (request) => {
  if (token) request.header.set("authorization", `Bearer ${token}`);
  return next(request);
};

const transport = createGrpcTransport({
  baseUrl: address.includes("://") ? address : `http://${address}`,
  interceptors: [withToken],
});

export const context = createClient(ContextService, transport);
export const note = createClient(NoteService, transport);
export const search = createClient(SearchService, transport);

/** Runs a program and prints its error message if it fails. */
export async function run(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (thrown) {
    console.error(ConnectError.from(thrown).message);
    process.exitCode = 1;
  }
}

/** Returns the question on the command line. */
export function question(): string {
  const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  if (words.length === 0) throw new Error('give a question: npm run ask -- "why do cells age"');
  return words.join(" ");
}
