// A query and what was found, each hit with the parts of its score.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { address, amend, needed, noteAddress, place, saidBy, visit, wholeOf, type Whole } from "../address";
import { useAnswer } from "../asking";
import { notes, search } from "../daemon";
import { SearchMode, type Hit } from "../contract/noteweft/v1/search_pb";
import { composing } from "../keys";
import { Body } from "../parts/body";
import { Failed, Incomplete, Waiting } from "../parts/failure";
import { Explained } from "../parts/explain";
import { Missing } from "../parts/missing";
import { FILTER, Filters, filterOf, isFiltered } from "../parts/filters";
import { connectionName, originName, MEANS, ScoreBar, ScoreTable, SIGNALS } from "../parts/score";
import { profileOf, Weights, weightsOf } from "../parts/weights";
import { passage } from "../passage";
import { status } from "../pulse";
import { counted, lies } from "../text";
import { useArrival, useTitle } from "../travel";

const MODES = [
  ["hybrid", "Meaning and words", SearchMode.HYBRID],
  ["vector", "Meaning", SearchMode.VECTOR],
  ["keyword", "Words", SearchMode.KEYWORD],
] as const;

/** Hits asked for, the contract's most; and how many more each time. */
const LIMIT: Whole = { name: "limit", usual: 10, least: 1, most: 1000 };
const STEP = 10;

/** What of the address makes the question; the rest is how its answer is looked at. */
const QUESTION = ["q", "mode", LIMIT.name, "w", "profile", ...FILTER];

/** Characters of a note that are shown beside the hits: a longer one would hold up typing. */
const PREVIEWED = 8000;

/** How long typing must rest before a question goes out, in milliseconds. */
const PAUSE = 120;

