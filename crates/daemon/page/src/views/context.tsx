// What a model would be given: the accordion drawn to scale, its ledger, and the text.

import { useRef, useState } from "preact/hooks";
import { amend, needed, noteAddress, place, saidBy, type Whole } from "../address";
import { useAnswer } from "../asking";
import { context } from "../daemon";
import { BudgetUnit, ContextMode, LeftOutReason, type AssembleResponse, type ContextItem, type LeftOut } from "../contract/noteweft/v1/context_pb";
import { Rendering } from "../contract/noteweft/v1/common_pb";
import { Failed, Incomplete, Waiting } from "../parts/failure";
import { FILTER, Filters, filterOf } from "../parts/filters";
import { Slider } from "../parts/slider";
import { vaultOf } from "../pulse";
import { count, counted, part } from "../text";
import { useArrival, useTitle } from "../travel";

/** What the context may take, in tokens; where the slider ends, and its step. */
const BUDGET: Whole = { name: "budget", usual: 2000, least: 0, most: 1_000_000 };
const END = 16_000;
const STEP = 100;
const PAUSE = 150;

/** Notes left out that are listed without being asked for. */
const FEW = 8;

const RENDERINGS = [
  ["markdown", "Markdown", Rendering.MARKDOWN],
  ["xml", "XML", Rendering.XML],
  ["json", "JSON", Rendering.JSON],
] as const;

export function ContextView() {
  const { asked } = place.value;
  const query = asked.get("q") ?? "";
  const [, , rendering] = RENDERINGS.find(([name]) => name === asked.get("as")) ?? RENDERINGS[0];
  const blank = query.trim() === "";
  const ask = async (signal: AbortSignal) => context.assemble({ query, budget: BigInt(needed(asked, BUDGET)), rendering, filter: filterOf(asked) }, { signal });
  const { answer, failure, stale, again } = useAnswer(blank ? null : saidBy(asked, ["q", "budget", "as", ...FILTER]), ask, PAUSE);
  const field = useArrival<HTMLInputElement>("context");
  useTitle(blank ? "Context" : query);
  return (
    <div class={`context ${blank ? "blank" : ""}`}>
      <h1 class="unseen">Context</h1>
      <form role="search" class="ask" onSubmit={(event) => event.preventDefault()}>
        <input
          id="query"
          ref={field}
          type="search"
          dir="auto"
          value={query}
          placeholder="The question a model will answer"
          aria-label="Question"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => amend({ q: event.currentTarget.value })}
        />
        <div class="options">
          <Slider asked={asked} of={BUDGET} label="Budget" end={END} step={STEP} said={(budget) => `${count(budget)} tokens`} />
          <fieldset class="choice">
            <legend class="unseen">Written as</legend>
            {RENDERINGS.map(([name, label, value]) => (
              <label key={name}>
                <input type="radio" name="as" checked={rendering === value} onChange={() => amend({ as: name === "markdown" ? null : name })} />
                <span>{label}</span>
              </label>
            ))}
          </fieldset>
          <Filters asked={asked} />
        </div>
      </form>
      {blank && (
        <div class="welcome">
          <p>Write a question and set a budget. You see what a language model would be given: which notes, how much of each, and what was left out.</p>
        </div>
      )}
      {!blank && failure !== undefined && <Failed failure={failure} again={again} />}
      {!blank && answer === undefined && failure === undefined && <Waiting lines={8} />}
      {!blank && answer !== undefined && (
        <div class={stale ? "stale" : ""}>
          <Summary answer={answer} />
          <Accordion answer={answer} />
          <Legend />
          <div class="halves">
            <Ledger answer={answer} />
            <Text answer={answer} />
          </div>
        </div>
      )}
    </div>
  );
}

const unitName = (unit: BudgetUnit): string => (unit === BudgetUnit.CHARACTERS ? "characters" : "tokens");

function modeName(mode: ContextMode): string {
  switch (mode) {
    case ContextMode.FULL:
      return "full";
    case ContextMode.SNIPPET:
      return "snippet";
    case ContextMode.STRUCTURAL:
      return "structural";
    case ContextMode.UNSPECIFIED:
      return "";
  }
}

function reasonName(reason: LeftOutReason): string {
  switch (reason) {
    case LeftOutReason.MISSING:
      return "no such note";
    case LeftOutReason.BELOW_THRESHOLD:
      return "scores too little beside the best";
    case LeftOutReason.BUDGET:
      return "not even its beginning fitted";
    case LeftOutReason.STRUCTURAL_CAP:
      return "enough notes by their headings";
    case LeftOutReason.FILTER:
      return "does not pass the filter";
    case LeftOutReason.DUPLICATE:
      return "stands higher up already";
    case LeftOutReason.UNSPECIFIED:
      return "";
  }
}

function Summary({ answer }: { answer: AssembleResponse }) {
  return (
    <p class="summary">
      <span role="status">
        {answer.items.length === 0
          ? answer.leftOut.length === 0
            ? "No note was found."
            : "Nothing fits the budget."
          : `${counted(answer.items.length, "note")} in ${count(answer.used)} of ${count(answer.budget)} ${unitName(answer.unit)}, ${count(answer.remaining)} left`}
      </span>
      <Incomplete degraded={answer.degraded} />
    </p>
  );
}

/** What the colours of the bar say, in the order of how much of a note is taken. */
const LEGEND = [
  [modeName(ContextMode.FULL), "its text from the start"],
  [modeName(ContextMode.SNIPPET), "the passages that answer"],
  [modeName(ContextMode.STRUCTURAL), "its headings alone"],
  ["none", "not spent"],
] as const;

