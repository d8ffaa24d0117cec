// Why an expected note is missing from the hits.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { address, updateParams, noteAddress } from "../address";
import { useAnswer } from "../use-answer";
import { MissReason, type SearchRequestSchema, type WhyNotResponse } from "../contract/noteweft/v1/search_pb";
import { search } from "../daemon";
import { Failed, Warnings, Waiting } from "./failure";
import { ScoreBar, ScoreTable } from "./score";

/** Debounce of requests while typing, in milliseconds. */
const PAUSE = 250;

/** The stages that a note passes on its way to the hits, in order. */
const STAGES = ["in the index", "passes the filter", "satisfies + and - of the query", "is a candidate", "is among the hits"] as const;

/** Returns the number of stages that a note passed. */
function passed(missReason: MissReason): number {
  switch (missReason) {
    case MissReason.UNSPECIFIED:
    case MissReason.NOT_INDEXED:
      return 0;
    case MissReason.FILTER:
      return 1;
    case MissReason.EXCLUDED:
      return 2;
    case MissReason.VECTOR_PENDING:
    case MissReason.CANDIDATE_LIMIT:
    case MissReason.EXPANSION_FLOOR:
    case MissReason.SEED_LIMIT:
    case MissReason.FANOUT_LIMIT:
    case MissReason.NO_MATCH:
      return 3;
    case MissReason.ZERO_WEIGHT:
    case MissReason.LIMIT:
      return 4;
    case MissReason.NONE:
      return 5;
  }
}

/** Asks for a note by name and shows at which stage of `request` it was dropped; `requestKey` identifies the request. */
export function WhyNot({ request, requestKey, params }: { request: () => MessageInitShape<typeof SearchRequestSchema>; requestKey: string; params: URLSearchParams }) {
  const name = (params.get("not") ?? "").trim();
  const ask = async (signal: AbortSignal) => search.whyNot({ note: name, search: request() }, { signal });
  const { answer, failure, stale, again } = useAnswer(name === "" ? null : `${name} ${requestKey}`, ask, PAUSE);
  return (
    <section class="explained" aria-label="Why a note is not found">
      <label>
        <span>Which note is missing?</span>
        <input
          id="missing"
          value={params.get("not") ?? ""}
          placeholder="its title, path or alias"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => updateParams({ not: event.currentTarget.value })}
        />
      </label>
      {failure !== undefined && <Failed failure={failure} again={again} offer={(uri) => address("search", [...params].map(([key, value]) => [key, key === "not" ? uri : value]))} />}
      {name !== "" && answer === undefined && failure === undefined && <Waiting lines={2} />}
      {name !== "" && answer !== undefined && <Verdict answer={answer} stale={stale} />}
    </section>
  );
}

function Verdict({ answer, stale }: { answer: WhyNotResponse; stale: boolean }) {
  const { note, missReason, reason, margin, rank, hit, warnings } = answer;
  const n = passed(missReason);
  return (
    <div class={`verdict ${stale ? "stale" : ""}`}>
      <p class="head">
        {note !== undefined && missReason !== MissReason.NOT_INDEXED ? <a href={noteAddress(note.uri)} dir="auto">{note.title}</a> : <b dir="auto">{note?.title || note?.uri}</b>}
        {hit !== undefined && <ScoreBar hit={hit} />}
      </p>
      <p role="status">{reason.charAt(0).toUpperCase() + reason.slice(1)}.</p>
      <ol class="plain stages">
        {STAGES.map((stage, at) => (
          <li key={stage} class={at < n ? "passed" : at === n ? "dropped" : ""}>
            {at <= n && <span class="unseen">{at < n ? "yes: " : "no: "}</span>}
            {stage}
          </li>
        ))}
      </ol>
      <p class="faint">
        {margin !== undefined && `It missed the threshold by ${margin.toFixed(3)}. `}
        {rank !== undefined && (missReason === MissReason.NONE || missReason === MissReason.LIMIT ? `Its rank is ${rank}. ` : `Otherwise its rank would be ${rank}. `)}
        <Warnings warnings={warnings} />
      </p>
      {hit !== undefined && <ScoreTable hit={hit} />}
    </div>
  );
}
