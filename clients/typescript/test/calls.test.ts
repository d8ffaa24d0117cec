import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { equals } from "@bufbuild/protobuf";
import { Code, connect, type Noteweft, NoteweftError, pages } from "@noteweft/client";
import * as v1 from "@noteweft/client/v1";
import { CLIENT_STREAMS, Daemon, MAX_STREAMS, PACKAGE, READ_TOKEN, REPOSITORY, WRITE_TOKEN } from "./daemon.js";

let daemon: Daemon;
let secure: Daemon;
let notes: Noteweft;

before(async () => {
  [daemon, secure] = await Promise.all([Daemon.open(), Daemon.protected()]);
  notes = connect({ address: daemon.address });
});
after(async () => {
  notes.close();
  await Promise.all([daemon.end(), secure.end()]);
});

/** Returns the error of a call that must fail. */
async function failure(call: Promise<unknown>): Promise<NoteweftError> {
  try {
    await call;
  } catch (thrown) {
    assert.ok(thrown instanceof NoteweftError, String(thrown));
    return thrown;
  }
  assert.fail("the call must fail");
}

/** Returns all values of a stream or of pages. */
async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** Returns the first value of a stream, and leaves it. */
async function first<T>(values: AsyncIterable<T>): Promise<T> {
  for await (const value of values) return value;
  assert.fail("the stream is empty");
}

const FUTURE = 1n << 40n;

test("every RPC of the contract has a method", () => {
  const folder = join(REPOSITORY, "proto/noteweft/v1");
  const names = readdirSync(folder).flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    return [...text.matchAll(/^ {2}rpc (\w+)\(/gm)].map(([, name = ""]) => name);
  });
  assert.ok(names.length >= 30);
  for (const name of names) {
    const method = name.charAt(0).toLowerCase() + name.slice(1);
    assert.equal(typeof notes[method as keyof Noteweft], "function", method);
  }
});

test("every message of the contract is exported", () => {
  const folder = join(PACKAGE, "src/contract/noteweft/v1");
  for (const file of readdirSync(folder)) {
    const text = readFileSync(join(folder, file), "utf8");
    for (const [, name = ""] of text.matchAll(/^export (?:const|enum) (\w+)/gm)) assert.ok(name in v1, name);
  }
});

test("version is that of the workspace and the daemon", async () => {
  const manifest = readFileSync(join(REPOSITORY, "Cargo.toml"), "utf8");
  const own = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { version: string };
  assert.equal(/^version = "(.+)"$/m.exec(manifest)?.[1], own.version);
  assert.equal((await notes.status({})).version, own.version);
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  assert.ok(readme.includes(`noteweft-client-${own.version}.tgz`));
});

test("search returns hits with passages", async () => {
  const { hits } = await notes.search({ query: "leap second", limit: 3, filter: { paths: ["Agreed Time"] } });
  assert.equal(hits[0]?.title, "Leap second");
  assert.ok(hits.length <= 3 && hits.every((hit) => hit.path.startsWith("Agreed Time/")));
  assert.deepEqual(hits[0]?.snippets[0]?.headingPath, ["Leap second"]);
});

test("Unix socket needs no credentials", async () => {
  for (const address of [`unix:${secure.socket}`, `unix://${secure.socket}`]) {
    const local = connect({ address });
    assert.equal((await local.getNote({ name: "Leap second" })).uri, "Agreed Time/Leap second");
    local.close();
  }
});

test("token and certificate are required", async () => {
  const address = `https://${secure.address}`;
  const open = (token?: string, tlsCa: string | undefined = secure.certificate) => connect({ address, token, tlsCa });

  const without = open();
  assert.equal((await failure(without.search({ query: "leap" }))).reason, "NO_TOKEN");
  const wrong = open("token-that-is-unknown");
  const unknown = await failure(wrong.search({ query: "leap" }));
  assert.deepEqual([unknown.code, unknown.reason], [Code.Unauthenticated, "UNKNOWN_TOKEN"]);

  const reader = open(READ_TOKEN);
  assert.ok((await reader.search({ query: "leap second" })).hits.length > 0);
  const denied = await failure(reader.flush({}));
  assert.deepEqual([denied.code, denied.reason], [Code.PermissionDenied, "READ_ONLY"]);

  const writer = open(WRITE_TOKEN);
  assert.ok((await writer.flush({})).generation > 0n);
  assert.ok((await first(writer.watchGenerations({}))).noteCount > 0n);

  const distrustful = connect({ address, token: READ_TOKEN });
  assert.equal((await failure(distrustful.search({ query: "leap" }))).code, Code.Unavailable);
  for (const each of [without, wrong, reader, writer, distrustful]) each.close();
});

