// One note: its text, its place, and what surrounds it.

import type { Ref } from "preact";
import { address, neighbourAddress, noteAddress, place, quoted } from "../address";
import { useAnswer } from "../asking";
import { graph, notes } from "../daemon";
import type { GetNoteResponse, NoteSummary } from "../contract/noteweft/v1/note_pb";
import { Around } from "../parts/around";
import { Body } from "../parts/body";
import { Failed, Waiting } from "../parts/failure";
import { Crumbs, NoteLink } from "../parts/names";
import { Related } from "../parts/related";
import { Siblings } from "../parts/siblings";
import { count, lies } from "../text";
import { useArrival, useTitle } from "../travel";

export function NoteView() {
  const { asked } = place.value;
  const name = asked.get("uri") ?? "";
  return name === "" ? <AllNotes /> : <OneNote name={name} asked={asked} />;
}

function OneNote({ name, asked }: { name: string; asked: URLSearchParams }) {
  const { answer, failure, waiting, stale, again } = useAnswer(name, (signal) => notes.getNote({ name, maxLinks: MOST_LINKS }, { signal }));
  const heading = useArrival<HTMLHeadingElement>(waiting ? "" : name);
  useTitle(answer?.title ?? "Note");
  return (
    <>
      {failure !== undefined && <Failed failure={failure} again={again} heading={answer === undefined ? heading : undefined} />}
      {failure === undefined && answer === undefined && <Waiting lines={12} />}
      {answer !== undefined && <Shown note={answer} asked={asked} stale={stale} heading={heading} />}
    </>
  );
}

function Shown({ note: answer, asked, stale, heading }: { note: GetNoteResponse; asked: URLSearchParams; stale: boolean; heading: Ref<HTMLHeadingElement> }) {
  return (
    <div class={`note ${stale ? "stale" : ""}`}>
      <article aria-labelledby="title">
        <header>
          <Crumbs path={answer.contextualPath} asked={asked} />
          <h1 id="title" ref={heading} tabIndex={-1} dir="auto" title={answer.title}>
            {answer.title}
          </h1>
          <Facts note={answer} asked={asked} />
        </header>
        <Body note={answer} to={(uri) => neighbourAddress(uri, asked)} />
        {answer.children.length > 0 && (
          <section>
            <h2>Below this note</h2>
            <ul class="plain">
              {answer.children.map((child) => (
                <li key={child.uri}>
                  <NoteLink note={child} asked={asked} />
                </li>
              ))}
            </ul>
          </section>
        )}
        <Related uri={answer.uri} asked={asked} />
      </article>
      <aside aria-label="Around this note">
        <Around note={answer} asked={asked} />
        <Neighbours note={answer} asked={asked} />
        <Siblings note={answer} asked={asked} />
      </aside>
    </div>
  );
}

function Facts({ note, asked }: { note: GetNoteResponse; asked: URLSearchParams }) {
  return (
    <p class="facts">
      <span>{[...lies(note), note.path.split("/").at(-1)].join("/")}</span>
      {note.type !== undefined && <a href={address("search", { type: quoted(note.type) })}>{note.type}</a>}
      {note.tags.map((tag) => (
        <a key={tag} href={address("search", { tag: quoted(tag) })}>
          #{tag}
        </a>
      ))}
      {note.object !== undefined && (
        <span>
          about <NoteLink note={note.object} asked={asked} />
        </span>
      )}
      {note.aliases.length > 0 && <span>also {note.aliases.join(", ")}</span>}
      {!note.fresh && <span class="degraded">waits for vectors</span>}
    </p>
  );
}

/** Notes one link away, and names that no note answers to. */
function Neighbours({ note, asked }: { note: GetNoteResponse; asked: URLSearchParams }) {
  const { answer, failure, stale, again } = useAnswer(note.uri, (signal) => graph.neighbors({ note: note.uri }, { signal }));
  const missing = [...new Set(note.links.filter((link) => !link.resolved).map((link) => link.target))];
  if (answer === undefined) return failure === undefined ? null : <Failed failure={failure} again={again} />;
  return (
    <section class={stale ? "stale" : ""}>
      <h2>
        Links <small>{count(answer.nodes.length + missing.length)}</small>
      </h2>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      <ul class="plain">
        {answer.nodes.map((near) => (
          <li key={near.id}>
            <a href={neighbourAddress(near.id, asked)} dir="auto">{near.title}</a>
            <small> {[...new Set(near.edges.map((edge) => `${edge.from === note.uri ? "→" : "←"} ${edge.type}`))].join(", ")}</small>
          </li>
        ))}
        {missing.slice(0, MOST_MISSING).map((target) => (
          <li key={target}>
            <span class="unresolved">{target}</span>
            <small> not written yet</small>
          </li>
        ))}
      </ul>
      {answer.truncated && <p class="faint">and more notes</p>}
      {missing.length > MOST_MISSING && <p class="faint">and {count(missing.length - MOST_MISSING)} more that are not written yet</p>}
    </section>
  );
}

/** Every note by its folder, where none is chosen. */
function AllNotes() {
  const { answer, failure, again } = useAnswer("all", async (signal) => {
    const found: NoteSummary[] = [];
    let pageToken = "";
    let generation = 0n;
    do {
      const page = await notes.listNotes({ pageSize: 1000, pageToken }, { signal });
      found.push(...page.notes);
      ({ nextPageToken: pageToken, generation } = page);
    } while (pageToken !== "" && found.length < MOST_LISTED);
    return { found, cut: pageToken !== "", generation };
  });
  const heading = useArrival<HTMLHeadingElement>(answer === undefined && failure === undefined ? "" : "all");
  useTitle("Notes");
  if (answer === undefined) return failure === undefined ? <Waiting lines={12} /> : <Failed failure={failure} again={again} heading={heading} />;
  // Within a folder the order is the daemon's.
  const byFolder = [...Map.groupBy(answer.found, (note) => [note.vault, ...lies(note)].join("/"))].sort(([a], [b]) => (a < b ? -1 : 1));
  return (
    <div class="all">
      <h1 ref={heading} tabIndex={-1}>
        Notes
      </h1>
      {answer.found.length === 0 && <p class="faint">The index holds no note yet.</p>}
      {answer.cut && <p class="faint">The first {count(MOST_LISTED)} are listed; search finds all.</p>}
      <div class="columns">
        {byFolder.map(([folder, members]) => (
          <section key={folder}>
            <h2>{(members[0] && lies(members[0]).join(" › ")) || members[0]?.vault}</h2>
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

const MOST_LISTED = 5000;

/** Links of a note that the page can tell: the most that an answer holds. */
const MOST_LINKS = 100_000;

/** Names that no note answers to, listed at most. */
const MOST_MISSING = 100;
