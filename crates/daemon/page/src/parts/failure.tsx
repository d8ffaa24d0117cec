// Placeholders for missing answers: errors, warnings and loading.

import type { Warning } from "../contract/noteweft/v1/common_pb";
import type { Ref } from "preact";
import { noteAddress } from "../address";
import { openLogin, type Failure } from "../daemon";

const TITLES: Record<Failure["kind"], string> = {
  unreachable: "Cannot reach the daemon",
  opening: "Opening the index",
  token: "A token is required",
  forbidden: "Permission denied",
  unknown: "Not found",
  invalid: "Invalid request",
  unable: "Not available with the daemon's settings",
  late: "Request timed out",
  unimplemented: "Not supported",
  other: "Something went wrong",
};

/** Shows an error and possible actions. `offer` returns the address of each suggestion, by default that of the note. If the error replaces a whole view, `heading` is the ref of its heading. */
export function Failed({ failure, again, offer = noteAddress, heading }: { failure: Failure; again: () => void; offer?: (uri: string) => string; heading?: Ref<HTMLHeadingElement> }) {
  const { kind, text, suggestions } = failure;
  return (
    <div class="failed" role="alert">
      {heading === undefined ? (
        <strong>{TITLES[kind]}</strong>
      ) : (
        <h1 ref={heading} tabIndex={-1}>
          {TITLES[kind]}
        </h1>
      )}
      <p>{text.split("`").map((part, nth) => (nth % 2 === 0 ? part : <code key={nth}>{part}</code>))}</p>
      {suggestions.length > 0 && (
        <p>
          Similar names:{" "}
          {suggestions.map((uri, at) => (
            <>
              {at > 0 && ", "}
              <a href={offer(uri)}>{uri}</a>
            </>
          ))}
        </p>
      )}
      {(kind === "forbidden" || kind === "token") && (
        <button type="button" onClick={openLogin}>
          {kind === "token" ? "Enter a token" : "Use another token"}
        </button>
      )}
      {(kind === "late" || kind === "other") && (
        <button type="button" onClick={again}>
          Retry
        </button>
      )}
    </div>
  );
}

/** Shows the warnings of a response. Pending vectors change every second while they are computed, so warnings are kept out of live regions. */
export function Warnings({ warnings }: { warnings: readonly Warning[] }) {
  return (
    <>
      {warnings.map(({ code, message }) => (
        <span key={message} class="warn" data-code={code}>
          {message}
        </span>
      ))}
    </>
  );
}

/** Placeholder for a pending answer. */
export function Waiting({ lines = 3 }: { lines?: number }) {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, nth) => (
        <span key={nth} />
      ))}
    </div>
  );
}
