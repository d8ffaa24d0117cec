// How the index is, and each generation as it is published, for as long as somebody looks.

import { create } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { admin, failure, notes, token, type Failure } from "./daemon";
import { Phase, WatchGenerationsResponseSchema, type StatusResponse, type WatchGenerationsResponse } from "./contract/noteweft/v1/admin_pb";

/** The last status that arrived. */
export const status = signal<StatusResponse | undefined>(undefined);

/** The vault that a uri begins with, where several are served and the status is known. */
export function vaultOf(uri: string): string | undefined {
  const vaults = status.value?.vaults ?? [];
  return vaults.length > 1 ? vaults.find(({ name }) => uri.startsWith(`${name}:`))?.name : undefined;
}

/** Why the last question for it had no answer. */
export const away = signal<Failure | undefined>(undefined);

/** A generation, and when it was published; nothing for the one that was there when the page came. */
export interface Publication {
  readonly at?: Date;
  readonly told: WatchGenerationsResponse;
}

/** The generation that the page met and those published since, the newest first. */
export const published = signal<readonly Publication[]>([]);

/** Publications kept. */
const KEPT = 50;

/** How often a new generation was published while the page looked; views ask again when it changes. */
export const news = signal(0);

/** The oldest generation that an answer was of, where answers came before any status. */
let met: bigint | undefined;

/** The status beside which an answer was old when it came, so that one status has everything asked again once. */
let outrun: StatusResponse | undefined;

/** Takes note of what an answer is of: where the status tells of a newer generation, then or next, views ask again. */
export function meet(answer: unknown): void {
  if (typeof answer !== "object" || answer === null || !("generation" in answer) || typeof answer.generation !== "bigint") return;
  const { generation } = answer;
  const known = status.value;
  if (known === undefined) {
    if (met === undefined || generation < met) met = generation;
  } else if (generation < known.generation && outrun !== known) {
    outrun = known;
    news.value += 1;
  }
}

function learn(answer: StatusResponse): void {
  const before = status.value?.generation ?? met;
  if (before !== undefined && before !== answer.generation) news.value += 1;
  status.value = answer;
  if (navigator.locks === undefined) note(create(WatchGenerationsResponseSchema, { generation: answer.generation, digest: answer.digest, nNotes: answer.nNotes, nVectorsPending: answer.nVectorsPending }));
}

/** Between two questions, in milliseconds: while something happens, while nothing does, and while the daemon is away. */
const BUSY = 500;
const QUIET = 5000;
const AWAY = 1000;

/** Whether the daemon does not tell this reader; asking again soon brings no more. */
const isRefused = (): boolean => away.value?.kind === "forbidden" || away.value?.kind === "token";

/** The generation of the last answer to a reader who may not ask for the status. */
let overheard: bigint | undefined;

/** Where the status is not for this reader, any answer says of which generation it is. */
async function overhear(): Promise<void> {
  try {
    const { generation } = await notes.listNotes({ pageSize: 1 });
    const before = overheard ?? met;
    if (before !== undefined && before !== generation) news.value += 1;
    overheard = generation;
  } catch {
    // Why there is no answer, the views say.
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Asks for the status, and again after a while. */
async function ask(): Promise<void> {
  clearTimeout(timer);
  let next = QUIET;
  try {
    const answer = await admin.status({});
    learn(answer);
    away.value = undefined;
    void follow();
    if (answer.phase !== Phase.READY) next = BUSY;
  } catch (thrown) {
    away.value = failure(thrown);
    if (away.value?.kind === "forbidden") await overhear();
    next = isRefused() ? QUIET : AWAY;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(ask, next);
}

/** What windows of one daemon tell each other: a generation that was published, or that one asks for the newest. */
const windows = new BroadcastChannel("weft-generations");
windows.onmessage = ({ data }: MessageEvent<WatchGenerationsResponse | "newest">) => {
  // Who looks again asks for the newest.
  if (document.hidden) return;
  const newest = published.value[0]?.told;
  if (data !== "newest") hear(data);
  else if (leading && newest !== undefined) windows.postMessage(newest);
};

/** Whether this window follows for all. */
let leading = false;

/** Takes note of a generation, and tells whether it is another than the last. */
function note(told: WatchGenerationsResponse): boolean {
  const [newest] = published.value;
  if (newest?.told.generation === told.generation) return false;
  published.value = [{ at: newest === undefined ? undefined : new Date(), told }, ...published.value].slice(0, KEPT);
  return true;
}

/** The same, with the status of another one. */
function hear(told: WatchGenerationsResponse): void {
  if (note(told)) void ask();
}

/** Hears of generations until nobody looks any more; a stream that ends is opened again. */
async function lead(): Promise<void> {
  leading = true;
  while (!document.hidden && !isRefused()) {
    const stopped = new AbortController();
    const stop = () => stopped.abort();
    document.addEventListener("visibilitychange", stop, { once: true });
    try {
      // A stream has no deadline.
      for await (const told of admin.watchGenerations({ after: published.value[0]?.told.generation }, { signal: stopped.signal, timeoutMs: 0 })) {
        hear(told);
        windows.postMessage(told);
      }
    } catch {
      // Why it ended, the next question for the status tells.
    }
    document.removeEventListener("visibilitychange", stop);
    await new Promise((rested) => setTimeout(rested, AWAY));
  }
  leading = false;
}

let following = false;

/**
 * Follows the generations, for all windows that look at this daemon: a browser opens six connections to one host, and a stream keeps one.
 *
 * Where windows cannot agree on one, as over plain http from another machine, none follows, and each asks for the status now and then.
 */
async function follow(): Promise<void> {
  if (following || navigator.locks === undefined) return;
  following = true;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  document.addEventListener("visibilitychange", stop, { once: true });
  windows.postMessage("newest");
  // Whoever leads stops where nobody looks at it; then it is the next one's turn.
  await navigator.locks.request("weft-generations", { signal: stopped.signal }, lead).catch(() => undefined);
  document.removeEventListener("visibilitychange", stop);
  following = false;
}

/** Begins to ask and to listen; rests while the page is hidden. */
export function begin(): void {
  const look = () => {
    if (document.hidden) return;
    void ask();
    void follow();
  };
  // Whoever comes with another token may be told more.
  token.subscribe(look);
  document.addEventListener("visibilitychange", look);
}

/** What the writer is doing, in words. */
export function phaseName(phase: Phase): string {
  switch (phase) {
    case Phase.OPENING:
      return "opening";
    case Phase.SCANNING:
      return "looking at files";
    case Phase.INDEXING:
      return "reading files";
    case Phase.EMBEDDING:
      return "making vectors";
    case Phase.READY:
      return "up to date";
    case Phase.UNSPECIFIED:
      return "unknown";
  }
}
