// A context for a model: the budget drawn to scale, the ledger, the text, its passages, and what other requests would give.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { updateParams, requiredInteger, noteAddress, place, paramsKey, type IntegerParam } from "../address";
import { useAnswer } from "../use-answer";
import { context } from "../daemon";
import { BudgetUnit, ContextMode, OmissionReason, PackingProfile, type AssembleResponse, type ContextItem, type OmittedNote } from "../contract/noteweft/v1/context_pb";
import { Rendering } from "../contract/noteweft/v1/common_pb";
import { Failed, Warnings, Waiting } from "../parts/failure";
import { FILTER, Filters, filterOf } from "../parts/filters";
import { MoreTokens, STEP as FURTHER } from "../parts/more-tokens";
import { belowTitle, modeName, packingName, packingOf, PACKINGS } from "../parts/packing";
import { isShown, Passages } from "../parts/passages";
import { Slider } from "../parts/slider";
import { Variants } from "../parts/variants";
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
  const assemble = async (budget: number, packing: PackingProfile, signal: AbortSignal) =>
    context.assemble({ query, budget: BigInt(budget), rendering, packing, filter: filterOf(params), explain: true }, { signal });
  const ask = async (signal: AbortSignal) => assemble(requiredInteger(params, BUDGET), packingOf(params), signal);
  const requestKey = paramsKey(params, ["q", "budget", "as", "packing", ...FILTER]);
  const { answer, failure, stale, again } = useAnswer(blank ? null : requestKey, ask, PAUSE);
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
          <label class="packing">
            <span>Packing</span>
            <select value={params.get("packing") ?? ""} onChange={(event) => updateParams({ packing: event.currentTarget.value })}>
              <option value="">As configured</option>
              {PACKINGS.map(([name, label, , meaning]) => (
                <option key={name} value={name}>
                  {label}: {meaning}
                </option>
              ))}
            </select>
          </label>
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
        <>
          <div class={stale ? "stale" : ""}>
            <Summary answer={answer} />
            <Accordion answer={answer} />
            <Legend packing={answer.packing} />
            <div class="halves">
              <Ledger answer={answer} />
              <RenderedText answer={answer} />
            </div>
            <Passages answer={answer} />
          </div>
          <Fold params={params} name="more" title={`What each further ${FURTHER} tokens would add`}>
            {() => <MoreTokens budget={requiredInteger(params, BUDGET)} requestKey={requestKey} assemble={(budget, signal) => assemble(budget, packingOf(params), signal)} />}
          </Fold>
          <Fold params={params} name="compare" title="The packing profiles side by side">
            {() => <Variants requestKey={paramsKey(params, ["q", "budget", "as", ...FILTER])} assemble={(packing, signal) => assemble(requiredInteger(params, BUDGET), packing, signal)} />}
          </Fold>
        </>
      )}
    </div>
  );
}

/** A part that sends its own requests, and only while it is open; the parameter `name` of the address opens it. */
function Fold({ params, name, title, children }: { params: URLSearchParams; name: string; title: string; children: () => ComponentChildren }) {
  const open = params.get(name) === "1";
  return (
    <details
      class="part"
      open={open}
      onToggle={(event) => {
        // The event also reports an opening by the address.
        if (event.currentTarget.open !== open) updateParams({ [name]: open ? null : "1" });
      }}
    >
      <summary>
        <h2>{title}</h2>
      </summary>
      {open && children()}
    </details>
  );
}

const unitName = (unit: BudgetUnit): string => (unit === BudgetUnit.CHARACTERS ? "characters" : "tokens");

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

/** Meaning of the colors of the bar, from most to least of a note; the profile `classic` cuts a text at its share. */
const legend = (packing: PackingProfile) =>
  [
    [modeName(ContextMode.FULL), packing === PackingProfile.CLASSIC ? "the text from its start" : "the whole text"],
    [modeName(ContextMode.SNIPPET), "passages"],
    [modeName(ContextMode.STRUCTURAL), "headings only"],
    ["none", "remaining budget"],
  ] as const;

function Legend({ packing }: { packing: PackingProfile }) {
  return (
    <p class="legend">
      {legend(packing).map(([mode, meaning]) => (
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
  // Shares and carries are the arithmetic of one profile only, and the others count passages.
  const classic = answer.packing === PackingProfile.CLASSIC;
  const passages = Map.groupBy(answer.passages, (passage) => passage.uri);
  return (
    <section>
      <h2>
        Ledger <small>packed by the profile {packingName(answer.packing)}</small>
      </h2>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Ledger">
        <table class="ledger">
          <thead>
            <tr>
              <th scope="col">Note</th>
              <th scope="col">Score</th>
              <th scope="col">Mode</th>
              <th scope="col">Tokens</th>
              {classic ? (
                <>
                  <th scope="col">Share</th>
                  <th scope="col">Cost</th>
                  <th scope="col">Carry</th>
                </>
              ) : (
                <th scope="col">Passages</th>
              )}
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
                {classic ? (
                  <>
                    <td>{count(item.cost + item.carryOut)}</td>
                    <td>{count(item.cost)}</td>
                    <td>{count(item.carryOut)}</td>
                  </>
                ) : (
                  <td>
                    {count(passages.get(item.uri)?.filter(isShown).length ?? 0)} of {count(passages.get(item.uri)?.length ?? 0)}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {classic && <CarryRule items={answer.items} unit={unit} />}
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
  const words = [vaultOf(item.uri) ?? "", item.relation ?? "", item.via === undefined ? "" : `via ${item.via}`, belowTitle(item.headingPath, item.title)].filter((word) => word !== "");
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
