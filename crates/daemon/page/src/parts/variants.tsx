// The same context, packed by each profile, side by side.

import { useAnswer } from "../use-answer";
import type { AssembleResponse, PackingProfile } from "../contract/noteweft/v1/context_pb";
import { count, counted } from "../text";
import { Failed, Waiting } from "./failure";
import { PACKINGS } from "./packing";

/** Debounce of the requests, in milliseconds; longer than that of the context itself. */
const PAUSE = 300;

export function Variants({ assemble, requestKey }: { assemble: (packing: PackingProfile, signal: AbortSignal) => Promise<AssembleResponse>; requestKey: string }) {
  const { answer, failure, stale, again } = useAnswer(requestKey, (signal) => Promise.all(PACKINGS.map(([, , packing]) => assemble(packing, signal))), PAUSE);
  return (
    <>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting />}
      {answer !== undefined && (
        <div class={`columns-3 ${stale ? "stale" : ""}`}>
          {PACKINGS.map(([name, label, , meaning], nth) => (
            <Variant key={name} label={label} meaning={meaning} answer={answer[nth]} />
          ))}
        </div>
      )}
    </>
  );
}

function Variant({ label, meaning, answer }: { label: string; meaning: string; answer: AssembleResponse | undefined }) {
  if (answer === undefined) return null;
  return (
    <section class="variant">
      <h3>
        {label} <small>{meaning}</small>
      </h3>
      <p class="faint">
        {counted(answer.items.length, "note")}, {count(answer.used)} of {count(answer.budget)} used
      </p>
      <pre class="rendered" tabIndex={0} role="region" aria-label={`${label}: rendered text`}>
        {answer.rendered || "Empty."}
      </pre>
    </section>
  );
}