export function SearchView() {
  const { asked } = place.value;
  const query = asked.get("q") ?? "";
  const [, , mode] = MODES.find(([name]) => name === asked.get("mode")) ?? MODES[0];
  const blank = query.trim() === "";
  const filtered = isFiltered(asked);
  const request = () => ({ query, mode, limit: needed(asked, LIMIT), filter: filterOf(asked), weights: weightsOf(asked), profile: profileOf(asked), explain: true });
  const requested = saidBy(asked, QUESTION);
  const { answer, failure, waiting, stale, again } = useAnswer(blank ? null : requested, async (signal) => search.search(request(), { signal }), PAUSE);
  const explaining = asked.get("explain") === "1";
  const [opened, setOpened] = useState(false);
  /** The hit that the arrows led to, in words: the focus stays in the box, so nothing else speaks of it. */
  const [walked, setWalked] = useState("");
  const missing = opened || asked.has("not");
  useArrival(waiting ? "" : "search");
  useTitle(query.trim());

  const hits = answer?.hits ?? [];
  const nth = Math.max(0, hits.findIndex((found) => found.uri === asked.get("hit")));
  const hit = hits[nth];
  const choose = (at: number) => amend({ hit: at === 0 ? null : (hits[at]?.uri ?? null) });

  /** The question whose best hit is to be opened as soon as it is there. */
  const eager = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (waiting || eager.current !== requested) return;
    eager.current = undefined;
    if (failure === undefined && hit !== undefined) visit(noteAddress(hit.uri));
  });

  const miss = () => {
    setOpened(!missing);
    if (missing) amend({ not: null });
    else requestAnimationFrame(() => document.getElementById("missing")?.focus());
  };

  const onKey = (event: KeyboardEvent) => {
    if (composing(event)) return;
    eager.current = undefined;
    if (event.target instanceof Element && event.target.closest("details, fieldset, table, .explained") !== null) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && hits.length > 0) {
      const next = Math.min(hits.length - 1, Math.max(0, nth + step));
      choose(next);
      setWalked(`${next + 1} of ${hits.length}: ${hits[next]?.title}`);
      document.querySelectorAll(".hit")[next]?.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    } else if (event.key === "Enter" && event.target instanceof HTMLInputElement) {
      // What was typed last may not be drawn yet.
      const wanted = saidBy(place.value.asked, QUESTION);
      if (wanted === requested && hit !== undefined && !stale) visit(noteAddress(hit.uri));
      else eager.current = wanted;
    }
  };
  // At once, so that the next key finds what the last one changed.
  useLayoutEffect(() => {
    // The arrows walk the hits wherever the focus is.
    const onAnyKey = (event: KeyboardEvent) => {
      const free = event.target === document.body || (event.target instanceof Element && event.target.closest(".search") === null);
      if (free && !document.querySelector("dialog[open]")) {
        onKey(event);
        if (event.key === "Enter" && !composing(event) && event.target === document.body && hit !== undefined) visit(noteAddress(hit.uri));
      }
    };
    addEventListener("keydown", onAnyKey);
    return () => removeEventListener("keydown", onAnyKey);
  });

  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);

  return (
    <div class={`search ${blank ? "blank" : ""}`} onKeyDown={onKey}>
      <section class="results" aria-label="Search">
        <h1 class="unseen">Search</h1>
        <p class="unseen" role="status">
          {walked}
        </p>
        <form role="search" class="ask" onSubmit={(event) => event.preventDefault()}>
          <input
            id="query"
            ref={field}
            type="search"
            value={query}
            placeholder="Ask your notes"
            aria-label="Query"
            autocomplete="off"
            spellcheck={false}
            dir="auto"
            onInput={(event) => {
              setWalked("");
              amend({ q: event.currentTarget.value, limit: null, hit: null, why: null });
            }}
          />
          <div class="options">
            <fieldset class="choice">
              <legend class="unseen">Look by</legend>
              {MODES.map(([name, label, value]) => (
                <label key={name}>
                  <input type="radio" name="mode" checked={mode === value} onChange={() => amend({ mode: name === "hybrid" ? null : name, hit: null })} />
                  <span>{label}</span>
                </label>
              ))}
            </fieldset>
            <Filters asked={asked} open={blank && filtered} />
            <Weights asked={asked} used={answer?.explanation?.weights} />
          </div>
        </form>
        {blank && (filtered ? <Passing asked={asked} /> : <Welcome />)}
        {failure !== undefined && <Failed failure={failure} again={again} />}
        {!blank && answer === undefined && failure === undefined && <Waiting lines={8} />}
        {answer !== undefined && (
          <>
            <p class="summary">
              <span role="status">
                {hits.length === 0
                  ? `Nothing found${filtered ? " that passes the filter" : ""}.`
                  : `${counted(hits.length, "note")}${answer.truncated ? ", and there are more" : ""}`}
              </span>
              <Incomplete degraded={answer.degraded} />
              {mode === SearchMode.HYBRID && status.value !== undefined && status.value.model === undefined && <span class="degraded">without a model: by words and links alone</span>}
              <button type="button" class="link" aria-expanded={explaining} onClick={() => amend({ explain: explaining ? null : "1" })}>
                explain the ranking
              </button>
              <button type="button" class="link" aria-expanded={missing} onClick={miss}>
                why not …?
              </button>
            </p>
            {hits.length > 0 && <Legend />}
            {missing && <Missing request={request} requested={requested} asked={asked} />}
            {explaining && answer.explanation !== undefined && <Explained explanation={answer.explanation} />}
            <ol class={`hits ${stale ? "stale" : ""}`}>
              {hits.map((found, at) => (
                <Found key={found.uri} hit={found} asked={asked} chosen={at === nth} choose={() => choose(at)} />
              ))}
            </ol>
            {answer.truncated && <More asked={asked} />}
          </>
        )}
      </section>
      {hit !== undefined && <Preview uri={hit.uri} />}
    </div>
  );
}

/** Asks for more of a list, as far as one answer goes. */
function More({ asked }: { asked: URLSearchParams }) {
  const limit = wholeOf(asked, LIMIT) ?? LIMIT.usual;
  if (limit >= LIMIT.most) return null;
  return (
    <button type="button" class="more" onClick={() => amend({ limit: String(Math.min(LIMIT.most, limit + STEP)) })}>
      More
    </button>
  );
}