test("certificate may have another name", async () => {
  // An address without a scheme is encrypted, because a certificate authority is given.
  const open = (tlsName: string) =>
    connect({ address: secure.address, token: READ_TOKEN, tlsCa: secure.certificate, tlsName });
  const right = open("notes.example");
  assert.ok((await right.search({ query: "leap second" })).hits.length > 0);
  const wrong = open("other.example");
  assert.equal((await failure(wrong.search({ query: "leap" }))).code, Code.Unavailable);
  right.close();
  wrong.close();
});

test("deadline ends calls and streams", async () => {
  const late = await failure(notes.search({ query: "leap", minGeneration: FUTURE }, { timeoutMs: 200 }));
  assert.equal(late.code, Code.DeadlineExceeded);
  const stream = notes.watchQuery({ search: { query: "leap" } }, { timeoutMs: 200 });
  assert.equal((await failure(collect(stream))).code, Code.DeadlineExceeded);
});

test("client has a deadline for calls without one", async () => {
  const hurried = connect({ address: daemon.address, timeoutMs: 200 });
  const late = await failure(hurried.search({ query: "leap", minGeneration: FUTURE }));
  assert.equal(late.code, Code.DeadlineExceeded);
  assert.ok((await hurried.search({ query: "leap" }, { timeoutMs: 30_000 })).hits.length > 0);
  hurried.close();
});

test("unknown note has a reason and similar names", async () => {
  const error = await failure(notes.getNote({ name: "Leap secnd" }));
  assert.equal(error.reason, "UNKNOWN_NOTE");
  assert.equal(error.code, Code.NotFound);
  assert.equal(error.similar[0], "Agreed Time/Leap second");
  assert.equal(error.metadata["name"], "Leap secnd");
  assert.match(error.message, /^UNKNOWN_NOTE: no note is named `Leap secnd`/);
});

test("invalid argument names the field", async () => {
  const error = await failure(notes.search({ query: "leap", limit: 0 }));
  assert.deepEqual([error.reason, error.field], ["INVALID_ARGUMENT", "limit"]);
  const streamed = await failure(collect(notes.watchQuery({ search: { query: "" } })));
  assert.deepEqual([streamed.reason, streamed.field], ["INVALID_ARGUMENT", "search.query"]);
});

test("unreachable daemon is named", async () => {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const place = server.address();
  assert.ok(place !== null && typeof place === "object");
  await new Promise((closed) => server.close(closed));
  const address = `127.0.0.1:${place.port}`;
  const nowhere = connect({ address });
  const error = await failure(nowhere.status({}));
  assert.equal(error.code, Code.Unavailable);
  assert.ok(error.message.includes(`no daemon responds at ${address}`), error.message);
  const missing = connect({ address: "unix:/nowhere/weft.sock" });
  assert.equal((await failure(missing.status({}))).code, Code.Unavailable);
});

test("pages contain each note once", async () => {
  const all = await collect(pages(notes.listNotes, { pageSize: 30 }));
  const uris = all.flatMap((page) => page.notes.map((note) => note.uri));
  assert.deepEqual(all.slice(0, 2).map((page) => page.notes.length), [30, 30]);
  assert.equal(new Set(uris).size, uris.length);
  assert.equal(BigInt(uris.length), all[0]?.total);

  const related = await collect(pages(notes.related, { focus: "Leap second", budget: 200n }));
  assert.ok(related.length > 1);
  const delivered = related.flatMap((page) => page.relatedNotes.map((note) => note.uri));
  assert.equal(new Set(delivered).size, delivered.length);
});

