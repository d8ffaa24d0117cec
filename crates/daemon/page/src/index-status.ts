// Status of the index, and each generation as it is published, while the page is visible.

import { create } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { admin, failure, notes, token, type Failure } from "./daemon";
import { Phase, WatchGenerationsResponseSchema, type StatusResponse, type WatchGenerationsResponse } from "./contract/noteweft/v1/admin_pb";

/** The latest status. */
export const status = signal<StatusResponse | undefined>(undefined);

/** Returns the vault of a uri, if several are served and the status is known. */
export function vaultOf(uri: string): string | undefined {
  const vaults = status.value?.vaults ?? [];
  return vaults.length > 1 ? vaults.find(({ name }) => uri.startsWith(`${name}:`))?.name : undefined;
}

/** Why the last status request failed. */
export const away = signal<Failure | undefined>(undefined);

/** A generation and its time of publication, which is unknown for the one that was current when the page opened. */
export interface Publication {
  readonly at?: Date;
  readonly published: WatchGenerationsResponse;
}

/** The generation current when the page opened and those published since, newest first. */
export const publications = signal<readonly Publication[]>([]);

/** Maximum number of publications kept. */
const MAX_PUBLICATIONS = 50;

/** Counter of new generations; views repeat their requests when it changes. */
export const indexChanges = signal(0);

/** Oldest generation of the answers that arrived before the first status. */
let firstGeneration: bigint | undefined;

/** The status compared with which an answer was outdated on arrival, so that each status triggers at most one refresh. */
let refreshedFor: StatusResponse | undefined;

/** Records the generation of an answer; if the current or next status reports a newer one, views repeat their requests. */
export function noteAnswer(answer: unknown): void {
  if (typeof answer !== "object" || answer === null || !("generation" in answer) || typeof answer.generation !== "bigint") return;
  const { generation } = answer;
  const known = status.value;
  if (known === undefined) {
    if (firstGeneration === undefined || generation < firstGeneration) firstGeneration = generation;
  } else if (generation < known.generation && refreshedFor !== known) {
    refreshedFor = known;
    indexChanges.value += 1;
  }
}

function updateStatus(answer: StatusResponse): void {
  const before = status.value?.generation ?? firstGeneration;
  if (before !== undefined && before !== answer.generation) indexChanges.value += 1;
  status.value = answer;
  if (navigator.locks === undefined) record(create(WatchGenerationsResponseSchema, { generation: answer.generation, digest: answer.digest, noteCount: answer.noteCount, pendingVectorCount: answer.pendingVectorCount }));
}

/** Interval of status requests, in milliseconds: while the writer is busy, while it is idle, and while the daemon is unreachable. */
const BUSY = 500;
const IDLE = 5000;
const UNREACHABLE = 1000;

/** Returns whether this client may not request the status, so that frequent retries are pointless. */
const isRefused = (): boolean => away.value?.kind === "forbidden" || away.value?.kind === "token";

/** Last known generation of a client that may not request the status. */
let observedGeneration: bigint | undefined;

/** Without permission for the status, reads the generation from another response. */
async function observeGeneration(): Promise<void> {
  try {
    const { generation } = await notes.listNotes({ pageSize: 1 });
    const before = observedGeneration ?? firstGeneration;
    if (before !== undefined && before !== generation) indexChanges.value += 1;
    observedGeneration = generation;
  } catch {
    // The views report the error.
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Requests the status, and schedules the next request. */
async function refresh(): Promise<void> {
  clearTimeout(timer);
  let next = IDLE;
  try {
    const answer = await admin.status({});
    updateStatus(answer);
    away.value = undefined;
    void follow();
    if (answer.phase !== Phase.READY) next = BUSY;
  } catch (thrown) {
    away.value = failure(thrown);
    if (away.value?.kind === "forbidden") await observeGeneration();
    next = isRefused() ? IDLE : UNREACHABLE;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(refresh, next);
}

/** Messages between windows of one daemon: a published generation, or a request for the newest. */
const windows = new BroadcastChannel("weft-generations");
windows.onmessage = ({ data }: MessageEvent<WatchGenerationsResponse | "newest">) => {
  // A window that becomes visible again requests the newest generation.
  if (document.hidden) return;
  const newest = publications.value[0]?.published;
  if (data !== "newest") receive(data);
  else if (leading && newest !== undefined) windows.postMessage(newest);
};

/** True if this window follows the generations for all windows. */
let leading = false;

/** Records a generation, and returns whether it differs from the last one. */
function record(generation: WatchGenerationsResponse): boolean {
  const [newest] = publications.value;
  if (newest?.published.generation === generation.generation) return false;
  publications.value = [{ at: newest === undefined ? undefined : new Date(), published: generation }, ...publications.value].slice(0, MAX_PUBLICATIONS);
  return true;
}

/** Records a generation and requests the status if it is new. */
function receive(generation: WatchGenerationsResponse): void {
  if (record(generation)) void refresh();
}

/** Watches generations while the page is visible; a stream that ends is reopened. */
async function lead(): Promise<void> {
  leading = true;
  while (!document.hidden && !isRefused()) {
    const stopped = new AbortController();
    const stop = () => stopped.abort();
    document.addEventListener("visibilitychange", stop, { once: true });
    try {
      // A stream has no deadline.
      for await (const generation of admin.watchGenerations({ after: publications.value[0]?.published.generation }, { signal: stopped.signal, timeoutMs: 0 })) {
        receive(generation);
        windows.postMessage(generation);
      }
    } catch {
      // The next status request reports the error.
    }
    document.removeEventListener("visibilitychange", stop);
    await new Promise((rested) => setTimeout(rested, UNREACHABLE));
  }
  leading = false;
}

let following = false;

/**
 * Follows the generations on behalf of all windows of this daemon: a browser opens at most six connections per host, and a stream occupies one.
 *
 * If windows cannot coordinate, as over plain HTTP from another machine, each polls the status instead.
 */
async function follow(): Promise<void> {
  if (following || navigator.locks === undefined) return;
  following = true;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  document.addEventListener("visibilitychange", stop, { once: true });
  windows.postMessage("newest");
  // The leading window stops when it is hidden; then the next window takes over.
  await navigator.locks.request("weft-generations", { signal: stopped.signal }, lead).catch(() => undefined);
  document.removeEventListener("visibilitychange", stop);
  following = false;
}

/** Starts status requests and notifications; pauses while the page is hidden. */
export function begin(): void {
  const resume = () => {
    if (document.hidden) return;
    void refresh();
    void follow();
  };
  // Another token may have more permissions.
  token.subscribe(resume);
  document.addEventListener("visibilitychange", resume);
}

/** Returns the activity of the writer in words. */
export function phaseName(phase: Phase): string {
  switch (phase) {
    case Phase.OPENING:
      return "opening";
    case Phase.SCANNING:
      return "scanning";
    case Phase.INDEXING:
      return "indexing";
    case Phase.EMBEDDING:
      return "embedding";
    case Phase.READY:
      return "up to date";
    case Phase.UNSPECIFIED:
      return "unknown";
  }
}
