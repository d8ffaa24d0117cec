// A note's text, drawn.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { noteAddress, read } from "../address";
import type { GetNoteResponse, LinkView } from "../contract/noteweft/v1/note_pb";
import { asWritten, rendered, TooLong } from "../markdown";

/** What is drawn of a link. */
const drawnOf = ({ uri, resolved, target, fragment, display, span }: LinkView) => [uri, resolved, target, fragment, display, span?.start, span?.end];

const sameLinks = (some: readonly LinkView[], others: readonly LinkView[]): boolean =>
  some.length === others.length &&
  some.every((link, nth) => {
    const [a, b] = [drawnOf(link), drawnOf(others[nth] ?? link)];
    return a.every((part, at) => part === b[at]);
  });

/** The text of a note, or its first lines, up to `most` characters; `to` is the address of a note that it links to. */
export function Body({ note, to = noteAddress, most = Infinity }: { note: GetNoteResponse; to?: (uri: string) => string; most?: number }) {
  const home = useRef<HTMLDivElement>(null);
  const [unread, setUnread] = useState("");
  const whole = note.body.length <= most;
  const text = whole ? note.body : note.body.slice(0, note.body.lastIndexOf("\n", most) + 1 || most);
  // Each state of the index brings the note anew. What is drawn stays as long as it would be drawn the same, and with it what the reader opened, selected or scrolled to.
  const drawn = useRef({ text, links: note.links, title: note.title });
  if (drawn.current.text !== text || drawn.current.title !== note.title || !sameLinks(drawn.current.links, note.links)) drawn.current = { text, links: note.links, title: note.title };
  useLayoutEffect(() => {
    // Whatever becomes of this text, none of another note stays.
    home.current?.replaceChildren();
    try {
      home.current?.replaceChildren(rendered(text, note.links, note.title));
      setUnread("");
    } catch (why) {
      home.current?.replaceChildren(asWritten(text));
      setUnread(why instanceof TooLong ? "to draw it would take too long" : "its marks are nested too deeply to be drawn");
    }
  }, [drawn.current]);
  useLayoutEffect(() => {
    for (const anchor of home.current?.querySelectorAll<HTMLAnchorElement>("a[href^='#/note?']") ?? []) anchor.href = to(read(anchor.hash).asked.get("uri") ?? "");
  }, [drawn.current, to("")]);
  return (
    <>
      {unread !== "" && <p class="notice">This is the text as it is written: {unread}.</p>}
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
