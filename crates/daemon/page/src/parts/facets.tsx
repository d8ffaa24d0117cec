// Folders and tags of the matching notes with their counts, to narrow a search.

import { listed, paramsKey, quoted, unquoted, updateParams } from "../address";
import type { FacetValue } from "../contract/noteweft/v1/search_pb";
import { search } from "../daemon";
import { count } from "../text";
import { useAnswer } from "../use-answer";
import { FILTER, filterOf } from "./filters";

/** Maximum number of folders and of tags shown. */
const MOST = 12;

/** Debounce of requests while typing, in milliseconds; longer than that of the hits, which come first. */
const PAUSE = 250;

export function Facets({ query, params }: { query: string; params: URLSearchParams }) {
  const ask = async (signal: AbortSignal) => search.facets({ query, filter: filterOf(params), maxValues: MOST, prefixLastWord: true }, { signal });
  const { answer, stale } = useAnswer(paramsKey(params, ["q", ...FILTER]), ask, PAUSE);
  if (answer === undefined || answer.noteCount === 0n) return null;
  return (
    <div class={`facets ${stale ? "stale" : ""}`}>
      <Facet label="Folders" name="path" sign="" values={answer.folders} params={params} />
      <Facet label="Tags" name="tag" sign="#" values={answer.tags} params={params} />
    </div>
  );
}

function Facet({ label, name, sign, values, params }: { label: string; name: string; sign: string; values: readonly FacetValue[]; params: URLSearchParams }) {
  const chosen = listed(params.get(name)).map(unquoted);
  if (values.length === 0) return null;
  const toggle = (value: string) => {
    // Folders are alternatives, while a note must have all tags.
    const others = name === "path" ? [] : chosen.filter((other) => other !== value);
    const next = chosen.includes(value) ? others : [...others, value];
    updateParams({ [name]: next.map(quoted).join(", "), hit: null });
  };
  return (
    <fieldset>
      <legend>{label}</legend>
      {values.map(({ value, noteCount }) => (
        <button key={value} type="button" aria-pressed={chosen.includes(value)} onClick={() => toggle(value)}>
          <bdi>
            {sign}
            {value}
          </bdi>{" "}
          <small>{count(noteCount)}</small>
        </button>
      ))}
    </fieldset>
  );
}
