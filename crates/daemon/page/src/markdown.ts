// A note's text as a part of the page. A note may hold anything; what comes out runs nothing and loads nothing.

import DOMPurify from "dompurify";
import { Marked, type TokenizerExtension } from "marked";
import { noteAddress } from "./address";
import type { LinkView } from "./contract/noteweft/v1/note_pb";
import { callout, CLASSES, code, EXTENSIONS, markup, withoutMath } from "./syntax";

/** Stands for the address of the note's n-th link until its real one is put in. */
const LINK = "weft:";

const escaped = (text: string): string => text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$=%^]/g, "\\$&");

const TAGS =
  "a abbr b blockquote br caption cite code dd del details dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var".split(
    " ",
  );
const ATTRIBUTES = ["href", "align", "colspan", "rowspan", "start", "open"];

/** Elements whose content is no text for readers. */
const HIDDEN = ["script", "style", "template", "textarea", "title", "iframe", "object", "svg", "math"];

// No tag is looked for beyond the next `<`, so that any text is read in one pass.
const TAG = /<(\/?)([a-z][a-z\d]*)((?:"[^"<]*"|'[^'<]*'|[^"'<>])*)>/gi;
const ATTRIBUTE = /([a-z-]+)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?/gi;

/**
 * A note's own markup with nothing but the tags and attributes that text needs.
 *
 * The sanitiser decides what is safe. This comes before it, so that the browser's policy finds nothing to report when it first reads the markup.
 */
function sober(html: string): string {
  const pieces: string[] = [];
  let [at, hidden] = [0, ""];
  const pass = (end: number) => {
    if (hidden === "") pieces.push(html.slice(at, end));
  };
  for (const tag of html.matchAll(TAG)) {
    const [whole, end = "", written = "", attributes = ""] = tag;
    const name = written.toLowerCase();
    pass(tag.index);
    at = tag.index + whole.length;
    if (hidden !== "") {
      if (end !== "" && name === hidden) hidden = "";
    } else if (TAGS.includes(name)) {
      const kept = [...attributes.matchAll(ATTRIBUTE)].filter(([, key = ""]) => ATTRIBUTES.includes(key.toLowerCase()));
      pieces.push(`<${end}${name}${kept.map(([attribute]) => ` ${attribute}`).join("")}>`);
    } else {
      // What stands on both sides must not become another tag.
      pieces.push(" ");
      if (end === "" && HIDDEN.includes(name)) hidden = name;
    }
  }
  pass(html.length);
  return pieces.join("");
}

/** How long a text may be read, in milliseconds; meanwhile the page stands still. */
const PATIENCE = 1000;

/** The squares of the lengths of runs of ticks, together: the reader takes so many steps where it looks for code, without a look at the clock. */
const MOST_TICKS = 1e8;

/** An element so deep that browsers take long to find its place. */
const DEEP = Array(200).fill("*").join(" > ");

/** Why a text is not drawn: reading it would take too long. */
export class TooLong extends Error {}

/** When the reading of the present text is given up. */
let end = 0;

/** Looks at the clock before each piece of a text. */
const clock = (level: "inline" | "block"): TokenizerExtension => ({
  name: `${level} clock`,
  level,
  tokenizer() {
    if (performance.now() > end) throw new TooLong();
    return undefined;
  },
});

const reader = new Marked({ gfm: true, async: false });
reader.use({
  extensions: [clock("block"), clock("inline"), ...EXTENSIONS],
  hooks: { emStrongMask: withoutMath },
  tokenizer: {
    // One wave strikes nothing out.
    del: (text) => (text.startsWith("~~") ? false : undefined),
    codespan: code,
  },
  renderer: {
    // Images would tell their host who reads what; they become links.
    image({ href, text }) {
      return `<a href="${markup(href)}">${markup(text || href)}</a>`;
    },
    html({ text }) {
      return sober(text);
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
  },
});

/** The text with each link that the index found in it put as a link by number. */
function numbered(body: string, links: readonly LinkView[]): string {
  const characters = Array.from(body);
  const pieces: string[] = [];
  let at = 0;
  links.forEach((link, nth) => {
    const { span } = link;
    if (span === undefined || span.start < at || span.end > characters.length) return;
    const shown = link.display ?? (link.fragment ? `${link.target} › ${link.fragment}` : link.target);
    pieces.push(characters.slice(at, span.start).join(""), `[${escaped(shown)}](<${LINK}${nth}>)`);
    at = span.end;
  });
  pieces.push(characters.slice(at).join(""));
  return pieces.join("");
}

DOMPurify.addHook("uponSanitizeAttribute", (_, attribute) => {
  if (attribute.attrName === "class") attribute.keepAttr = CLASSES.includes(attribute.attrValue);
});

/** What may be written from right to left, by itself. */
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, td, th, dt, dd, summary, caption";

/** What holds such: its marks, bars and columns stand where its first letter says. */
const FRAMES = "ul, ol, li, dl, blockquote, .callout, table";
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The first letter in an element. */
function firstLetter(element: Element): string {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    const letter = /\p{L}/u.exec(text.nodeValue ?? "")?.[0];
    if (letter !== undefined) return letter;
  }
  return "";
}

/** Draws a note's text. A first heading that repeats `title` is left out. Fails where it would take `TooLong`, and where marks are nested too deeply, for the browser or for the reader of Markdown, which then runs out of room. */
export function rendered(body: string, links: readonly LinkView[], title: string): DocumentFragment {
  end = performance.now() + PATIENCE;
  if ([...body.matchAll(/`{9,}/g)].reduce((sum, [run]) => sum + run.length ** 2, 0) > MOST_TICKS) throw new TooLong();
  const html = reader.parse(numbered(body, links)) as string;
  const fragment = DOMPurify.sanitize(html, {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: [...ATTRIBUTES, "class"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // What an address may be is not asked of these.
    ADD_URI_SAFE_ATTR: ["align", "colspan", "rowspan", "start"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|weft:\d+$)/i,
  });
  if (fragment.querySelector(DEEP) !== null) throw new RangeError("nested too deeply");
  for (const anchor of fragment.querySelectorAll("a")) connect(anchor, links);
  for (const quote of fragment.querySelectorAll("blockquote")) callout(quote);
  for (const block of fragment.querySelectorAll<HTMLElement>(BLOCKS)) block.dir = "auto";
  for (const frame of fragment.querySelectorAll<HTMLElement>(FRAMES)) {
    const letter = firstLetter(frame);
    if (letter === "") frame.removeAttribute("dir");
    else frame.dir = RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
  }
  for (const table of fragment.querySelectorAll("table")) {
    // Wide tables scroll by themselves, also by keyboard.
    const frame = document.createElement("div");
    frame.className = "scrolls";
    frame.dir = table.dir;
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Table");
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const block of fragment.querySelectorAll("pre")) block.tabIndex = 0;
  const first = fragment.firstElementChild;
  if (first?.tagName === "H1" && first.textContent?.trim() === title) first.remove();
  return fragment;
}

/** The same where it cannot be read as Markdown: the text and nothing else. */
export function asWritten(body: string): HTMLElement {
  const block = document.createElement("pre");
  block.className = "written";
  block.tabIndex = 0;
  block.textContent = body;
  return block;
}

function connect(anchor: HTMLAnchorElement, links: readonly LinkView[]): void {
  const href = anchor.getAttribute("href");
  if (href === null) {
    anchor.replaceWith(...anchor.childNodes);
  } else if (href.startsWith(LINK)) {
    const link = links[Number(href.slice(LINK.length))];
    if (link?.uri !== undefined && link.resolved) {
      anchor.href = noteAddress(link.uri);
    } else {
      anchor.removeAttribute("href");
      anchor.className = "unresolved";
      anchor.title = "No note answers to this name yet";
    }
  } else {
    anchor.className = "outside";
    anchor.rel = "noopener noreferrer";
    anchor.target = "_blank";
  }
}
