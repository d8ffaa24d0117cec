// Why a note that somebody expected is no hit.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { address, amend, noteAddress } from "../address";
import { useAnswer } from "../asking";
import { Loss, type SearchRequestSchema, type WhyNotResponse } from "../contract/noteweft/v1/search_pb";
import { search } from "../daemon";
import { Failed, Incomplete, Waiting } from "./failure";
import { ScoreBar, ScoreTable } from "./score";

/** How long typing must rest before a question goes out, in milliseconds. */
const PAUSE = 250;

/** The stages a note passes on its way to the hits, in order, and where each kind of loss happens. */
const STAGES = ["in the index", "passes the filter", "passes the query", "is a candidate", "is among the hits"] as const;

/** How many of the stages a note passed. */
function passed(loss: Loss): number {
  switch (loss) {
    case Loss.UNSPECIFIED:
    case Loss.NOT_INDEXED:
      return 0;
    case Loss.FILTER:
      return 1;
    case Loss.EXCLUDED:
      return 2;
    case Loss.VECTOR_PENDING:
    case Loss.CANDIDATES:
    case Loss.FLOOR:
    case Loss.SEEDS:
    case Loss.FANOUT:
    case Loss.NO_ANSWER:
      return 3;
    case Loss.WEIGHTS:
    case Loss.LIMIT:
      return 4;
    case Loss.NONE:
      return 5;
  }
}

/** Asks for a note by name, and shows at which stage of `request` it was lost; `requested` tells one request from another. */
export function Missing({ request, requested, asked }: { request: () => MessageInitShape<typeof SearchRequestSchema>; requested: string; asked: URLSearchParams }) {
  const name = (asked.get("not") ?? "").trim();
  const ask = async (signal: AbortSignal) => search.whyNot({ note: name, search: request() }, { signal });
  const { answer, failure, stale, again } = useAnswer(name === "" ? null : `${name} ${requested}`, ask, PAUSE);
  return (
    <section class="explained" aria-label="Why a note is not found">
      <label>
        <span>Which note is missing?</span>
        <input
          id="missing"
          value={asked.get("not") ?? ""}
          placeholder="its title, path or alias"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => amend({ not: event.currentTarget.value })}
        />
      </label>
      {failure !== undefined && <Failed failure={failure} again={again} offer={(uri) => address("search", [...asked].map(([key, value]) => [key, key === "not" ? uri : value]))} />}
      {name !== "" && answer === undefined && failure === undefined && <Waiting lines={2} />}
      {name !== "" && answer !== undefined && <Told answer={answer} stale={stale} />}
    </section>
  );
}

function Told({ answer, stale }: { answer: WhyNotResponse; stale: boolean }) {
  const { note, loss, reason, margin, rank, hit, degraded } = answer;
  const n = passed(loss);
  return (
    <div class={`told ${stale ? "stale" : ""}`}>
      <p class="head">
        {note !== undefined && loss !== Loss.NOT_INDEXED ? <a href={noteAddress(note.uri)} dir="auto">{note.title}</a> : <b dir="auto">{note?.title || note?.uri}</b>}
        {hit !== undefined && <ScoreBar hit={hit} />}
      </p>
      <p role="status">{reason.charAt(0).toUpperCase() + reason.slice(1)}.</p>
      <ol class="plain stages">
        {STAGES.map((stage, at) => (
          <li key={stage} class={at < n ? "passed" : at === n ? "lost" : ""}>
            {at <= n && <span class="unseen">{at < n ? "yes: " : "no: "}</span>}
            {stage}
          </li>
        ))}
      </ol>
      <p class="faint">
        {margin !== undefined && `It missed by ${margin.toFixed(3)}. `}
        {rank !== undefined && (loss === Loss.NONE || loss === Loss.LIMIT ? `Its rank is ${rank}. ` : `Let through, it would have had rank ${rank}. `)}
        <Incomplete degraded={degraded} />
      </p>
      {hit !== undefined && <ScoreTable hit={hit} />}
    </div>
  );
}