test("streamed context equals the whole", async () => {
  const request = { query: "leap second", budget: 800n, rendering: v1.Rendering.MARKDOWN };
  const whole = await notes.assemble(request);
  const parts = await collect(notes.assembleStream(request));
  assert.ok(parts.length > 3);
  const items = parts.flatMap((part) => part.items);
  assert.equal(items.length, whole.items.length);
  whole.items.forEach((item, at) => assert.ok(equals(v1.ContextItemSchema, item, items[at] ?? item)));
  assert.equal(parts.at(-1)?.rendered, whole.rendered);
  assert.ok(whole.used <= whole.budget);
});

test("watched query reports a new note", async () => {
  const request = { search: { query: "quincunx gnomon", limit: 5 }, minIntervalMs: 0 };
  let written: v1.PutNoteResponse | undefined;
  for await (const update of notes.watchQuery(request, { timeoutMs: 30_000 })) {
    written ??= await notes.putNote({ path: "Quincunx.md", text: "# Quincunx\n\nA quincunx gnomon." });
    if (update.added.includes(written.uri ?? "") && update.answer !== undefined) {
      assert.ok(update.answer.generation >= written.generation);
      break;
    }
  }
  await notes.deleteNote({ name: "Quincunx", expectedHash: written?.hash ?? "" });
});

test("generations are watched", async () => {
  let before: bigint | undefined;
  for await (const { noteCount } of notes.watchGenerations({}, { timeoutMs: 30_000 })) {
    if (before === undefined) {
      before = noteCount;
      await notes.putNote({ path: "Watched.md", text: "# Watched" });
    } else if (noteCount > before) {
      break;
    }
  }
  assert.equal((await notes.deleteNote({ name: "Watched" })).path, "Watched.md");
});

test("put respects the expected content", async () => {
  const created = await notes.putNote({ path: "Expected.md", text: "# Expected", expectedHash: "" });
  assert.ok(created.created);
  const exists = await failure(notes.putNote({ path: "Expected.md", text: "# Other", expectedHash: "" }));
  assert.deepEqual([exists.code, exists.reason], [Code.AlreadyExists, "PATH_TAKEN"]);
  const expectedHash = created.hash ?? "";
  const changed = await notes.putNote({ path: "Expected.md", body: "Two.", expectedHash });
  const aborted = await failure(notes.putNote({ path: "Expected.md", body: "Three.", expectedHash }));
  assert.equal(aborted.reason, "CONTENT_CHANGED");
  assert.equal(aborted.metadata["actual_hash"], changed.hash);
  const read = await notes.getNote({ name: "Expected", minGeneration: changed.generation });
  assert.deepEqual([read.body, read.hash], ["Two.", changed.hash]);
  await notes.deleteNote({ name: "Expected" });
});

/** Opens a stream, as soon as the daemon has noticed that earlier ones are closed. */
async function whenFree<T>(open: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + 5000; ; ) {
    try {
      return await open();
    } catch (thrown) {
      const isFull = thrown instanceof NoteweftError && thrown.reason === "TOO_MANY_STREAMS";
      if (!isFull || Date.now() > end) throw thrown;
      await new Promise((later) => setTimeout(later, 10));
    }
  }
}

test("abandoned streams are closed, and surplus ones refused with a reason", async () => {
  const small = await Daemon.open(`server.max_streams=${MAX_STREAMS}`);
  const client = connect({ address: small.address });
  try {
    for (let n = 0; n < 3 * MAX_STREAMS; n++) await whenFree(() => first(client.watchGenerations({})));
    const streams = [];
    for (let n = 0; n < CLIENT_STREAMS; n++) {
      const stream = await whenFree(async () => {
        const opened = client.watchGenerations({})[Symbol.asyncIterator]();
        await opened.next();
        return opened;
      });
      streams.push(stream);
    }
    const refused = await failure(first(client.watchGenerations({})));
    assert.deepEqual([refused.code, refused.reason], [Code.ResourceExhausted, "TOO_MANY_STREAMS"]);
    for (const stream of streams) await stream.return?.();
  } finally {
    client.close();
    await small.end();
  }
});

test("caller may abort a call and a stream", async () => {
  const abort = new AbortController();
  const waiting = failure(notes.search({ query: "leap", minGeneration: FUTURE }, { signal: abort.signal }));
  const streaming = failure(collect(notes.watchGenerations({}, { signal: abort.signal })));
  setTimeout(() => abort.abort(), 100);
  assert.equal((await waiting).code, Code.Canceled);
  assert.equal((await streaming).code, Code.Canceled);
});
