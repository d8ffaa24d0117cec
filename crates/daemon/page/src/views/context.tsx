// A context for a model: the budget drawn to scale, the ledger, and the text.

import { useRef, useState } from "preact/hooks";
import { updateParams, requiredInteger, noteAddress, place, paramsKey, type IntegerParam } from "../address";
import { useAnswer } from "../use-answer";
import { context } from "../daemon";
import { BudgetUnit, ContextMode, OmissionReason, type AssembleResponse, type ContextItem, type OmittedNote } from "../contract/noteweft/v1/context_pb";
import { Rendering } from "../contract/noteweft/v1/common_pb";
import { Failed, Warnings, Waiting } from "../parts/failure";
import { FILTER, Filters, filterOf } from "../parts/filters";
import { Slider } from "../parts/slider";
import { vaultOf } from "../index-status";
import { count, counted, part } from "../text";
import { useArrival, useTitle } from "../scroll-position";

/** Budget of the context in tokens; end and step of the slider. */
const BUDGET: IntegerParam = { name: "budget", fallback: 2000, min: 0, max: 1_000_000 };
const END = 16_000;
const STEP = 100;
const PAUSE = 150;

/** Maximum number of omitted notes whose list is open by default. */
const MAX_OPEN = 8;

const RENDERINGS = [
  ["markdown", "Markdown", Rendering.MARKDOWN],
  ["xml", "XML", Rendering.XML],
  ["json", "JSON", Rendering.JSON],
] as const;

