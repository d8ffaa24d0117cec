// Syntax of notes beyond Markdown, one row per construct, as extensions of the Markdown parser.

import type { RendererExtension, TokenizerExtension, Tokens } from "marked";

type Extension = TokenizerExtension & RendererExtension;

/** Escapes text for HTML. */
export const markup = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Schemes of the placeholders for parts of this note and for images, replaced after sanitizing. */
export const PART = "weft-part:";
export const IMAGE = "weft-image:";

/** Names of the images that can be shown. */
export const IS_IMAGE = /\.(?:png|jpe?g|gif|webp|avif|svg)$/i;

/** Classes that the generated markup may carry. */
export const CLASSES: readonly string[] = ["math", "footnote", "file"];

/** A construct matched at the start of a text: the group `kept` is shown. */
interface Row {
  readonly name: string;
  readonly level: "inline" | "block";
  readonly starts: string;
  readonly pattern: RegExp;
  /** True if the shown text is itself parsed for markup. */
  readonly nested?: boolean;
  /** Returns the markup for the groups `kept` and `label`. */
  readonly shown: (kept: string, label: string) => string;
}

const ROWS: readonly Row[] = [
  // The index handles links in double brackets to other notes; the remaining ones name a heading of this note, or a file.
  { name: "inside", level: "inline", starts: "[[#", pattern: /^\[\[#(?<label>[^[\]|\n]+)(?:\|(?<kept>[^[\]|\n]+))?\]\]/, shown: (kept, label) => `<a href="${PART}${label}">${kept || label}</a>` },
  { name: "file", level: "inline", starts: "![[", pattern: /^!\[\[(?<label>[^[\]|\n]+)(?:\|(?<kept>[^[\]\n]*))?\]\]/, shown: (kept, label) => (IS_IMAGE.test(label) ? `<a href="${IMAGE}${label}">${kept}</a>` : `<span class="file">${label}</span>`) },
  { name: "lit", level: "inline", starts: "==", pattern: /^==(?=[^\s=])(?<kept>[^=\n]*(?:=[^=\n]+)*)(?<=\S)==/, nested: true, shown: (kept) => `<mark>${kept}</mark>` },
  { name: "low", level: "inline", starts: "~", pattern: /^~(?!~)(?<kept>[^\s~]+)~(?!~)/, shown: (kept) => `<sub>${kept}</sub>` },
  { name: "comment", level: "block", starts: "%%", pattern: /^%%[^]*?%%[ \t]*(?:\n|$)/, shown: () => "" },
  { name: "aside", level: "inline", starts: "%%", pattern: /^%%[^]*?%%/, shown: () => "" },
  { name: "formula", level: "block", starts: "$$", pattern: /^\$\$(?<kept>[^]+?)\$\$[ \t]*(?:\n|$)/, shown: (kept) => `<pre class="math"><code>${kept}</code></pre>` },
  { name: "math", level: "inline", starts: "$", pattern: /^\$(?<double>\$?)(?![\s$])(?<kept>(?:\\.|[^\\$\n])+?)(?<!\s)\$\k<double>(?![\d$])/, shown: (kept) => `<code class="math">${kept}</code>` },
  { name: "footnote", level: "inline", starts: "[^", pattern: /^\[\^(?<label>[^\]\s]{1,99})\](?!:)/, shown: (_, label) => `<sup>${label}</sup>` },
  {
    name: "footnotes",
    level: "block",
    starts: "[^",
    pattern: /^\[\^(?<label>[^\]\s]{1,99})\]:[ \t]*(?<kept>[^\n]*(?:\n[ \t]+\S[^\n]*)*)(?:\n+|$)/,
    nested: true,
    shown: (kept, label) => `<p class="footnote"><sup>${label}</sup> ${kept}</p>`,
  },
];

const either = (signs: readonly string[]): string => [...new Set(signs)].map((sign) => sign.replace(/\W/g, "\\$&")).join("|");
const starts = (level: Row["level"]): string => either(ROWS.filter((row) => row.level === level).map((row) => row.starts));

/**
 * Positions where a construct may start. The search stops where the parser itself stops, so that any text is parsed in one pass:
 * at the markers of its own constructs, and at the empty line that ends a paragraph. A block starts at the beginning of a line.
 */
const AHEAD: Record<Row["level"], RegExp> = {
  inline: new RegExp(`${starts("inline")}|${either([..."\\<![`*~_"])}`),
  block: new RegExp(`(?<=\\n)(?:\\n|${starts("block")})`),
};

/** The rest of a run that the parser consumes as a whole, if a text continues inside one. */
const RUN = /^[`~]+/;

function extension({ name, level, starts, pattern, nested = false, shown }: Row): Extension {
  return {
    name,
    level,
    start(text) {
      const run = level === "inline" ? (RUN.exec(text)?.[0].length ?? 0) : 0;
      const at = text.slice(run).search(AHEAD[level]);
      return at < 0 || text[run + at] === "\n" ? undefined : run + at;
    },
    tokenizer(text) {
      const match = text.startsWith(starts) ? pattern.exec(text) : null;
      if (match === null) return undefined;
      const { kept = "", label = "" } = match.groups ?? {};
      return { type: name, raw: match[0], kept, label, tokens: nested ? this.lexer.inlineTokens(kept) : [] };
    },
    renderer({ kept, label, tokens = [] }: Tokens.Generic) {
      return shown(nested ? this.parser.parseInline(tokens) : markup(String(kept).trim()), markup(String(label)));
    },
  };
}

/** Parses a code span: from one run of backticks to the next of equal length, in one pass. The parser's own pattern tries each run at every length. */
export function code(text: string): Tokens.Codespan | undefined {
  const ticks = /^`+/.exec(text)?.[0];
  if (ticks === undefined) return undefined;
  const runs = /`+/g;
  runs.lastIndex = ticks.length;
  for (let run = runs.exec(text); run !== null; run = runs.exec(text)) {
    if (run[0].length !== ticks.length) continue;
    const inside = text.slice(ticks.length, run.index).replaceAll("\n", " ");
    // A space at both ends separates backticks and is not part of the code.
    const padded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
    return { type: "codespan", raw: text.slice(0, run.index + ticks.length), text: padded ? inside.slice(1, -1) : inside };
  }
  return undefined;
}

/** Masks formulas, whose characters are not emphasis. */
export const withoutMath = (text: string): string => text.replace(/\$[^$\n]+\$/g, (formula) => "x".repeat(formula.length));

/** Extensions of the Markdown parser. */
export const EXTENSIONS: readonly Extension[] = ROWS.map(extension);

/** Kinds of callouts with their synonyms; an unknown kind becomes the first. */
const KINDS: Record<string, readonly string[]> = {
  note: ["info", "todo", "abstract", "summary", "tldr"],
  tip: ["hint", "important", "success", "check", "done"],
  warning: ["caution", "attention", "question", "help", "faq"],
  danger: ["error", "bug", "failure", "fail", "missing"],
  quote: ["cite", "example"],
};

/** Returns the kind of callout for a name. */
const kindOf = (name: string): string => Object.keys(KINDS).find((kind) => kind === name || KINDS[kind]?.includes(name)) ?? "note";

const CALLOUT = /^\[!([\w-]+)\]([+-]?)[ \t]*/;

/** Converts a quote that starts with `[!kind] Title` into a callout; `+` or `-` after the kind makes it foldable. */
export function callout(quote: Element): void {
  const first = quote.firstElementChild;
  const head = first?.firstChild;
  const [sign, name = "", fold = ""] = (first?.tagName === "P" && head?.nodeType === Node.TEXT_NODE && CALLOUT.exec(head.nodeValue ?? "")) || [];
  if (sign === undefined || first == null || head == null) return;
  head.nodeValue = (head.nodeValue ?? "").slice(sign.length);
  const title = document.createElement(fold === "" ? "p" : "summary");
  title.className = "title";
  // The title ends with its line; the rest of the paragraph stays a paragraph.
  while (first.firstChild !== null) {
    const node = first.firstChild;
    const end = node.nodeType === Node.TEXT_NODE ? (node.nodeValue ?? "").indexOf("\n") : -1;
    if (end >= 0) {
      title.append((node.nodeValue ?? "").slice(0, end));
      node.nodeValue = (node.nodeValue ?? "").slice(end + 1);
      break;
    }
    title.append(node);
  }
  if (first.textContent === "" && first.childElementCount === 0) first.remove();
  if (title.textContent?.trim() === "") title.textContent = name.charAt(0).toUpperCase() + name.slice(1);
  const block = document.createElement(fold === "" ? "div" : "details");
  block.className = `callout callout-${kindOf(name.toLowerCase())}`;
  if (block instanceof HTMLDetailsElement) block.open = fold === "+";
  block.append(title, ...quote.childNodes);
  quote.replaceWith(block);
}
