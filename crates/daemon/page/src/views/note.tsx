// One note: its text, its position and its neighborhood.

import type { Ref } from "preact";
import { address, neighborAddress, noteAddress, place, quoted } from "../address";
import { useAnswer } from "../use-answer";
import { graph, notes, type Failure } from "../daemon";
import type { GetNoteResponse, NoteSummary } from "../contract/noteweft/v1/note_pb";
import { Neighborhood } from "../parts/neighborhood";
import { Body } from "../parts/body";
import { Failed, Waiting } from "../parts/failure";
import { Crumbs, NoteLink } from "../parts/note-links";
import { OpenNote } from "../parts/open-note";
import { Related } from "../parts/related";
import { Siblings } from "../parts/siblings";
import { count, counted, folderPath } from "../text";
import { useArrival, useTitle } from "../scroll-position";

export function NoteView() {
  const { params } = place.value;
  const name = params.get("uri") ?? "";
  return name === "" ? <AllNotes /> : <OneNote name={name} params={params} />;
}

function OneNote({ name, params }: { name: string; params: URLSearchParams }) {
  const { answer, failure, waiting, stale, again } = useAnswer(name, (signal) => notes.getNote({ name, maxLinks: MAX_LINKS }, { signal }));
  const heading = useArrival<HTMLHeadingElement>(waiting ? "" : name);
  useTitle(answer?.title ?? "Note");
  return (
    <>
      {failure !== undefined && <Failed failure={failure} again={again} heading={answer === undefined ? heading : undefined} />}
      {failure === undefined && answer === undefined && <Waiting lines={12} />}
      {answer !== undefined && <NoteContent note={answer} params={params} stale={stale} heading={heading} />}
    </>
  );
}

/** Returns the start of the part of a note that the address names, and why there is none. */
function useNamedPart(uri: string, part: string): { named?: number; failure?: Failure } {
  const ask = (signal: AbortSignal) => notes.getNote({ name: `${uri}#${part}`, maxLinks: 1 }, { signal });
  const { answer, failure } = useAnswer(part === "" ? null : `${uri}#${part}`, ask);
  // While another part is requested, the answer is that of the previous one.
  const start = part === "" || answer?.uri !== uri ? undefined : answer.section?.start;
  return { ...(start !== undefined && { named: start }), ...(failure !== undefined && part !== "" && { failure }) };
}

function NoteContent({ note: answer, params, stale, heading }: { note: GetNoteResponse; params: URLSearchParams; stale: boolean; heading: Ref<HTMLHeadingElement> }) {
  const part = params.get("at") ?? "";
  const { named, failure } = useNamedPart(answer.uri, part);
  return (
    <div class={`note ${stale ? "stale" : ""}`}>
      <article aria-labelledby="title">
        <header>
          <Crumbs path={answer.contextualPath} params={params} />
          <h1 id="title" ref={heading} tabIndex={-1} dir="auto" title={answer.title}>
            {answer.title}
          </h1>
          <Facts note={answer} params={params} />
        </header>
        {failure?.kind === "unknown" && <p class="notice">{failure.text}</p>}
        <Body note={answer} to={(uri, part) => neighborAddress(uri, params, part)} named={named} />
        {answer.children.length > 0 && (
          <section>
            <h2>Children</h2>
            <ul class="plain">
              {answer.children.map((child) => (
                <li key={child.uri}>
                  <NoteLink note={child} params={params} />
                </li>
              ))}
            </ul>
          </section>
        )}
        <Related uri={answer.uri} params={params} />
      </article>
      <aside aria-label="Neighborhood of this note">
        <Neighborhood note={answer} params={params} />
        <Neighbors note={answer} params={params} />
        <Siblings note={answer} params={params} />
      </aside>
    </div>
  );
}

