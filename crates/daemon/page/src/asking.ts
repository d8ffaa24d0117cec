// Questions that follow what the page shows: asked after a pause, taken back when they are no longer wanted.

import { useEffect, useRef, useState } from "preact/hooks";
import { failure, token, type Failure } from "./daemon";
import { meet, news } from "./pulse";

/** What is known of a question. */
export interface Asked<T> {
  /** The answer to this question; to the one before while this one waits, never once it failed. */
  readonly answer?: T;
  /** Why there is none, or none newer. */
  readonly failure?: Failure;
  /** Whether an answer is on its way. */
  readonly waiting: boolean;
  /** Whether the answer at hand is an old one: another is on its way, or failed to come. */
  readonly stale: boolean;
  /** Asks once more. */
  readonly again: () => void;
}

/** Between two tries of a daemon that is away or still opening, in milliseconds. */
const PATIENCE = 1000;

/**
 * Asks whenever `key` changes: the first time at once, then `pause` milliseconds after the last change; `null` asks nothing.
 *
 * The same is asked again, at once, of each new state of the index. A question that a newer one overtakes is cancelled, at the daemon too.
 * While the daemon is away it is asked again by itself.
 */
export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, pause = 0): Asked<T> {
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
          meet(answer);
          if (!controller.signal.aborted) setState({ key, answer, waiting: false });
        } catch (thrown) {
          const why = failure(thrown);
          if (why === undefined || controller.signal.aborted) return;
          // What another question brought, or what is no longer there, is no answer to this one.
          setState((before) => ({ key, answer: before.key === key && why.kind !== "unknown" ? before.answer : undefined, failure: why, waiting: false }));
          if (why.kind === "unreachable" || why.kind === "opening") timer = setTimeout(() => setTries((n) => n + 1), PATIENCE);
        }
      },
      state.key === null || state.key === key ? 0 : pause,
    );
    setState((before) => ({ ...before, waiting: true }));
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, tries, token.value, news.value]);

  const again = () => setTries((n) => n + 1);
  // What is known already may be of a question before; where none is asked, nothing is.
  if (key === null) return { waiting: false, stale: false, again };
  const { answer, failure: why } = state;
  const waiting = state.waiting || state.key !== key;
  return { answer, failure: why, waiting, stale: waiting || why !== undefined, again };
}

/** All pieces of a stream. */
export async function gather<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const pieces: T[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}