export function ContextView() {
  const { params } = place.value;
  const query = params.get("q") ?? "";
  const [, , rendering] = RENDERINGS.find(([name]) => name === params.get("as")) ?? RENDERINGS[0];
  const blank = query.trim() === "";
  const ask = async (signal: AbortSignal) => context.assemble({ query, budget: BigInt(requiredInteger(params, BUDGET)), rendering, filter: filterOf(params) }, { signal });
  const { answer, failure, stale, again } = useAnswer(blank ? null : paramsKey(params, ["q", "budget", "as", ...FILTER]), ask, PAUSE);
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
          placeholder="Question for the model"
          aria-label="Question"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => updateParams({ q: event.currentTarget.value })}
        />
        <div class="options">
          <Slider params={params} of={BUDGET} label="Budget" end={END} step={STEP} format={(budget) => `${count(budget)} tokens`} />
          <fieldset class="choice">
            <legend class="unseen">Format</legend>
            {RENDERINGS.map(([name, label, value]) => (
              <label key={name}>
                <input type="radio" name="as" checked={rendering === value} onChange={() => updateParams({ as: name === "markdown" ? null : name })} />
                <span>{label}</span>
              </label>
            ))}
          </fieldset>
          <Filters params={params} />
        </div>
      </form>
      {blank && (
        <div class="welcome">
          <p>Enter a question and set a budget to see the context for a language model: which notes, how much of each, and what was omitted.</p>
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
            <RenderedText answer={answer} />
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

function reasonName(reason: OmissionReason): string {
  switch (reason) {
    case OmissionReason.MISSING:
      return "no such note";
    case OmissionReason.BELOW_THRESHOLD:
      return "score too low";
    case OmissionReason.BUDGET:
      return "does not fit";
    case OmissionReason.STRUCTURAL_CAP:
      return "structural cap reached";
    case OmissionReason.FILTER:
      return "excluded by the filter";
    case OmissionReason.DUPLICATE:
      return "duplicate";
    case OmissionReason.UNSPECIFIED:
      return "";
  }
}

function Summary({ answer }: { answer: AssembleResponse }) {
  return (
    <p class="summary">
      <span role="status">
        {answer.items.length === 0
          ? answer.omitted.length === 0
            ? "No notes found."
            : "No note fits the budget."
          : `${counted(answer.items.length, "note")} in ${count(answer.used)} of ${count(answer.budget)} ${unitName(answer.unit)}, ${count(answer.remaining)} left`}
      </span>
      <Warnings warnings={answer.warnings} />
    </p>
  );
}

/** Meaning of the colors of the bar, from most to least of a note. */
const LEGEND = [
  [modeName(ContextMode.FULL), "the text from its start"],
  [modeName(ContextMode.SNIPPET), "matching passages"],
  [modeName(ContextMode.STRUCTURAL), "headings only"],
  ["none", "remaining budget"],
] as const;

function Legend() {
  return (
    <p class="legend">
      {LEGEND.map(([mode, meaning]) => (
        <span key={mode}>
          <span class={`swatch mode-${mode}`} aria-hidden="true" />
          {mode === "none" ? "unused" : mode} <small>{meaning}</small>
        </span>
      ))}
    </p>
  );
}

/** The budget as a bar, each note as wide as its cost. */
function Accordion({ answer }: { answer: AssembleResponse }) {
  const spent = answer.items.reduce((sum, item) => sum + Number(item.cost), 0);
  // Costs may be in another unit than the budget; their sum corresponds to the amount used.
  const scale = spent === 0 ? 0 : Number(answer.used) / spent / Math.max(1, Number(answer.budget));
  return (
    <div class="accordion" role="group" aria-label="Budget to scale">
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
              <th scope="col">Mode</th>
              <th scope="col">Tokens</th>
              <th scope="col">Share</th>
              <th scope="col">Cost</th>
              <th scope="col">Carry</th>
            </tr>
          </thead>
          <tbody>
            {answer.items.map((item) => (
              <tr key={item.uri}>
                <th scope="row">
                  <a href={noteAddress(item.uri)} dir="auto">{item.title}</a>
                  <ItemOrigin item={item} />
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
      <CarryRule items={answer.items} unit={unit} />
      {answer.omitted.length > 0 && <OmittedNotes rows={answer.omitted} />}
    </section>
  );
}

/** Explains the arithmetic of the ledger. */
function CarryRule({ items, unit }: { items: readonly ContextItem[]; unit: string }) {
  const last = items.at(-1);
  if (last === undefined) return null;
  // The share of a note without the carry of the previous one; equal for all notes.
  const own = last.cost + last.carryOut - last.carryIn;
  return (
    <p class="faint rule">
      In {unit}: each share is {count(own)} plus the carry of the previous note, and carry = share − cost. No note uses more than the remaining budget.
    </p>
  );
}

function OmittedNotes({ rows }: { rows: readonly OmittedNote[] }) {
  return (
    <details open={rows.length <= MAX_OPEN}>
      <summary>{counted(rows.length, "note")} omitted</summary>
      <table class="ledger out">
        <tbody>
          {rows.map((out, nth) => (
            <tr key={nth}>
              <th scope="row">{out.reason === OmissionReason.MISSING ? out.uri : <a href={noteAddress(out.uri)}>{out.uri}</a>}</th>
              <td>{part(out.score)}</td>
              <td>{reasonName(out.reason)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function ItemOrigin({ item }: { item: ContextItem }) {
  const below = item.headingPath[0] === item.title ? item.headingPath.slice(1) : item.headingPath;
  const words = [vaultOf(item.uri) ?? "", item.relation ?? "", item.via === undefined ? "" : `via ${item.via}`, below.join(" › ")].filter((word) => word !== "");
  return words.length === 0 ? null : <small> {words.join(", ")}</small>;
}

/** Copies a text to the clipboard, and returns whether that succeeded. A page loaded over plain HTTP from another machine can only use the deprecated API. */
async function copyText(text: string): Promise<boolean> {
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

function RenderedText({ answer }: { answer: AssembleResponse }) {
  const [message, setMessage] = useState("");
  const shown = useRef<HTMLPreElement>(null);
  const text = answer.rendered ?? "";
  const copy = async () => {
    const copied = await copyText(text);
    // If copying fails, the text is selected, so that the user can copy it with the keyboard.
    if (!copied && shown.current !== null) getSelection()?.selectAllChildren(shown.current);
    setMessage(copied ? "Copied" : `Selected: press ${/Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl"} C`);
    setTimeout(() => setMessage(""), copied ? 1500 : 6000);
  };
  return (
    <section>
      <h2 class="row">
        Rendered text{" "}
        <small>
          {count(answer.used)} {unitName(answer.unit)}, estimated by {answer.estimator}
        </small>
        <button type="button" onClick={copy} disabled={text === ""}>
          {message || "Copy"}
        </button>
        <span class="unseen" role="status">
          {message}
        </span>
      </h2>
      <pre class="rendered" tabIndex={0} ref={shown}>
        {text || "Empty."}
      </pre>
    </section>
  );
}