function Facts({ note, params }: { note: GetNoteResponse; params: URLSearchParams }) {
  return (
    <p class="facts">
      <span>{[...folderPath(note), note.path.split("/").at(-1)].join("/")}</span>
      {note.type !== undefined && <a href={address("search", { type: quoted(note.type) })}>{note.type}</a>}
      {note.tags.map((tag) => (
        <a key={tag} href={address("search", { tag: quoted(tag) })}>
          #{tag}
        </a>
      ))}
      {note.object !== undefined && (
        <span>
          object <NoteLink note={note.object} params={params} />
        </span>
      )}
      {note.aliases.length > 0 && <span>also {note.aliases.join(", ")}</span>}
      {!note.embeddingCurrent && <span class="warn">vectors pending</span>}
      <OpenNote note={note} part={params.get("at") ?? ""} />
    </p>
  );
}

/** Notes one link away, and unresolved targets. */
function Neighbors({ note, params }: { note: GetNoteResponse; params: URLSearchParams }) {
  const { answer, failure, stale, again } = useAnswer(note.uri, (signal) => graph.neighbors({ note: note.uri }, { signal }));
  const unresolved = [...new Set(note.links.filter((link) => !link.resolved).map((link) => link.target))];
  if (answer === undefined) return failure === undefined ? null : <Failed failure={failure} again={again} />;
  return (
    <section class={stale ? "stale" : ""}>
      <h2>
        Links <small>{count(answer.nodes.length + unresolved.length)}</small>
      </h2>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      <ul class="plain">
        {answer.nodes.map((neighbor) => (
          <li key={neighbor.id}>
            <a href={neighborAddress(neighbor.id, params)} dir="auto">{neighbor.title}</a>
            <small> {[...new Set(neighbor.edges.map((edge) => `${edge.from === note.uri ? "→" : "←"} ${edge.type}`))].join(", ")}</small>
          </li>
        ))}
        {unresolved.slice(0, MAX_UNRESOLVED).map((target) => (
          <li key={target}>
            <span class="unresolved">{target}</span>
            <small> unresolved</small>
          </li>
        ))}
      </ul>
      {answer.truncated && <p class="faint">and more notes</p>}
      {unresolved.length > MAX_UNRESOLVED && <p class="faint">and {counted(unresolved.length - MAX_UNRESOLVED, "more unresolved link")}</p>}
    </section>
  );
}

/** All notes by folder, if none is selected. */
function AllNotes() {
  const { answer, failure, again } = useAnswer("all", async (signal) => {
    const found: NoteSummary[] = [];
    let pageToken = "";
    let generation = 0n;
    do {
      const page = await notes.listNotes({ pageSize: 1000, pageToken }, { signal });
      found.push(...page.notes);
      ({ nextPageToken: pageToken, generation } = page);
    } while (pageToken !== "" && found.length < MAX_LISTED);
    return { found, truncated: pageToken !== "", generation };
  });
  const heading = useArrival<HTMLHeadingElement>(answer === undefined && failure === undefined ? "" : "all");
  useTitle("Notes");
  if (answer === undefined) return failure === undefined ? <Waiting lines={12} /> : <Failed failure={failure} again={again} heading={heading} />;
  // Inside a folder, notes keep the daemon's order.
  const byFolder = [...Map.groupBy(answer.found, (note) => [note.vault, ...folderPath(note)].join("/"))].sort(([a], [b]) => (a < b ? -1 : 1));
  return (
    <div class="all">
      <h1 ref={heading} tabIndex={-1}>
        Notes
      </h1>
      {answer.found.length === 0 && <p class="faint">The index contains no notes yet.</p>}
      {answer.truncated && <p class="faint">Only the first {count(MAX_LISTED)} notes are listed; search covers all.</p>}
      <div class="columns">
        {byFolder.map(([folder, members]) => (
          <section key={folder}>
            <h2>{(members[0] && folderPath(members[0]).join(" › ")) || members[0]?.vault}</h2>
            <ul class="plain">
              {members.map((note) => (
                <li key={note.uri}>
                  <a href={noteAddress(note.uri)} dir="auto">{note.title}</a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </div>
  );
}

const MAX_LISTED = 5000;

/** Maximum number of links to request: the limit of the API. */
const MAX_LINKS = 100_000;

/** Maximum number of unresolved targets listed. */
const MAX_UNRESOLVED = 100;
