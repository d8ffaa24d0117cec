// The notes most worth reading around a note, within a token budget.

import { requiredInteger, neighborAddress, paramsKey, type IntegerParam } from "../address";
import { useAnswer } from "../use-answer";
import { Relation, RelationSet, type RelatedNote } from "../contract/noteweft/v1/graph_pb";
import { graph } from "../daemon";
import { count, counted } from "../text";
import { Failed, Waiting } from "./failure";
import { Slider } from "./slider";

/** Budget for all related notes in tokens; end and step of the slider. */
const BUDGET: IntegerParam = { name: "budget", fallback: 2000, min: 0, max: 1_000_000 };
const END = 8000;
const STEP = 100;

/** Returns a relation to the focus note in words. */
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
      return "sibling before";
    case Relation.YOUNGER_SIBLING:
      return "sibling after";
    case Relation.REFERRING_NOTE:
      return "refers to it";
    case Relation.NOTE_IN_CONTEXTUAL_PATH:
      return "ancestor";
    case Relation.NOTE_IN_OBJECT_CONTEXTUAL_PATH:
      return "ancestor of its object";
    case Relation.REIFIED_CHILD_OBJECT:
      return "object of a child";
    case Relation.PARENT_SIBLING:
      return "sibling of its parent";
    case Relation.OBJECT_PARENT_SIBLING:
      return "sibling of its object’s parent";
    case Relation.REFERRING_SUBJECT:
      return "parent of a referring note";
    case Relation.SIBLING_OF_TARGET:
      return "has the same object";
    case Relation.PARENT_SIBLING_CHILD:
      return "cousin";
    case Relation.OBJECT_PARENT_SIBLING_CHILD:
      return "cousin of its object";
    case Relation.NOTE_IN_REFERRING_CONTEXTUAL_PATH:
      return "ancestor of a referring note";
    case Relation.REFERRING_COUSIN:
      return "sibling of a referring note";
    case Relation.LINKED:
      return "linked from it";
    case Relation.LINKED_FROM:
      return "links to it";
    case Relation.TOPIC_SIBLING:
      return "shares a topic";
    case Relation.SIMILAR:
      return "similar";
    case Relation.SAME_FOLDER:
      return "near it in its folder";
  }
}

/** Returns why a note is related, as far as the name of its relation does not say it. */
function detail(note: RelatedNote): string {
  if (note.relation === Relation.TOPIC_SIBLING && note.topic !== undefined) return ` shares ${note.topic.title}`;
  if (note.similarity !== undefined) return ` similarity ${note.similarity.toFixed(2)}`;
  return note.inFolder && note.relation !== Relation.SAME_FOLDER ? " in its folder" : "";
}

/** Said if no list of any kind has a note. */
const NONE: Record<RelationSet, string> = {
  [RelationSet.UNSPECIFIED]: "No note is related to it.",
  [RelationSet.AUTO]: "No note is linked with it, shares its folder or a topic, or is known to be similar.",
  [RelationSet.STRUCTURE]: "It has no parent, child, sibling or referring note; other relations are disabled by the setting related.relations.",
};

export function Related({ uri, params }: { uri: string; params: URLSearchParams }) {
  const ask = async (signal: AbortSignal) => graph.related({ focus: uri, budget: BigInt(requiredInteger(params, BUDGET)) }, { signal });
  const { answer, failure, stale, again } = useAnswer(`${uri} ${paramsKey(params, ["budget"])}`, ask, 40);
  return (
    <section class="related">
      <h2>Related notes</h2>
      <div class="row">
        <Slider params={params} of={BUDGET} label="Tokens" end={END} step={STEP} format={count} />
        {answer !== undefined && (
          <small>
            {counted(answer.relatedNotes.length, "note")}, {counted(answer.used, "token")} used
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
                  <a href={neighborAddress(note.uri, params)} dir="auto">{note.title}</a>
                  {detail(note) !== "" && <small>{detail(note)}</small>}
                  {note.alsoRelations.length > 0 && <small> also {note.alsoRelations.map(relationName).join(", ")}</small>}
                </span>
                <small title={note.truncated ? "Its text is cut" : undefined}>
                  {count(note.tokens)}
                  {note.truncated && " ✂"}
                </small>
              </li>
            ))}
          </ol>
          {answer.skipped.length > 0 && (
            <p class="faint">
              {counted(answer.skipped.length, "note")} did not fit into the remaining budget:{" "}
              {answer.skipped.slice(0, 5).map((note, at) => (
                <>
                  {at > 0 && ", "}
                  <a href={neighborAddress(note.uri, params)}>{note.uri}</a> ({count(note.tokens)})
                </>
              ))}
              {answer.skipped.length > 5 && " …"}
            </p>
          )}
          {answer.resumeToken === undefined && answer.skipped.length === 0 && <p class="faint">{answer.relatedNotes.length === 0 ? NONE[answer.relations] : "There are no more related notes."}</p>}
        </>
      )}
    </section>
  );
}

/** The budget as a bar, with one segment per note. */
function Shares({ notes, budget }: { notes: readonly RelatedNote[]; budget: number }) {
  return (
    <>
      <div class="shares" aria-hidden="true">
        {notes.map((note) => (
          <span key={note.uri} title={`${note.title}, ${note.tokens} tokens`} style={{ width: `${(100 * Number(note.tokens)) / budget}%` }} />
        ))}
      </div>
      <p class="faint">The closest relations come first, within the token budget; the bar shows the cost of each note.</p>
    </>
  );
}
