// What stands where an answer would, when there is none.

import { noteAddress } from "../address";
import type { Failure } from "../daemon";

const TITLES: Record<Failure["kind"], string> = {
  unreachable: "No answer",
  opening: "Opening the index",
  token: "A token is needed",
  unknown: "Not found",
  invalid: "That cannot be asked",
  late: "That took too long",
  unimplemented: "Not known here",
  other: "Something went wrong",
};

export function Failed({ failure, again }: { failure: Failure; again: () => void }) {
  const { kind, text, near } = failure;
  return (
    <div class="failed" role="alert">
      <strong>{TITLES[kind]}</strong>
      <p>{text}</p>
      {near.length > 0 && (
        <p>
          Near:{" "}
          {near.map((uri, at) => (
            <>
              {at > 0 && ", "}
              <a href={noteAddress(uri)}>{uri}</a>
            </>
          ))}
        </p>
      )}
      {(kind === "late" || kind === "other") && (
        <button type="button" onClick={again}>
          Ask again
        </button>
      )}
    </div>
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