/** The notes that pass the filter, where nothing else is asked. */
function Passing({ asked }: { asked: URLSearchParams }) {
  const ask = async (signal: AbortSignal) => notes.listNotes({ filter: filterOf(asked), pageSize: needed(asked, LIMIT) }, { signal });
  const { answer, failure, stale, again } = useAnswer(saidBy(asked, [LIMIT.name, ...FILTER]), ask, PAUSE);
  return (
    <>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting lines={8} />}
      {answer !== undefined && (
        <div class={stale ? "stale" : ""}>
          <p class="summary" role="status" aria-live="polite">
            {answer.total === 0n ? "No note passes the filter." : `${counted(answer.total, "note passes", "notes pass")} the filter; write a question to rank them`}
          </p>
          <ul class="plain passing">
            {answer.notes.map((note) => (
              <li key={note.uri}>
                <a href={noteAddress(note.uri)} dir="auto">
                  {note.title}
                </a>
                <small>{lies(note).join(" › ")}</small>
              </li>
            ))}
          </ul>
          {answer.nextPageToken !== "" && <More asked={asked} />}
        </div>
      )}
    </>
  );
}

function Welcome() {
  return (
    <div class="welcome">
      <p>Write a question in your own words. Notes are found by what they mean, by the words in them, and by their links.</p>
      <p class="faint">
        <kbd>+must</kbd> <kbd>+"a phrase"</kbd> <kbd>-not</kbd> narrow what is found; <kbd>?</kbd> shows the keys.
      </p>
      <p>
        <a href={address("note", {})}>All notes by folder</a>
      </p>
    </div>
  );
}

/** What the bars are made of. */
function Legend() {
  return (
    <p class="legend">
      {SIGNALS.map((name) => (
        <span key={name}>
          <span class={`swatch ${name}`} aria-hidden="true" />
          {name} <small>{MEANS[name]}</small>
        </span>
      ))}
    </p>
  );
}

function Found({ hit, asked, chosen, choose }: { hit: Hit; asked: URLSearchParams; chosen: boolean; choose: () => void }) {
  const opened = asked.getAll("why");
  const why = opened.includes(hit.uri);
  const turn = () => amend({ why: why ? opened.filter((uri) => uri !== hit.uri) : [...opened, hit.uri] });
  return (
    <li class="hit" aria-current={chosen ? "true" : undefined} onClick={choose} onFocusIn={choose}>
      <div class="head">
        <a href={noteAddress(hit.uri)} title={hit.title} dir="auto">
          {hit.title}
        </a>
        <ScoreBar hit={hit} />
      </div>
      <p class="where">
        <span>{lies(hit).join(" › ") || hit.vault}</span>
        <span>by {originName(hit.origin)}</span>
        {hit.via !== undefined && (
          <span>
            lifted by <a href={noteAddress(hit.via)}>{hit.via}</a>
            {connectionName(hit.viaKind)}
          </span>
        )}
        {!hit.fresh && <span class="degraded">waits for vectors</span>}
        <button type="button" class="link" aria-expanded={why} onClick={turn}>
          why<span class="unseen"> {hit.title} was found</span>
        </button>
      </p>
      {hit.snippets.map((snippet) => (
        <p key={snippet.start} class="snippet" dir="auto">
          <Headings path={snippet.headingPath} title={hit.title} />
          {passage(snippet.text, snippet.start, snippet.matches).map((piece, at) => (piece.marked ? <mark key={at}>{piece.text}</mark> : piece.text))}
        </p>
      ))}
      {why && <ScoreTable hit={hit} />}
    </li>
  );
}

/** The headings above a passage, but for one that repeats the title. */
function Headings({ path, title }: { path: readonly string[]; title: string }) {
  const rest = path[0] === title ? path.slice(1) : path;
  return rest.length === 0 ? null : <small>{rest.join(" › ")}</small>;
}

/** The chosen hit's note, beside the list where there is room. */
function Preview({ uri }: { uri: string }) {
  const { answer, failure, stale, again } = useAnswer(uri, (signal) => notes.getNote({ name: uri }, { signal }), PAUSE);
  if (answer === undefined) {
    return (
      <aside class="preview" aria-label="Preview">
        {failure === undefined ? <Waiting lines={6} /> : <Failed failure={failure} again={again} />}
      </aside>
    );
  }
  return (
    <aside class={`preview ${stale ? "stale" : ""}`} aria-label={`Preview of ${answer.title}`} tabIndex={0}>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      <h2 dir="auto">
        <a href={noteAddress(answer.uri)}>{answer.title}</a>
      </h2>
      <Body note={answer} most={PREVIEWED} />
    </aside>
  );
}
