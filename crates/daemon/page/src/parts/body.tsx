// A note's text, drawn.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { noteAddress, read } from "../address";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { asWritten, rendered } from "../markdown";

/** The text of a note, or its first lines, up to `most` characters; `to` is the address of a note that it links to. */
export function Body({ note, to = noteAddress, most = Infinity }: { note: GetNoteResponse; to?: (uri: string) => string; most?: number }) {
  const home = useRef<HTMLDivElement>(null);
  const [unread, setUnread] = useState(false);
  const whole = note.body.length <= most;
  useLayoutEffect(() => {
    const text = whole ? note.body : note.body.slice(0, note.body.lastIndexOf("\n", most) + 1 || most);
    // Whatever becomes of this text, none of another note stays.
    home.current?.replaceChildren();
    try {
      home.current?.replaceChildren(rendered(text, note.links, note.title));
      setUnread(false);
    } catch {
      home.current?.replaceChildren(asWritten(text));
      setUnread(true);
    }
  }, [note]);
  useLayoutEffect(() => {
    for (const anchor of home.current?.querySelectorAll<HTMLAnchorElement>("a[href^='#/note?']") ?? []) anchor.href = to(read(anchor.hash).asked.get("uri") ?? "");
  }, [note, to("")]);
  return (
    <>
      {unread && <p class="notice">This is the text as it is written: its marks are nested too deeply to be drawn.</p>}
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
