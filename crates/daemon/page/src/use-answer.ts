// Requests that follow the state of the page: debounced, and cancelled when they are outdated.

import { useEffect, useRef, useState } from "preact/hooks";
import { failure, token, type Failure } from "./daemon";
import { indexChanges, noteAnswer } from "./index-status";

/** State of a request. */
export interface QueryState<T> {
  /** Answer to this request; while it is pending, the answer to the previous one; absent if it failed. */
  readonly answer?: T;
  /** Why there is no answer, or no newer one. */
  readonly failure?: Failure;
  /** True if the request is pending. */
  readonly waiting: boolean;
  /** True if the answer is outdated: a newer request is pending or has failed. */
  readonly stale: boolean;
  /** Sends the request again. */
  readonly again: () => void;
}

/** Delay between retries while the daemon is unreachable or opening its index, in milliseconds. */
const RETRY_DELAY = 1000;

/**
 * Sends a request whenever `key` changes: the first time immediately, then `pause` milliseconds after the last change; `null` sends nothing.
 *
 * Each new generation of the index repeats the request immediately. A request that is replaced by a newer one is cancelled, on the daemon as well.
 * While the daemon is unreachable, the request is retried automatically.
 */
export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, pause = 0): QueryState<T> {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<{ key: string | null; answer?: T; failure?: Failure; waiting: boolean }>({ key: null, waiting: key !== null });
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    if (key === null) {
      setState({ key, waiting: false });
      return;
    }
    const controller = new AbortController();
    let timer = setTimeout(
      async () => {
        try {
          const answer = await latest.current(controller.signal);
          noteAnswer(answer);
          if (!controller.signal.aborted) setState({ key, answer, waiting: false });
        } catch (thrown) {
          const why = failure(thrown);
          if (why === undefined || controller.signal.aborted) return;
          // An answer to another request, or for a note that no longer exists, is discarded.
          setState((before) => ({ key, answer: before.key === key && why.kind !== "unknown" ? before.answer : undefined, failure: why, waiting: false }));
          if (why.kind === "unreachable" || why.kind === "opening") timer = setTimeout(() => setTries((n) => n + 1), RETRY_DELAY);
        }
      },
      state.key === null || state.key === key ? 0 : pause,
    );
    setState((before) => ({ ...before, waiting: true }));
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, tries, token.value, indexChanges.value]);

  const again = () => setTries((n) => n + 1);
  // The state may belong to an earlier request; without a key there is no answer.
  if (key === null) return { waiting: false, stale: false, again };
  const { answer, failure: why } = state;
  const waiting = state.waiting || state.key !== key;
  return { answer, failure: why, waiting, stale: waiting || why !== undefined, again };
}

/** Collects all messages of a stream. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const messages: T[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}
