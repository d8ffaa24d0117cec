// What stands where an answer would, when there is none.

import type { Ref } from "preact";
import { noteAddress } from "../address";
import { openLogin, type Failure } from "../daemon";

const TITLES: Record<Failure["kind"], string> = {
  unreachable: "No answer",
  opening: "Opening the index",
  token: "A token is needed",
  forbidden: "This token does not allow it",
  unknown: "Not found",
  invalid: "That cannot be asked",
  unable: "Not as this daemon is set up",
  late: "That took too long",
  unimplemented: "Not known here",
  other: "Something went wrong",
};

/** Says what went wrong and what can be done; `offer` is the address behind each near name, its note unless told otherwise. Where it stands for a whole view, `heading` takes what names it. */
export function Failed({ failure, again, offer = noteAddress, heading }: { failure: Failure; again: () => void; offer?: (uri: string) => string; heading?: Ref<HTMLHeadingElement> }) {
  const { kind, text, near } = failure;
  return (
    <div class="failed" role="alert">
      {heading === undefined ? (
        <strong>{TITLES[kind]}</strong>
      ) : (
        <h1 ref={heading} tabIndex={-1}>
          {TITLES[kind]}
        </h1>
      )}
      <p>{text.split("`").map((piece, nth) => (nth % 2 === 0 ? piece : <code key={nth}>{piece}</code>))}</p>
      {near.length > 0 && (
        <p>
          Near:{" "}
          {near.map((uri, at) => (
            <>
              {at > 0 && ", "}
              <a href={offer(uri)}>{uri}</a>
            </>
          ))}
        </p>
      )}
      {(kind === "forbidden" || kind === "token") && (
        <button type="button" onClick={openLogin}>
          {kind === "token" ? "Give a token" : "Use another token"}
        </button>
      )}
      {(kind === "late" || kind === "other") && (
        <button type="button" onClick={again}>
          Ask again
        </button>
      )}
    </div>
  );
}

/** How an answer begins to say which way of finding notes it lacks, and how people say it. */
const WAYS = [
  ["vector: ", " by meaning: "],
  ["words: ", " by words: "],
  ["names: ", " by name: "],
  ["expansion: ", " by links: "],
] as const;

/** Says what an answer lacks and why. While vectors are made that changes every second, so it stands beside what is spoken of an answer. */
export function Incomplete({ degraded }: { degraded: readonly string[] }) {
  return (
    <>
      {degraded.map((what) => {
        const [begins, said] = WAYS.find(([begins]) => what.startsWith(begins)) ?? ["", ": "];
        return (
          <span key={what} class="degraded">
            {`incomplete${said}${what.slice(begins.length)}`}
          </span>
        );
      })}
    </>
  );
}

/** A place where an answer will stand. */
export function Waiting({ lines = 3 }: { lines?: number }) {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, nth) => (
        <span key={nth} />
      ))}
    </div>
  );
}
