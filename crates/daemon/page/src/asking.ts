// Questions that follow what the page shows: asked after a pause, taken back when they are no longer wanted.

import { useEffect, useRef, useState } from "preact/hooks";
import { failure, token, type Failure } from "./daemon";

/** What is known of a question. */
export interface Asked<T> {
  /** The answer to this question, or to the one before while this one waits. */
  readonly answer?: T;
  /** Why there is none. */
  readonly failure?: Failure;
  /** Whether an answer is on its way. */
  readonly waiting: boolean;
  /** Asks once more. */
  readonly again: () => void;
}

/** Between two tries of a daemon that is away or still opening, in milliseconds. */
const PATIENCE = 1000;

/**
 * Asks whenever `key` changes: the first time at once, then `pause` milliseconds after the last change; `null` asks nothing.
 *
 * A question that a newer one overtakes is cancelled, at the daemon too. While the daemon is away it is asked again by itself.
 */
export function useAnswer<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, pause = 0): Asked<T> {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<{ key: string | null; answer?: T; failure?: Failure; waiting: boolean }>({ key: null, waiting: key !== null });
  const latest = useRef(ask);
  latest.current = ask;
  const secret = token.value;

  useEffect(() => {
    if (key === null) {
      setState({ key, waiting: false });
      return;
    }
    const controller = new AbortController();
    let timer = setTimeout(() => {
      latest.current(controller.signal).then(
        (answer) => {
          if (!controller.signal.aborted) setState({ key, answer, waiting: false });
        },
        (thrown) => {
          const why = failure(thrown);
          if (why === undefined || controller.signal.aborted) return;
          setState((before) => ({ key, answer: before.answer, failure: why, waiting: false }));
          if (why.kind === "unreachable" || why.kind === "opening") {
            timer = setTimeout(() => setTries((n) => n + 1), PATIENCE);
          }
        },
      );
    }, state.key === null ? 0 : pause);
    setState((before) => ({ ...before, waiting: true }));
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, tries, secret]);

  const again = () => setTries((n) => n + 1);
  return { answer: state.answer, failure: state.failure, waiting: state.waiting, again };
}

/** All pieces of a stream. */
export async function gather<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const pieces: T[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}
