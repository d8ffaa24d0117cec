// A query and its hits, each with the parts of its score.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { address, updateParams, requiredInteger, noteAddress, place, paramsKey, navigate, integerParam, type IntegerParam } from "../address";
import { useAnswer } from "../use-answer";
import { notes, search } from "../daemon";
import { SearchMode, type Hit } from "../contract/noteweft/v1/search_pb";
import { composing } from "../keys";
import { Body } from "../parts/body";
import { Facets } from "../parts/facets";
import { Failed, Warnings, Waiting } from "../parts/failure";
import { RankingExplanation } from "../parts/explain";
import { OpenNote } from "../parts/open-note";
import { WhyNot } from "../parts/why-not";
import { FILTER, Filters, filterOf, isFiltered } from "../parts/filters";
import { connectionName, originName, MEANS, partsOf, ScoreBar, ScoreTable } from "../parts/score";
import { profileOf, Weights, weightsOf } from "../parts/weights";
import { snippetPieces } from "../passage";
import { forget, recent, remember } from "../recent";
import { status } from "../index-status";
import { counted, folderPath } from "../text";
import { useArrival, useTitle } from "../scroll-position";

const MODES = [
  ["hybrid", "Meaning and keywords", SearchMode.HYBRID],
  ["vector", "Meaning", SearchMode.VECTOR],
  ["keyword", "Keywords", SearchMode.KEYWORD],
] as const;

/** Number of hits, up to the limit of the API; step of "More". */
const LIMIT: IntegerParam = { name: "limit", fallback: 10, min: 1, max: 1000 };
const STEP = 10;

/** Parameters that make up the request; the others concern its display. */
const REQUEST_PARAMS = ["q", "mode", LIMIT.name, "w", "profile", ...FILTER];

/** Maximum length of a preview in characters; a longer one would block typing. */
const MAX_PREVIEW = 8000;

/** Debounce of requests while typing, in milliseconds. */
const PAUSE = 120;