function Legend() {
  return (
    <p class="legend">
      {LEGEND.map(([mode, meaning]) => (
        <span key={mode}>
          <span class={`swatch mode-${mode}`} aria-hidden="true" />
          {mode === "none" ? "left" : mode} <small>{meaning}</small>
        </span>
      ))}
    </p>
  );
}

/** The budget as one bar, each note as wide as what it takes. */
function Accordion({ answer }: { answer: AssembleResponse }) {
  const spent = answer.items.reduce((sum, item) => sum + Number(item.cost), 0);
  // Costs may be counted in another unit than the budget; together they are what was used.
  const scale = spent === 0 ? 0 : Number(answer.used) / spent / Math.max(1, Number(answer.budget));
  return (
    <div class="accordion" role="group" aria-label="The budget to scale">
      {answer.items.map((item) => (
        <a
          key={item.uri}
          tabIndex={-1}
          class={`mode-${modeName(item.mode)}`}
          href={noteAddress(item.uri)}
          title={sentence(item)}
          aria-label={sentence(item)}
          style={{ width: `${100 * Number(item.cost) * scale}%` }}
        >
          <span dir="auto">{item.title}</span>
        </a>
      ))}
    </div>
  );
}

const sentence = (item: ContextItem): string => `${item.title}: ${modeName(item.mode)}, ${count(item.tokens)} tokens`;

function Ledger({ answer }: { answer: AssembleResponse }) {
  const unit = unitName(answer.ledgerUnit);
  return (
    <section>
      <h2>Ledger</h2>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Ledger">
        <table class="ledger">
          <thead>
            <tr>
              <th scope="col">Note</th>
              <th scope="col">Score</th>
              <th scope="col">Taken</th>
              <th scope="col">Tokens</th>
              <th scope="col">Share</th>
              <th scope="col">Cost</th>
              <th scope="col">Passed on</th>
            </tr>
          </thead>
          <tbody>
            {answer.items.map((item) => (
              <tr key={item.uri}>
                <th scope="row">
                  <a href={noteAddress(item.uri)} dir="auto">{item.title}</a>
                  <From item={item} />
                </th>
                <td>{part(item.score)}</td>
                <td>
                  <span class={`swatch mode-${modeName(item.mode)}`} aria-hidden="true" />
                  {modeName(item.mode)}
                  {item.truncated && <small> cut</small>}
                </td>
                <td>{count(item.tokens)}</td>
                <td>{count(item.cost + item.carryOut)}</td>
                <td>{count(item.cost)}</td>
                <td>{count(item.carryOut)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Rule items={answer.items} unit={unit} />
      {answer.leftOut.length > 0 && <LeftOuts rows={answer.leftOut} />}
    </section>
  );
}

/** How the numbers of the ledger hang together. */
function Rule({ items, unit }: { items: readonly ContextItem[]; unit: string }) {
  const last = items.at(-1);
  if (last === undefined) return null;
  // What a note has of its own is what its share holds beside what it was passed; the same for each.
  const own = last.cost + last.carryOut - last.carryIn;
  return (
    <p class="faint rule">
      In {unit}: each note has {count(own)} of its own, and the one before passes on what it did not need; share − cost = passed on. No note takes more than is left of the budget.
    </p>
  );
}

function LeftOuts({ rows }: { rows: readonly LeftOut[] }) {
  return (
    <details open={rows.length <= FEW}>
      <summary>{counted(rows.length, "note")} left out</summary>
      <table class="ledger out">
        <tbody>
          {rows.map((out, nth) => (
            <tr key={nth}>
              <th scope="row">{out.reason === LeftOutReason.MISSING ? out.uri : <a href={noteAddress(out.uri)}>{out.uri}</a>}</th>
              <td>{part(out.score)}</td>
              <td>{reasonName(out.reason)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function From({ item }: { item: ContextItem }) {
  const below = item.headingPath[0] === item.title ? item.headingPath.slice(1) : item.headingPath;
  const words = [vaultOf(item.uri) ?? "", item.relation ?? "", item.via === undefined ? "" : `via ${item.via}`, below.join(" › ")].filter((word) => word !== "");
  return words.length === 0 ? null : <small> {words.join(", ")}</small>;
}

/** Puts a text on the clipboard, and tells whether that worked. A page that came over plain http from another machine has only the old way. */
async function taken(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const box = document.createElement("textarea");
    box.className = "unseen";
    box.value = text;
    document.body.append(box);
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    return copied;
  }
}

function Text({ answer }: { answer: AssembleResponse }) {
  const [said, setSaid] = useState("");
  const shown = useRef<HTMLPreElement>(null);
  const text = answer.rendered ?? "";
  const copy = async () => {
    const copied = await taken(text);
    // What cannot be copied is marked, so that the keys can.
    if (!copied && shown.current !== null) getSelection()?.selectAllChildren(shown.current);
    setSaid(copied ? "Copied" : `Marked: press ${/Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl"} C`);
    setTimeout(() => setSaid(""), copied ? 1500 : 6000);
  };
  return (
    <section>
      <h2 class="row">
        The text{" "}
        <small>
          {count(answer.used)} {unitName(answer.unit)}, counted by {answer.estimator}
        </small>
        <button type="button" onClick={copy} disabled={text === ""}>
          {said || "Copy"}
        </button>
        <span class="unseen" role="status">
          {said}
        </span>
      </h2>
      <pre class="rendered" tabIndex={0} ref={shown}>
        {text || "Nothing."}
      </pre>
    </section>
  );
}
