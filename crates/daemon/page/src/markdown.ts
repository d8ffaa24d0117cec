// Renders note text as part of the page. A note may contain anything; the result executes nothing and loads nothing.

import DOMPurify from "dompurify";
import { Marked, type TokenizerExtension } from "marked";
import { noteAddress } from "./address";
import type { Block, LinkView } from "./contract/noteweft/v1/note_pb";
import { callout, CLASSES, code, EXTENSIONS, IMAGE, IS_IMAGE, markup, PART, withoutMath } from "./syntax";

/** Placeholder for the place that the address names. */
const MARK = "weft-mark:";

/** Id of the element at the place that the address names. */
export const NAMED_PLACE = "named-part";

/** Placeholder scheme for the address of the note's n-th link, replaced after sanitizing. */
const LINK = "weft:";

const escaped = (text: string): string => text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$=%^]/g, "\\$&");

const TAGS =
  "a abbr b blockquote br caption cite code dd del details dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var".split(
    " ",
  );
const ATTRIBUTES = ["href", "align", "colspan", "rowspan", "start", "open"];

/** Elements whose content is not readable text. */
const HIDDEN = ["script", "style", "template", "textarea", "title", "iframe", "object", "svg", "math"];

// A tag never extends beyond the next `<`, so that any text is parsed in one pass.
const TAG = /<(\/?)([a-z][a-z\d]*)((?:"[^"<]*"|'[^'<]*'|[^"'<>])*)>/gi;
const ATTRIBUTE = /([a-z-]+)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?/gi;

/**
 * Reduces a note's own HTML to the tags and attributes that text needs.
 *
 * The sanitizer decides what is safe. This runs before it, so that the browser's content security policy has nothing to report when the markup is first parsed.
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
      // The text on both sides must not join into another tag.
      pieces.push(" ");
      if (end === "" && HIDDEN.includes(name)) hidden = name;
    }
  }
  pass(html.length);
  return pieces.join("");
}

/** Time limit for parsing a text, in milliseconds; the page is blocked meanwhile. */
const PARSE_TIMEOUT = 1000;

/** Limit for the sum of squared lengths of backtick runs, which bounds the steps of the parser while it searches for code spans and does not check the clock. */
const MAX_TICK_STEPS = 1e8;

/** Selector of an element nested so deeply that browsers become slow. */
const DEEP = Array(200).fill("*").join(" > ");

/** Thrown for a text that takes too long to parse. */
export class TooLong extends Error {}

/** Time at which parsing of the current text is aborted. */
let deadline = 0;

/** Checks the time before each token. */
const clock = (level: "inline" | "block"): TokenizerExtension => ({
  name: `${level} clock`,
  level,
  tokenizer() {
    if (performance.now() > deadline) throw new TooLong();
    return undefined;
  },
});

/** Returns the path of an image in the vault that a Markdown link names; `undefined` for other addresses. */
function localFile(href: string): string | undefined {
  const path = href.replace(/[?#].*$/s, "");
  if (/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(path) || !IS_IMAGE.test(path)) return undefined;
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign that encodes nothing is part of the name.
    return path;
  }
}

const reader = new Marked({ gfm: true, async: false });
reader.use({
  extensions: [clock("block"), clock("inline"), ...EXTENSIONS],
  hooks: { emStrongMask: withoutMath },
  tokenizer: {
    // A single tilde is not strikethrough.
    del: (text) => (text.startsWith("~~") ? false : undefined),
    codespan: code,
  },
  renderer: {
    // Loading images of other hosts would reveal the reader to them, so they become links. Those of the vault are loaded from the daemon.
    image({ href, text }) {
      const local = localFile(href);
      if (local !== undefined) return `<a href="${IMAGE}${markup(local)}">${markup(text)}</a>`;
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

/** Names of blocks, and the part that the address names. */
export interface Parts {
  readonly blocks: readonly Block[];
  /** Start of the part, in characters of the body. */
  readonly named?: number;
}

/** Blanks the names of blocks, such as `^b15695` at the end of a paragraph, and marks the part that the address names. */
function prepared(characters: string[], { blocks, named }: Parts): void {
  for (const { id, start, end } of blocks) {
    const sign = Array.from(`^${id}`);
    let at = Math.min(end, characters.length);
    while (at > start && /\s/.test(characters[at - 1] ?? "")) at -= 1;
    const from = at - sign.length;
    const precedes = from === start || /\s/.test(characters[from - 1] ?? "");
    if (from >= start && precedes && sign.every((character, nth) => characters[from + nth] === character)) characters.fill("", from, at);
  }
  if (named === undefined || named > characters.length) return;
  const end = characters.indexOf("\n", named);
  const line = characters.slice(named, end < 0 ? undefined : end).join("");
  // Within code and tables a link would be text, so it precedes them.
  const at = /^\s*(?:`{3}|~{3}|\||<)|^(?: {4}|\t)/.test(line) ? named : end < 0 ? characters.length : end;
  const mark = at === named ? `[](<${MARK}>)\n\n` : ` [](<${MARK}>)`;
  // Positions of links must not change, so the mark joins an existing element.
  characters[at] = mark + (characters[at] ?? "");
}

/** Replaces each link found by the index by a Markdown link with its number. */
function numbered(body: string, links: readonly LinkView[], parts: Parts): string {
  const characters = Array.from(body);
  prepared(characters, parts);
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

/** Elements whose text direction is determined individually. */
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, td, th, dt, dd, summary, caption";

/** Containers whose markers, bars and columns follow the direction of their first letter. */
const FRAMES = "ul, ol, li, dl, blockquote, .callout, table";
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Returns the first letter in an element. */
function firstLetter(element: Element): string {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    const letter = /\p{L}/u.exec(text.nodeValue ?? "")?.[0];
    if (letter !== undefined) return letter;
  }
  return "";
}

/** Renders a note's text. A first heading that repeats `title` is omitted. Throws `TooLong` if it takes too long, or another error if markup is nested too deeply for the browser or the Markdown parser. */
export function rendered(body: string, { uri, title, links }: { readonly uri: string; readonly title: string; readonly links: readonly LinkView[] }, parts: Parts): DocumentFragment {
  deadline = performance.now() + PARSE_TIMEOUT;
  if ([...body.matchAll(/`{9,}/g)].reduce((sum, [run]) => sum + run.length ** 2, 0) > MAX_TICK_STEPS) throw new TooLong();
  const html = reader.parse(numbered(body, links, parts)) as string;
  const fragment = DOMPurify.sanitize(html, {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: [...ATTRIBUTES, "class"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // These attributes are exempt from the checks of addresses.
    ADD_URI_SAFE_ATTR: ["align", "colspan", "rowspan", "start"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|weft:\d+$|weft-(?:part|image|mark):)/i,
  });
  if (fragment.querySelector(DEEP) !== null) throw new RangeError("nested too deeply");
  for (const anchor of fragment.querySelectorAll("a")) connect(anchor, uri, links);
  for (const quote of fragment.querySelectorAll("blockquote")) callout(quote);
  for (const block of fragment.querySelectorAll<HTMLElement>(BLOCKS)) block.dir = "auto";
  for (const frame of fragment.querySelectorAll<HTMLElement>(FRAMES)) {
    const letter = firstLetter(frame);
    if (letter === "") frame.removeAttribute("dir");
    else frame.dir = RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
  }
  for (const table of fragment.querySelectorAll("table")) {
    // Wide tables scroll separately, with the keyboard as well.
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

/** Shows a text that cannot be rendered as Markdown as plain text. */
export function plainText(body: string): HTMLElement {
  const block = document.createElement("pre");
  block.className = "written";
  block.tabIndex = 0;
  block.textContent = body;
  return block;
}

/** Returns the element for an image of the vault; `Body` loads it. A label that is a size sets the width. */
function picture(target: string, label: string): HTMLImageElement {
  const image = document.createElement("img");
  image.dataset["target"] = target;
  const [, width] = /^(\d{1,4})(?:x\d{1,4})?$/.exec(label.trim()) ?? [];
  if (width !== undefined) image.width = Number(width);
  image.alt = width === undefined && label.trim() !== "" ? label : (target.split("/").at(-1) ?? target);
  return image;
}

function connect(anchor: HTMLAnchorElement, uri: string, links: readonly LinkView[]): void {
  const href = anchor.getAttribute("href");
  if (href === null) {
    anchor.replaceWith(...anchor.childNodes);
  } else if (href === MARK) {
    const mark = document.createElement("span");
    mark.id = NAMED_PLACE;
    anchor.replaceWith(mark);
  } else if (href.startsWith(IMAGE)) {
    anchor.replaceWith(picture(href.slice(IMAGE.length), anchor.textContent ?? ""));
  } else if (href.startsWith(PART)) {
    anchor.href = noteAddress(uri, href.slice(PART.length));
  } else if (href.startsWith(LINK)) {
    const link = links[Number(href.slice(LINK.length))];
    if (link?.uri !== undefined && link.resolved) {
      anchor.href = noteAddress(link.uri, link.fragment);
    } else {
      anchor.removeAttribute("href");
      anchor.className = "unresolved";
      anchor.title = "No note matches this name yet";
    }
  } else {
    anchor.className = "outside";
    anchor.rel = "noopener noreferrer";
    anchor.target = "_blank";
  }
}