export function SearchView() {
  const { params } = place.value;
  const query = params.get("q") ?? "";
  const [, , mode] = MODES.find(([name]) => name === params.get("mode")) ?? MODES[0];
  const blank = query.trim() === "";
  const filtered = isFiltered(params);
  const request = () => ({ query, mode, limit: requiredInteger(params, LIMIT), filter: filterOf(params), weights: weightsOf(params), profile: profileOf(params), explain: true, prefixLastWord: true });
  const requestKey = paramsKey(params, REQUEST_PARAMS);
  const { answer, failure, waiting, stale, again } = useAnswer(blank ? null : requestKey, async (signal) => search.search(request(), { signal }), PAUSE);
  const explaining = params.get("explain") === "1";
  const [opened, setOpened] = useState(false);
  /** Announcement of the hit selected by the arrow keys: the focus stays in the search box, so a screen reader needs it. */
  const [announcement, setAnnouncement] = useState("");
  const missing = opened || params.has("not");
  useArrival(waiting ? "" : "search");
  useTitle(query.trim());

  const hits = answer?.hits ?? [];
  const nth = Math.max(0, hits.findIndex((found) => found.uri === params.get("hit")));
  const hit = hits[nth];
  const open = (uri: string) => {
    remember(query);
    navigate(noteAddress(uri));
  };
  const choose = (at: number) => updateParams({ hit: at === 0 ? null : (hits[at]?.uri ?? null) });

  /** The request whose best hit must be opened as soon as it arrives. */
  const openBest = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (waiting || openBest.current !== requestKey) return;
    openBest.current = undefined;
    if (failure === undefined && hit !== undefined) open(hit.uri);
  });

  const toggleWhyNot = () => {
    setOpened(!missing);
    if (missing) updateParams({ not: null });
    else requestAnimationFrame(() => document.getElementById("missing")?.focus());
  };

  const onKey = (event: KeyboardEvent) => {
    if (composing(event)) return;
    openBest.current = undefined;
    if (event.target instanceof Element && event.target.closest("details, fieldset, table, .explained") !== null) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && hits.length > 0) {
      const next = Math.min(hits.length - 1, Math.max(0, nth + step));
      choose(next);
      setAnnouncement(`${next + 1} of ${hits.length}: ${hits[next]?.title}`);
      document.querySelectorAll(".hit")[next]?.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    } else if (event.key === "Enter" && event.target instanceof HTMLInputElement) {
      // The last input may not be rendered yet.
      const latest = paramsKey(place.value.params, REQUEST_PARAMS);
      if (latest === requestKey && hit !== undefined && !stale) open(hit.uri);
      else openBest.current = latest;
    }
  };
  // A layout effect, so that the next key finds the effect of the last one.
  useLayoutEffect(() => {
    // The arrow keys select hits wherever the focus is.
    const onAnyKey = (event: KeyboardEvent) => {
      const isOutside = event.target === document.body || (event.target instanceof Element && event.target.closest(".search") === null);
      if (isOutside && !document.querySelector("dialog[open]")) {
        onKey(event);
        if (event.key === "Enter" && !composing(event) && event.target === document.body && hit !== undefined) open(hit.uri);
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
          {announcement}
        </p>
        <form role="search" class="ask" onSubmit={(event) => event.preventDefault()}>
          <input
            id="query"
            ref={field}
            type="search"
            value={query}
            placeholder="Search your notes"
            aria-label="Query"
            autocomplete="off"
            spellcheck={false}
            dir="auto"
            onInput={(event) => {
              setAnnouncement("");
              updateParams({ q: event.currentTarget.value, limit: null, hit: null, why: null });
            }}
          />
          <div class="options">
            <fieldset class="choice">
              <legend class="unseen">Search by</legend>
              {MODES.map(([name, label, value]) => (
                <label key={name}>
                  <input type="radio" name="mode" checked={mode === value} onChange={() => updateParams({ mode: name === "hybrid" ? null : name, hit: null })} />
                  <span>{label}</span>
                </label>
              ))}
            </fieldset>
            <Filters params={params} open={blank && filtered} />
            <Weights params={params} used={answer?.explanation?.weights} />
          </div>
        </form>
        {blank && (filtered ? <Passing params={params} /> : <Welcome />)}
        {failure !== undefined && <Failed failure={failure} again={again} />}
        {!blank && answer === undefined && failure === undefined && <Waiting lines={8} />}
        {answer !== undefined && (
          <>
            <p class="summary">
              <span role="status">
                {hits.length === 0
                  ? `No hits${filtered ? " that pass the filter" : ""}.`
                  : `${counted(hits.length, "note")}${answer.truncated ? ", more available" : ""}`}
              </span>
              <Warnings warnings={answer.warnings} />
              {mode === SearchMode.HYBRID && status.value !== undefined && status.value.model === undefined && <span class="warn">no model: keywords and links only</span>}
              <button type="button" class="link" aria-expanded={explaining} onClick={() => updateParams({ explain: explaining ? null : "1" })}>
                explain the ranking
              </button>
              <button type="button" class="link" aria-expanded={missing} onClick={toggleWhyNot}>
                why not …?
              </button>
            </p>
            <Facets query={query} params={params} />
            {hits.length > 0 && <Legend hits={hits} />}
            {missing && <WhyNot request={request} requestKey={requestKey} params={params} />}
            {explaining && answer.explanation !== undefined && <RankingExplanation explanation={answer.explanation} />}
            <ol class={`hits ${stale ? "stale" : ""}`}>
              {hits.map((found, at) => (
                <Found key={found.uri} hit={found} params={params} chosen={at === nth} choose={() => choose(at)} />
              ))}
            </ol>
            {answer.truncated && <More params={params} />}
          </>
        )}
      </section>
      {hit !== undefined && <Preview uri={hit.uri} offset={hit.snippets[0]?.start} />}
    </div>
  );
}

/** Requests more of a list, up to the limit of a response. */
function More({ params }: { params: URLSearchParams }) {
  const limit = integerParam(params, LIMIT) ?? LIMIT.fallback;
  if (limit >= LIMIT.max) return null;
  return (
    <button type="button" class="more" onClick={() => updateParams({ limit: String(Math.min(LIMIT.max, limit + STEP)) })}>
      More
    </button>
  );
}

/** The notes that pass the filter, without a query. */
function Passing({ params }: { params: URLSearchParams }) {
  const ask = async (signal: AbortSignal) => notes.listNotes({ filter: filterOf(params), pageSize: requiredInteger(params, LIMIT) }, { signal });
  const { answer, failure, stale, again } = useAnswer(paramsKey(params, [LIMIT.name, ...FILTER]), ask, PAUSE);
  return (
    <>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting lines={8} />}
      {answer !== undefined && (
        <div class={stale ? "stale" : ""}>
          <p class="summary" role="status" aria-live="polite">
            {answer.total === 0n ? "No note passes the filter." : `${counted(answer.total, "note passes", "notes pass")} the filter; enter a query to rank them`}
          </p>
          <ul class="plain passing">
            {answer.notes.map((note) => (
              <li key={note.uri}>
                <a href={noteAddress(note.uri)} dir="auto">
                  {note.title}
                </a>
                <small>{folderPath(note).join(" › ")}</small>
              </li>
            ))}
          </ul>
          {answer.nextPageToken !== "" && <More params={params} />}
        </div>
      )}
    </>
  );
}

function Welcome() {
  return (
    <div class="welcome">
      <p>Ask a question in your own words. Notes are found by meaning, by keywords and by links.</p>
      <p class="faint">
        <kbd>+must</kbd> <kbd>+"a phrase"</kbd> <kbd>-not</kbd> narrow the search; <kbd>?</kbd> shows the keyboard shortcuts.
      </p>
      <p>
        <a href={address("note", {})}>All notes by folder</a>
      </p>
      <Recent />
    </div>
  );
}

/** Recent searches of this browser. */
function Recent() {
  if (recent.value.length === 0) return null;
  return (
    <section class="recent" aria-labelledby="recent">
      <h2 id="recent">Recent searches</h2>
      <ul class="plain">
        {recent.value.map((query) => (
          <li key={query}>
            <a href={address("search", { q: query })} dir="auto">
              {query}
            </a>
          </li>
        ))}
      </ul>
      <button type="button" class="link" onClick={forget}>
        clear
      </button>
    </section>
  );
}

/** Legend of the score bars. */
function Legend({ hits }: { hits: readonly Hit[] }) {
  return (
    <p class="legend">
      {partsOf(hits).map((name) => (
        <span key={name}>
          <span class={`swatch ${name}`} aria-hidden="true" />
          {name} <small>{MEANS[name]}</small>
        </span>
      ))}
    </p>
  );
}

function Found({ hit, params, chosen, choose }: { hit: Hit; params: URLSearchParams; chosen: boolean; choose: () => void }) {
  const opened = params.getAll("why");
  const why = opened.includes(hit.uri);
  const toggle = () => updateParams({ why: why ? opened.filter((uri) => uri !== hit.uri) : [...opened, hit.uri] });
  return (
    <li class="hit" aria-current={chosen ? "true" : undefined} onClick={choose} onFocusIn={choose}>
      <div class="head">
        <a href={noteAddress(hit.uri)} title={hit.title} dir="auto" onClick={() => remember(params.get("q") ?? "")}>
          {hit.title}
        </a>
        <ScoreBar hit={hit} />
      </div>
      <p class="where">
        <span>{folderPath(hit).join(" › ") || hit.vault}</span>
        <span>by {originName(hit.origin)}</span>
        {hit.via !== undefined && (
          <span>
            raised by <a href={noteAddress(hit.via)}>{hit.via}</a>
            {connectionName(hit.connection)}
          </span>
        )}
        {!hit.embeddingCurrent && <span class="warn">vectors pending</span>}
        <button type="button" class="link" aria-expanded={why} onClick={toggle}>
          why<span class="unseen"> {hit.title} was found</span>
        </button>
      </p>
      {hit.snippets.map((snippet) => (
        <p key={snippet.start} class="snippet" dir="auto">
          <Headings path={snippet.headingPath} title={hit.title} />
          {snippetPieces(snippet).map((piece, at) => (piece.marked ? <mark key={at}>{piece.text}</mark> : piece.text))}
        </p>
      ))}
      {why && <ScoreTable hit={hit} />}
    </li>
  );
}

/** The headings above a passage, except one that repeats the title. */
function Headings({ path, title }: { path: readonly string[]; title: string }) {
  const rest = path[0] === title ? path.slice(1) : path;
  return rest.length === 0 ? null : <small>{rest.join(" › ")}</small>;
}

/** The note of the selected hit, beside the list if there is room. */
function Preview({ uri, offset }: { uri: string; offset: number | undefined }) {
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
      <p class="facts">
        <OpenNote note={answer} offset={offset} />
      </p>
      <Body note={answer} most={MAX_PREVIEW} />
    </aside>
  );
}
