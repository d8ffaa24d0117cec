// The passages that were considered for a context, with their evidence and price.

import { useState } from "preact/hooks";
import { noteAddress } from "../address";
import { PassageOutcome, type AssembleResponse, type ContextItem, type PassageReport } from "../contract/noteweft/v1/context_pb";
import { common, textOf, type Range } from "../spans";
import { count, counted, part } from "../text";
import { belowTitle, firstWords } from "./packing";

/** Number of notes that are open, and number of notes that are listed, by default. */
const OPEN = 3;
const LISTED = 10;

/** Number of passages of a note that are listed by default: those in the context, then those with the most evidence. */
const MAX_PASSAGES = 12;

const NOTHING: Range = { start: 0, end: 0 };

/** Returns whether the context contains a passage, at least in part. */
export const isShown = ({ outcome }: PassageReport): boolean => outcome === PassageOutcome.INCLUDED || outcome === PassageOutcome.CUT;

function outcomeName(outcome: PassageOutcome): string {
  switch (outcome) {
    case PassageOutcome.INCLUDED:
      return "included";
    case PassageOutcome.CUT:
      return "cut";
    case PassageOutcome.BUDGET:
      return "does not fit";
    case PassageOutcome.DUPLICATE:
      return "duplicate";
    case PassageOutcome.UNSPECIFIED:
      return "";
  }
}

export function Passages({ answer }: { answer: AssembleResponse }) {
  const [all, setAll] = useState(false);
  /** Notes that the user opened or closed. */
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const byNote = [...Map.groupBy(answer.passages, (passage) => passage.uri)];
  if (byNote.length === 0) return null;
  const items = new Map(answer.items.map((item) => [item.uri, item]));
  return (
    <section class="part">
      <h2>
        Passages{" "}
        <small>
          {counted(answer.passages.length, "passage")} of {counted(byNote.length, "note")} considered, {count(answer.passages.filter(isShown).length)} in the context
        </small>
      </h2>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Passages">
        <table class="passages">
          <thead>
            <tr>
              <th scope="col">Passage</th>
              <th scope="col" title="How well it answers the query">Evidence</th>
              <th scope="col" class="value" title="Evidence and score of the note together; the choice goes by value and price">Value</th>
              <th scope="col" title="Price of the whole passage; of a note, what it costs in this context">Tokens</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          {byNote.slice(0, all ? undefined : LISTED).map(([uri, passages], nth) => (
            <NotePassages
              key={uri}
              uri={uri}
              passages={passages}
              item={items.get(uri)}
              open={folds.get(uri) ?? nth < OPEN}
              fold={(open) => setFolds((before) => new Map(before).set(uri, open))}
            />
          ))}
        </table>
      </div>
      {byNote.length > LISTED && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `Show the first ${LISTED} notes` : `Show all ${count(byNote.length)} notes`}
        </button>
      )}
    </section>
  );
}

/** The passages of one note; without `item`, the note is omitted and its title unknown. */
function NotePassages({ uri, passages, item, open, fold }: { uri: string; passages: readonly PassageReport[]; item: ContextItem | undefined; open: boolean; fold: (open: boolean) => void }) {
  const [all, setAll] = useState(false);
  const shown = passages.filter(isShown);
  const title = item?.title ?? uri;
  const listed = all ? passages : mostRelevant(passages);
  return (
    <tbody>
      <tr class="note-row">
        <th scope="rowgroup" colSpan={2}>
          <button type="button" class="fold" aria-expanded={open} onClick={() => fold(!open)}>
            <span dir="auto">{title}</span>
          </button>
        </th>
        <td class="value" />
        <td>{count(item?.tokens ?? 0)}</td>
        <td>
          {count(shown.length)} of {count(passages.length)}
        </td>
      </tr>
      {open && listed.map((passage) => <Passage key={passage.span?.start} passage={passage} item={item} title={title} />)}
      {open && (
        <tr>
          <td colSpan={5} class="actions">
            <a href={noteAddress(uri)} aria-label={`Open the note ${title}`}>Open the note</a>
            {passages.length > MAX_PASSAGES && (
              <button type="button" class="link" onClick={() => setAll(!all)}>
                {all ? "Show fewer passages" : `Show all ${count(passages.length)} passages`}
              </button>
            )}
          </td>
        </tr>
      )}
    </tbody>
  );
}

/** Position of each outcome among the listed passages; the others follow by their evidence. */
const precedence = ({ outcome }: PassageReport): number => (outcome === PassageOutcome.INCLUDED ? 0 : outcome === PassageOutcome.CUT ? 1 : 2);

/** Returns the passages that are listed by default, in the order of the note. */
function mostRelevant(passages: readonly PassageReport[]): readonly PassageReport[] {
  if (passages.length <= MAX_PASSAGES) return passages;
  const ranked = [...passages].sort((a, b) => precedence(a) - precedence(b) || b.evidence - a.evidence);
  const chosen = new Set(ranked.slice(0, MAX_PASSAGES));
  return passages.filter((passage) => chosen.has(passage));
}

function Passage({ passage, item, title }: { passage: PassageReport; item: ContextItem | undefined; title: string }) {
  const span = passage.span ?? NOTHING;
  const words = item !== undefined && isShown(passage) ? firstWords(item, span) : "";
  const headings = belowTitle(passage.headingPath, title);
  return (
    <tr class={isShown(passage) ? "chosen" : ""}>
      <th scope="row">
        {headings !== "" && <span dir="auto">{headings} </span>}
        <small>{place(span, item)}</small>
        {words !== "" && <q dir="auto">{words}</q>}
      </th>
      <td>
        <span class="evidence">
          <span class="track" aria-hidden="true">
            <span style={{ width: `${100 * passage.evidence}%` }} />
          </span>
          {part(passage.evidence)}
        </span>
      </td>
      <td class="value">{part(passage.value)}</td>
      <td>{count(passage.tokens)}</td>
      <td class="outcome">{outcomeName(passage.outcome)}</td>
    </tr>
  );
}

/** Returns the lines of a passage in the body, or of its part in the context; its characters if the context contains none of it. */
function place(span: Range, item: ContextItem | undefined): string {
  for (const shown of item?.passages ?? []) {
    const inside = common(span, shown.span ?? NOTHING);
    if (item === undefined || shown.span === undefined || inside === undefined) continue;
    const first = shown.firstLine + breaks(item, { start: shown.span.start, end: inside.start });
    // A passage ends before its last line break.
    const last = Math.min(shown.lastLine, first + breaks(item, inside));
    return first === last ? `line ${count(first)}` : `lines ${count(first)}–${count(last)}`;
  }
  return `characters ${count(span.start)}–${count(span.end)}`;
}

/** Returns the number of line breaks in a range of a body. */
const breaks = (item: ContextItem, range: Range): number => textOf(item.text, item.blocks, range).split("\n").length - 1;

/** Returns the part of a passage that lies in one of `ranges`. */
export function within({ span }: PassageReport, ranges: readonly Range[]): Range | undefined {
  for (const range of ranges) {
    const inside = common(span ?? NOTHING, range);
    if (inside !== undefined) return inside;
  }
  return undefined;
}
