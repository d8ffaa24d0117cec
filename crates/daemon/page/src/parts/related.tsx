// The notes most worth reading around one, as many as a budget of tokens allows.

import { needed, neighbourAddress, saidBy, type Whole } from "../address";
import { useAnswer } from "../asking";
import { Relation, type RelatedNote } from "../contract/noteweft/v1/graph_pb";
import { graph } from "../daemon";
import { count, counted } from "../text";
import { Failed, Waiting } from "./failure";
import { Slider } from "./slider";

/** What the notes may cost together, in tokens; where the slider ends, and its step. */
const BUDGET: Whole = { name: "budget", usual: 2000, least: 0, most: 1_000_000 };
const END = 8000;
const STEP = 100;

/** A relation to the focus note, as people say it. */
function relationName(relation: Relation): string {
  switch (relation) {
    case Relation.UNSPECIFIED:
    case Relation.SELF:
      return "";
    case Relation.PARENT:
      return "parent";
    case Relation.OBJECT:
      return "object";
    case Relation.CHILD:
      return "child";
    case Relation.PRIOR_SIBLING:
      return "prior sibling";
    case Relation.YOUNGER_SIBLING:
      return "younger sibling";
    case Relation.REFERRING_NOTE:
      return "refers to it";
    case Relation.NOTE_IN_CONTEXTUAL_PATH:
      return "above it";
    case Relation.NOTE_IN_OBJECT_CONTEXTUAL_PATH:
      return "above its object";
    case Relation.REIFIED_CHILD_OBJECT:
      return "object of a child";
    case Relation.PARENT_SIBLING:
      return "sibling of the parent";
    case Relation.OBJECT_PARENT_SIBLING:
      return "sibling of the object’s parent";
    case Relation.REFERRING_SUBJECT:
      return "parent of what refers to it";
    case Relation.SIBLING_OF_TARGET:
      return "has the same object";
    case Relation.PARENT_SIBLING_CHILD:
      return "child of the parent’s sibling";
    case Relation.OBJECT_PARENT_SIBLING_CHILD:
      return "child of the object’s parent’s sibling";
    case Relation.NOTE_IN_REFERRING_CONTEXTUAL_PATH:
      return "above what refers to it";
    case Relation.REFERRING_COUSIN:
      return "beside what refers to it";
  }
}

/** Links in the text alone relate no notes. */
const NONE = "Nothing is above, below or beside it, and no property links it with another note.";

export function Related({ uri, asked }: { uri: string; asked: URLSearchParams }) {
  const ask = async (signal: AbortSignal) => graph.related({ focus: uri, budget: BigInt(needed(asked, BUDGET)) }, { signal });
  const { answer, failure, stale, again } = useAnswer(`${uri} ${saidBy(asked, ["budget"])}`, ask, 40);
  return (
    <section class="related">
      <h2>Worth reading with it</h2>
      <div class="row">
        <Slider asked={asked} of={BUDGET} label="Tokens" end={END} step={STEP} said={count} />
        {answer !== undefined && (
          <small>
            {counted(answer.relatedNotes.length, "note")}, {count(answer.used)} used
          </small>
        )}
      </div>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting />}
      {answer !== undefined && (
        <>
          {answer.relatedNotes.length > 0 && <Shares notes={answer.relatedNotes} budget={Number(answer.budget)} />}
          <ol class={`plain ranked ${stale ? "stale" : ""}`}>
            {answer.relatedNotes.map((note, nth) => (
              <li key={note.uri}>
                <small>{note.relation === answer.relatedNotes[nth - 1]?.relation ? "" : relationName(note.relation)}</small>
                <span>
                  <a href={neighbourAddress(note.uri, asked)} dir="auto">{note.title}</a>
                  {note.alsoRelations.length > 0 && <small> also {note.alsoRelations.map(relationName).join(", ")}</small>}
                </span>
                <small title={note.truncated ? "Its text was cut" : undefined}>
                  {count(note.tokens)}
                  {note.truncated && " ✂"}
                </small>
              </li>
            ))}
          </ol>
          {answer.skipped.length > 0 && (
            <p class="faint">
              {counted(answer.skipped.length, "note")} {answer.skipped.length === 1 ? "costs" : "cost"} more than was left:{" "}
              {answer.skipped.slice(0, 5).map((note, at) => (
                <>
                  {at > 0 && ", "}
                  <a href={neighbourAddress(note.uri, asked)}>{note.uri}</a> ({count(note.tokens)})
                </>
              ))}
              {answer.skipped.length > 5 && " …"}
            </p>
          )}
          {answer.resumeToken === undefined && answer.skipped.length === 0 && <p class="faint">{answer.relatedNotes.length === 0 ? NONE : "That is all that is related to it."}</p>}
        </>
      )}
    </section>
  );
}

/** The budget as a bar, one piece per note. */
function Shares({ notes, budget }: { notes: readonly RelatedNote[]; budget: number }) {
  return (
    <>
      <div class="shares" aria-hidden="true">
        {notes.map((note) => (
          <span key={note.uri} title={`${note.title}, ${note.tokens} tokens`} style={{ width: `${(100 * Number(note.tokens)) / budget}%` }} />
        ))}
      </div>
      <p class="faint">The closest relations first, as many as the tokens allow; the bar shows what each costs.</p>
    </>
  );
}
