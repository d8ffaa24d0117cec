// The text that a greater budget adds to a context.

import { noteAddress } from "../address";
import { useAnswer } from "../use-answer";
import { ContextMode, type AssembleResponse, type ContextItem, type PassageReport } from "../contract/noteweft/v1/context_pb";
import { outside, type Range } from "../spans";
import { count, counted, part } from "../text";
import { Failed, Waiting } from "./failure";
import { belowTitle, firstWords, hasProse, modeName } from "./packing";
import { isShown, within } from "./passages";

/** Step between the budgets, in tokens, and number of steps. */
export const STEP = 500;
const STEPS = 3;

/** Maximum number of notes per step, and of passages per note, that are listed. */
const MAX_NOTES = 12;
const MAX_PASSAGES = 6;

/** Debounce of the requests, in milliseconds; longer than that of the context itself. */
const PAUSE = 300;

/** Requests contexts of the current budget and of greater ones; all belong to the same request, so their differences are consistent. */
export function MoreTokens({ budget, assemble, requestKey }: { budget: number; assemble: (budget: number, signal: AbortSignal) => Promise<AssembleResponse>; requestKey: string }) {
  const budgets = Array.from({ length: STEPS + 1 }, (_, nth) => budget + nth * STEP);
  const { answer, failure, stale, again } = useAnswer(requestKey, (signal) => Promise.all(budgets.map((each) => assemble(each, signal))), PAUSE);
  return (
    <>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting />}
      {answer !== undefined && (
        <ol class={`plain columns-3 ${stale ? "stale" : ""}`}>
          {answer.slice(1).map((after, nth) => {
            const before = answer[nth];
            return before === undefined ? null : <Step key={nth} before={before} after={after} />;
          })}
        </ol>
      )}
    </>
  );
}

function Step({ before, after }: { before: AssembleResponse; after: AssembleResponse }) {
  const gains = gainsOf(before, after);
  const lost = gainsOf(after, before);
  const nNotes = gains.filter((gain) => gain.before === undefined).length;
  const nPassages = gains.reduce((sum, gain) => sum + gain.passages.length, 0);
  return (
    <li>
      <h3>
        From {count(before.budget)} to {count(after.budget)} tokens <small>{count(after.used)} used</small>
      </h3>
      <p class="faint">{gains.length === 0 ? "Nothing is added." : `Adds ${counted(nPassages, "passage")}${nNotes === 0 ? "" : `; ${counted(nNotes, "new note")}`}.`}</p>
      <ul class="plain gains">
        {gains.slice(0, MAX_NOTES).map((gain) => (
          <GainedNote key={gain.item.uri} gain={gain} />
        ))}
        {gains.length > MAX_NOTES && <li class="faint">and {counted(gains.length - MAX_NOTES, "more note")}</li>}
      </ul>
      {lost.length > 0 && (
        <p class="faint">
          In exchange, less of: <bdi>{lost.slice(0, MAX_NOTES).map(({ item }) => item.title).join(", ")}</bdi>
          {lost.length > MAX_NOTES && " …"}
        </p>
      )}
    </li>
  );
}

/** A note of which `after` shows more than `before`. */
interface Gain {
  readonly item: ContextItem;
  readonly before: ContextItem | undefined;
  readonly passages: readonly GainedPassage[];
}

interface GainedPassage {
  readonly range: Range;
  /** What is known of the passage; absent with the profile `classic`. */
  readonly report?: PassageReport;
}

/** Returns the notes of which `after` shows more than `before`, best first. */
function gainsOf(before: AssembleResponse, after: AssembleResponse): Gain[] {
  const earlier = new Map(before.items.map((item) => [item.uri, item]));
  const reports = Map.groupBy(after.passages, (report) => report.uri);
  return after.items
    .map((item) => {
      const old = earlier.get(item.uri);
      return { item, before: old, passages: gainedPassages(old, item, reports.get(item.uri) ?? []) };
    })
    .filter((gain) => gain.before === undefined || gain.passages.length > 0);
}

function gainedPassages(before: ContextItem | undefined, after: ContextItem, reports: readonly PassageReport[]): GainedPassage[] {
  if (after.mode === ContextMode.STRUCTURAL) return [];
  // The blocks of an outline are heading lines, which the text below them contains again.
  const old = before === undefined || before.mode === ContextMode.STRUCTURAL ? [] : before.blocks;
  // White space between joined passages and the headings above them are not additions.
  const added = outside(after.blocks, old).filter((range) => hasProse(after, range));
  const found = reports.filter(isShown).flatMap((report) => {
    const range = within(report, added);
    return range === undefined || !hasProse(after, range) ? [] : [{ range, report }];
  });
  return found.length > 0 ? found : added.map((range) => ({ range }));
}

function GainedNote({ gain: { item, before, passages } }: { gain: Gain }) {
  const mode = modeName(item.mode);
  const change = before === undefined || before.mode === item.mode ? mode : `${modeName(before.mode)} → ${mode}`;
  const tokens = Number(item.tokens) - Number(before?.tokens ?? 0);
  return (
    <li>
      <span class={`swatch mode-${mode}`} aria-hidden="true" />
      <a href={noteAddress(item.uri)} dir="auto">{item.title}</a>{" "}
      <small>
        {before === undefined && "new, "}
        {change}, {tokens > 0 && "+"}
        {counted(tokens, "token")}
      </small>
      {passages.length > 0 && (
        <ul class="plain">
          {passages.slice(0, MAX_PASSAGES).map(({ range, report }) => (
            <li key={range.start}>
              <GainedText item={item} range={range} report={report} />
            </li>
          ))}
          {passages.length > MAX_PASSAGES && <li class="faint">and {counted(passages.length - MAX_PASSAGES, "more passage")}</li>}
        </ul>
      )}
    </li>
  );
}

function GainedText({ item, range, report }: { item: ContextItem; range: Range; report: PassageReport | undefined }) {
  const headings = belowTitle(report?.headingPath ?? [], item.title);
  return (
    <>
      {headings !== "" && <span dir="auto">{headings} </span>}
      <q dir="auto">{firstWords(item, range) || `characters ${count(range.start)}–${count(range.end)}`}</q>
      {report !== undefined && <small> evidence {part(report.evidence)}</small>}
    </>
  );
}
