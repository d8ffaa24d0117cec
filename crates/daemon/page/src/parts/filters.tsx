// The filter of the API as form fields, kept in the address.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { updateParams, listed, InvalidAddress, unquoted } from "../address";
import { Comparison, type FilterSchema, type PropertyMatchSchema } from "../contract/noteweft/v1/common_pb";
import { count } from "../text";

type FilterInit = MessageInitShape<typeof FilterSchema>;

/** One row per field: its name in the address, its label, an example. Lists are comma-separated; values that contain a comma are quoted. */
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

/** Names of the fields in the address. */
export const FILTER: readonly string[] = FIELDS.map(([name]) => name);

/** Maximum number of hops of a neighborhood in the API. */
const MAX_HOPS = 0xffff_ffff;

const list = (text: string | null): string[] => listed(text).map(unquoted);

/** Comparison operators as typed. */
const OPERATORS: Record<string, Comparison> = {
  "=": Comparison.EQUAL,
  "!=": Comparison.NOT_EQUAL,
  "<": Comparison.LESS,
  "<=": Comparison.LESS_OR_EQUAL,
  ">": Comparison.GREATER,
  ">=": Comparison.GREATER_OR_EQUAL,
};

/** Parses a comparison such as `year >= 1700`. */
function comparison(text: string): MessageInitShape<typeof PropertyMatchSchema> {
  const [, key = "", sign = "", value = ""] = /^([^!<>=]+)([!<>=]+)(.*)$/.exec(text) ?? [];
  const operator = OPERATORS[sign];
  if (operator === undefined) throw new InvalidAddress(`\`Properties\` expects comparisons such as \`status = draft\` or \`year >= 1700\`, not \`${text}\`. The operators are \`${Object.keys(OPERATORS).join(" ")}\`.`);
  return { key: key.trim(), value: unquoted(value.trim()), comparison: operator };
}

/** Parses the filter in an address. */
export function filterOf(params: URLSearchParams): FilterInit {
  const text = (name: string) => params.get(name)?.trim() || undefined;
  return {
    paths: list(params.get("path")),
    tags: list(params.get("tag")).map((tag) => tag.replace(/^#/, "")),
    types: list(params.get("type")),
    properties: listed(params.get("where")).map(comparison),
    after: text("after"),
    before: text("before"),
    linkedTo: list(params.get("to")),
    linkedFrom: list(params.get("from")),
    within: listed(params.get("within")).map((near) => {
      const [, note = near, hops = "1"] = /^(.*):(\d+)$/.exec(near) ?? [];
      if (Number(hops) > MAX_HOPS) throw new InvalidAddress(`\`Near\` accepts at most ${count(MAX_HOPS)} links, not \`${hops}\`.`);
      return { note: unquoted(note), hops: Number(hops) };
    }),
  };
}

/** Returns whether an address contains a filter. */
export const isFiltered = (params: URLSearchParams): boolean => FILTER.some((name) => params.has(name));

export function Filters({ params, open = false }: { params: URLSearchParams; open?: boolean }) {
  const n = FILTER.filter((name) => params.has(name)).length;
  return (
    <details class="filters" open={open}>
      <summary>Filter{n > 0 && <b> {n}</b>}</summary>
      <div class="fields">
        {FIELDS.map(([name, label, example]) => (
          <label key={name}>
            <span>{label}</span>
            <input value={params.get(name) ?? ""} placeholder={example} autocomplete="off" spellcheck={false} onInput={(event) => updateParams({ [name]: event.currentTarget.value })} />
          </label>
        ))}
        <p class="faint">Put a value that contains a comma in quotes: "Smith, John".</p>
        {n > 0 && (
          <button type="button" onClick={() => updateParams(Object.fromEntries(FILTER.map((name) => [name, null])))}>
            Clear the filter
          </button>
        )}
      </div>
    </details>
  );
}
