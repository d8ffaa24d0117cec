// How the index is, asked for as long as somebody looks.

import { signal } from "@preact/signals";
import { admin, failure, type Failure } from "./daemon";
import { Phase, type StatusResponse } from "./contract/noteweft/v1/admin_pb";

/** The last status that arrived. */
export const status = signal<StatusResponse | undefined>(undefined);

/** Why the last question for it had no answer. */
export const away = signal<Failure | undefined>(undefined);

/** How often a new generation was published while the page looked; views ask again when it changes. */
export const news = signal(0);

function learn(answer: StatusResponse): void {
  if (status.value !== undefined && status.value.generation !== answer.generation) news.value += 1;
  status.value = answer;
}

/** Between two questions, in milliseconds: while something happens, and while nothing does. */
const BUSY = 500;
const QUIET = 2500;

async function ask(): Promise<void> {
  let next = QUIET;
  if (!document.hidden) {
    try {
      const answer = await admin.status({});
      learn(answer);
      away.value = undefined;
      if (answer.phase !== Phase.READY) next = BUSY;
    } catch (thrown) {
      away.value = failure(thrown);
      next = 1000;
    }
  }
  setTimeout(ask, next);
}

/** Begins to ask. */
export function begin(): void {
  void ask();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void admin.status({}).then(learn, () => undefined);
  });
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
      return "embedding";
    case Phase.READY:
      return "up to date";
    case Phase.UNSPECIFIED:
      return "unknown";
  }
}
