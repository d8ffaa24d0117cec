// Which notes may be found: the common filter of the contract as fields, kept in the address.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { amend, listed, Unreadable, unquoted } from "../address";
import { Comparison, type FilterSchema, type PropertyMatchSchema } from "../contract/noteweft/v1/common_pb";
import { count } from "../text";

type FilterInit = MessageInitShape<typeof FilterSchema>;

/** One row per field: its name in the address, its label, an example. Lists are written with commas; what holds one stands in quotes. */
const FIELDS = [
  ["path", "Folder or glob", "Calendars/**"],
  ["tag", "Tags", "physics, clocks"],
  ["type", "Type", "essay"],
  ["where", "Properties", "status = draft, year >= 1700"],
  ["after", "Dated from", "2024-01-01"],
  ["before", "Dated before", "2025-01-01"],
  ["to", "Links to", "a note"],
  ["from", "Linked from", "a note"],
  ["within", "Near", "a note:2"],
] as const;

/** The names of the fields in the address. */
export const FILTER: readonly string[] = FIELDS.map(([name]) => name);

/** Links that a neighbourhood may span: the contract's most. */
const MOST_HOPS = 0xffff_ffff;

const list = (text: string | null): string[] => listed(text).map(unquoted);

/** How a property may compare, as it is written. */
const SIGNS: Record<string, Comparison> = {
  "=": Comparison.EQUAL,
  "!=": Comparison.NOT_EQUAL,
  "<": Comparison.LESS,
  "<=": Comparison.AT_MOST,
  ">": Comparison.GREATER,
  ">=": Comparison.AT_LEAST,
};

/** A comparison such as `year >= 1700`. */
function comparison(written: string): MessageInitShape<typeof PropertyMatchSchema> {
  const [, key = "", sign = "", value = ""] = /^([^!<>=]+)([!<>=]+)(.*)$/.exec(written) ?? [];
  const meant = SIGNS[sign];
  if (meant === undefined) throw new Unreadable(`\`Properties\` compares, such as \`status = draft\` or \`year >= 1700\`; \`${written}\` does not. The signs are \`${Object.keys(SIGNS).join(" ")}\`.`);
  return { key: key.trim(), value: unquoted(value.trim()), comparison: meant };
}

/** The filter that an address holds. */
export function filterOf(asked: URLSearchParams): FilterInit {
  const text = (name: string) => asked.get(name)?.trim() || undefined;
  return {
    paths: list(asked.get("path")),
    tags: list(asked.get("tag")).map((tag) => tag.replace(/^#/, "")),
    types: list(asked.get("type")),
    properties: listed(asked.get("where")).map(comparison),
    after: text("after"),
    before: text("before"),
    linkedTo: list(asked.get("to")),
    linkedFrom: list(asked.get("from")),
    within: listed(asked.get("within")).map((near) => {
      const [, note = near, hops = "1"] = /^(.*):(\d+)$/.exec(near) ?? [];
      if (Number(hops) > MOST_HOPS) throw new Unreadable(`\`Near\` counts up to ${count(MOST_HOPS)} links, not \`${hops}\`.`);
      return { note: unquoted(note), hops: Number(hops) };
    }),
  };
}

/** Whether an address holds a filter. */
export const isFiltered = (asked: URLSearchParams): boolean => FILTER.some((name) => asked.has(name));

export function Filters({ asked, open = false }: { asked: URLSearchParams; open?: boolean }) {
  const n = FILTER.filter((name) => asked.has(name)).length;
  return (
    <details class="filters" open={open}>
      <summary>Filter{n > 0 && <b> {n}</b>}</summary>
      <div class="fields">
        {FIELDS.map(([name, label, example]) => (
          <label key={name}>
            <span>{label}</span>
            <input value={asked.get(name) ?? ""} placeholder={example} autocomplete="off" spellcheck={false} onInput={(event) => amend({ [name]: event.currentTarget.value })} />
          </label>
        ))}
        <p class="faint">A name with a comma stands in quotes: "Smith, John".</p>
        {n > 0 && (
          <button type="button" onClick={() => amend(Object.fromEntries(FILTER.map((name) => [name, null])))}>
            Clear the filter
          </button>
        )}
      </div>
    </details>
  );
}
