// A note's text, drawn.

import { useLayoutEffect, useRef } from "preact/hooks";
import { noteAddress, read } from "../address";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { rendered } from "../markdown";

/** The text of a note, or its first lines, up to `most` characters; `to` is the address of a note that it links to. */
export function Body({ note, to = noteAddress, most = Infinity }: { note: GetNoteResponse; to?: (uri: string) => string; most?: number }) {
  const home = useRef<HTMLDivElement>(null);
  const whole = note.body.length <= most;
  useLayoutEffect(() => {
    const text = whole ? note.body : note.body.slice(0, note.body.lastIndexOf("\n", most) + 1 || most);
    home.current?.replaceChildren(rendered(text, note.links, note.title));
  }, [note]);
  useLayoutEffect(() => {
    for (const anchor of home.current?.querySelectorAll<HTMLAnchorElement>("a[href^='#/note?']") ?? []) anchor.href = to(read(anchor.hash).asked.get("uri") ?? "");
  }, [note, to("")]);
  return (
    <>
      <div class="body" ref={home} />
      {note.body.trim() === "" && <p class="faint">This note has no text.</p>}
      {!whole && (
        <p class="faint">
          <a href={to(note.uri)}>Read on</a>
        </p>
      )}
    </>
  );
}
