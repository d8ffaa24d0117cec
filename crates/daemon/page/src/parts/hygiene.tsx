// Hygiene: near-duplicates, suggested links, stale notes and broken links, each asked when its card is opened.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { noteAddress } from "../address";
import { hygiene } from "../daemon";
import { FixReason } from "../contract/noteweft/v1/hygiene_pb";
import type { NoteRef } from "../contract/noteweft/v1/common_pb";
import { count, counted, percent } from "../text";
import { useAnswer } from "../use-answer";
import { Failed, Waiting } from "./failure";

/** Entries shown of each list; the command line pages through all. */
const SHOWN = 20;

export function Hygiene() {
  return (
    <section class="hygiene">
      <h2>Hygiene</h2>
      <Card title="Broken links" about="Links without a target, and the notes that they most likely mean." ask={brokenLinks} />
      <Card title="Suggested links" about="Mentions of notes in plain text that are not links yet." ask={suggestedLinks} />
      <Card title="Near-duplicates" about="Notes that share most of the shorter one's text." ask={duplicates} />
      <Card title="Stale notes" about="Unchanged for a year although others link to them; the score is the age in years times ln(1 + linking notes)." ask={staleNotes} />
    </section>
  );
}

/** A list for people, with the number of all its entries. */
interface List {
  total: bigint;
  entries: ComponentChildren[];
}

/** A question that is asked when it is opened: a pass over all texts is not worth its cost unseen. */
function Card({ title, about, ask }: { title: string; about: string; ask: (signal: AbortSignal) => Promise<List> }) {
  const [open, setOpen] = useState(false);
  const { answer, failure, again } = useAnswer(open ? title : null, ask);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {title}
        {answer !== undefined && <small> {count(answer.total)}</small>}
      </summary>
      <p class="faint">{about}</p>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {open && answer === undefined && failure === undefined && <Waiting />}
      {answer !== undefined && (
        <>
          <ol class="plain">{answer.entries}</ol>
          <p class="faint">{answer.total === 0n ? "There are none." : answer.total > BigInt(SHOWN) ? `The first ${SHOWN} of ${count(answer.total)}.` : ""}</p>
        </>
      )}
    </details>
  );
}

function Note({ note }: { note: NoteRef | undefined }) {
  if (note === undefined) return null;
  return (
    <a href={noteAddress(note.uri)} dir="auto" title={note.uri}>
      {note.title}
    </a>
  );
}

async function brokenLinks(signal: AbortSignal): Promise<List> {
  const { links, total } = await hygiene.brokenLinks({ pageSize: SHOWN }, { signal });
  const entries = links.map((link) => (
    <li key={link.target}>
      <b dir="auto">{link.target}</b> in{" "}
      {link.places.slice(0, 3).map((place, at) => (
        <>
          {at > 0 && ", "}
          <Note note={place.note} />
          {place.line !== undefined && <small>:{place.line}</small>}
        </>
      ))}
      {link.linkingNotes > 3n && ` and ${counted(link.linkingNotes - 3n, "more note")}`}
      {link.fixes[0] !== undefined && (
        <small>
          {" "}
          → <Note note={link.fixes[0].note} /> ({link.fixes[0].reason === FixReason.SAME_NAME ? "same name" : "similar name"})
        </small>
      )}
    </li>
  ));
  return { total, entries };
}

async function suggestedLinks(signal: AbortSignal): Promise<List> {
  const { links, total } = await hygiene.suggestedLinks({ pageSize: SHOWN }, { signal });
  const entries = links.map((link) => (
    <li key={`${link.note?.uri} ${link.target?.uri}`}>
      <Note note={link.note} />
      <small>:{link.line}</small> could link to <Note note={link.target} />
      <br />
      <small dir="auto">{link.excerpt}</small>
    </li>
  ));
  return { total, entries };
}

async function duplicates(signal: AbortSignal): Promise<List> {
  const { pairs, total } = await hygiene.duplicates({ pageSize: SHOWN }, { signal });
  const entries = pairs.map((pair) => (
    <li key={`${pair.note?.uri} ${pair.other?.uri}`}>
      <Note note={pair.note} /> and <Note note={pair.other} /> <small>{pair.identical ? "identical" : `${percent(pair.share)} of the shorter one`}</small>
      {pair.example !== undefined && (
        <>
          <br />
          <small dir="auto">“{pair.example.text}”</small>
        </>
      )}
    </li>
  ));
  return { total, entries };
}

async function staleNotes(signal: AbortSignal): Promise<List> {
  const { notes, total } = await hygiene.staleNotes({ pageSize: SHOWN }, { signal });
  const entries = notes.map((stale) => (
    <li key={stale.note?.uri}>
      <Note note={stale.note} />{" "}
      <small>
        score {stale.score.toFixed(1)}, unchanged since {stale.changed}, {counted(stale.linkingNotes, "note")} link to it
      </small>
    </li>
  ));
  return { total, entries };
}
