// Links that open a note in an editor, and its name for the clipboard.

import { useState } from "preact/hooks";
import type { GetNoteResponse, LocateNoteResponse } from "../contract/noteweft/v1/note_pb";
import { OpenWith } from "../contract/noteweft/v1/note_pb";
import { notes } from "../daemon";
import { useAnswer } from "../use-answer";

/** Copies a text; the label confirms it for a moment. */
function Copy({ text, label, title }: { text: string; label: string; title: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="link" title={title} onClick={() => void copy()}>
      {copied ? "copied" : label}
    </button>
  );
}

/** Returns the link to a note as other notes write it. */
const wikilink = ({ uri, title }: { uri: string; title: string }): string => {
  const name = uri.split("/").at(-1);
  return name === title || /[[\]|#^]/.test(title) ? `[[${uri}]]` : `[[${uri}|${title}]]`;
};

/** Programs in the order in which they are offered: the one that the settings name comes first. */
function programs({ vscodeUrl, obsidianUrl, openWith }: LocateNoteResponse) {
  const all = [
    { name: "VS Code", href: vscodeUrl },
    { name: "Obsidian", href: obsidianUrl },
  ];
  return openWith === OpenWith.OBSIDIAN ? all.reverse() : all;
}

/** Opens the note at `part`, or at a character of its text. A client without permission to write is not told where the file is. */
export function OpenNote({ note, part = "", offset }: { note: GetNoteResponse; part?: string; offset?: number | undefined }) {
  const name = part === "" ? note.uri : `${note.uri}#${part}`;
  const request = { name, ...(offset !== undefined && { offset }) };
  const { answer } = useAnswer(JSON.stringify(request), (signal) => notes.locateNote(request, { signal }));
  return (
    <span class="open">
      {answer !== undefined && (
        <>
          <span>open in</span>
          {programs(answer).map(({ name, href }) => (
            <a key={name} href={href}>
              {name}
            </a>
          ))}
          <Copy text={`${answer.file}:${answer.line}`} label="copy path" title={`${answer.file}:${answer.line}`} />
        </>
      )}
      <Copy text={wikilink(note)} label="copy [[link]]" title={wikilink(note)} />
    </span>
  );
}
