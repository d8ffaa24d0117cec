// Status of the index: indexed, pending, skipped and failed files, and unresolved links.

import { useMemo } from "preact/hooks";
import { updateParams, noteAddress, place } from "../address";
import { collect, useAnswer } from "../use-answer";
import { admin } from "../daemon";
import { FileState, Phase, Severity, type FileCoverage, type Setting, type StatusResponse } from "../contract/noteweft/v1/admin_pb";
import { Failed, Waiting } from "../parts/failure";
import { Hygiene } from "../parts/hygiene";
import { away, phaseName, publications, status } from "../index-status";
import { bytes, count, counted, duration, percent } from "../text";
import { useArrival, useTitle } from "../scroll-position";

export function IndexView() {
  const known = status.value;
  const { answer, failure, again } = useAnswer(known === undefined ? null : "files", async (signal) =>
    (await collect(admin.coverage({}, { signal }))).flatMap((message) => message.files),
  );
  const refused = away.value?.kind === "forbidden" || away.value?.kind === "token" ? away.value : undefined;
  const heading = useArrival<HTMLHeadingElement>(known === undefined && refused === undefined ? "" : "index");
  useTitle("Index");
  if (refused !== undefined) return <Failed failure={refused} again={again} heading={heading} />;
  if (known === undefined) return <Waiting lines={8} />;
  return (
    <div class="index">
      <h1 class="unseen" ref={heading} tabIndex={-1}>
        Index
      </h1>
      <Numbers known={known} />
      <Backlog known={known} />
      {known.notices.map((notice) => (
        <p key={notice} class="notice">
          {notice}
        </p>
      ))}
      {known.lastError !== undefined && (
        <p class="notice bad" role="alert">
          {known.lastError}
        </p>
      )}
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting lines={6} />}
      <Generations />
      {answer !== undefined && <Unresolved files={answer} />}
      <Hygiene />
      {answer !== undefined && <Files files={answer} />}
      <Vaults known={known} />
      <Settings />
    </div>
  );
}

function Numbers({ known }: { known: StatusResponse }) {
  const links = known.vaults.reduce((sum, vault) => sum + Number(vault.linkCount), 0);
  const resolved = known.vaults.reduce((sum, vault) => sum + Number(vault.resolvedCount), 0);
  const vectors = Number(known.chunkCount - known.pendingVectorCount - known.failedVectorCount);
  const failed = known.failedVectorCount > 0n ? `, ${count(known.failedVectorCount)} failed` : "";
  const cells: [string, string, string][] = [
    ["Notes", count(known.noteCount), phaseName(known.phase)],
    ["Links", count(links), links === 0 ? "no links yet" : `${percent(resolved / links)} resolved`],
    ["Vectors", known.model === undefined ? "none" : count(vectors), known.model === undefined ? "keywords and links only" : `of ${counted(known.chunkCount, "chunk")}${failed}`],
    ["Generation", count(known.generation), `${bytes(Number(known.storeBytes))} on disk`],
  ];
  return (
    <dl class="numbers">
      {cells.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
            <span>{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Remaining work, with rate and time left. */
function Backlog({ known }: { known: StatusResponse }) {
  if (known.phase === Phase.READY && known.pendingVectorCount === 0n) return null;
  const embedding = known.pendingVectorCount > 0n && known.chunkCount > 0n;
  const [done, total] = embedding ? [Number(known.chunkCount - known.pendingVectorCount), Number(known.chunkCount)] : [Number(known.processedFileCount), Number(known.totalFileCount)];
  return (
    <div class="backlog">
      <label>
        <span>
          {phaseName(known.phase)}: {count(done)} of {count(total)} {embedding ? "chunks" : "files"}
        </span>
        <progress max={Math.max(1, total)} value={done} />
      </label>
      <p class="faint">
        {known.vectorsPerSecond > 0 && `${known.vectorsPerSecond.toFixed(0)} per second`}
        {known.estimatedSecondsLeft !== undefined && `, ${duration(known.estimatedSecondsLeft)} left`}
        {embedding && " · keywords and links are already searchable"}
      </p>
    </div>
  );
}

/** The generations published while the page is open. */
function Generations() {
  const rows = publications.value;
  return (
    <section>
      <h2>
        Generations <small>published states of the index; equal digests mean equal notes</small>
      </h2>
      <ol class="plain generations" tabIndex={0} aria-label="Generations, newest first">
        {rows.map(({ at, published }) => (
          <li key={published.generation}>
            <b>{count(published.generation)}</b> {at === undefined ? <small>before this page was opened</small> : <time dateTime={at.toISOString()}>{at.toLocaleTimeString()}</time>}
            <span>
              {counted(published.noteCount, "note")}
              {published.pendingVectorCount > 0n && `, ${counted(published.pendingVectorCount, "pending vector")}`}
              {published.missedCount > 0n && `, ${count(published.missedCount)} skipped`}
            </span>
            <code aria-label={`digest ${published.digest.slice(0, SHOWN_DIGITS)}`}>{published.digest.slice(0, SHOWN_DIGITS)}</code>
          </li>
        ))}
      </ol>
      {rows.every(({ at }) => at === undefined) && <p class="faint">None published since this page was opened; saving a note publishes the next one.</p>}
    </section>
  );
}

/** Returns the path of a file, with its vault if several are served. */
const pathOf = (file: FileCoverage): string => ((status.value?.vaults.length ?? 0) > 1 ? `${file.vault}/${file.path}` : file.path);

/** Number of digits shown of a digest, enough to distinguish two states. */
const SHOWN_DIGITS = 8;

function Unresolved({ files }: { files: readonly FileCoverage[] }) {
  const targets = useMemo(() => {
    const found = new Map<string, FileCoverage[]>();
    for (const file of files) for (const target of new Set(file.unresolved)) found.set(target, [...(found.get(target) ?? []), file]);
    return [...found].sort(([a, of], [b, others]) => others.length - of.length || (a < b ? -1 : 1));
  }, [files]);
  return (
    <section>
      <h2>
        Unresolved links <small>{count(targets.length)}</small>
      </h2>
      {targets.length === 0 ? (
        <p class="faint">{files.some((file) => file.linkCount > 0) ? "All links are resolved." : "There are no links yet."}</p>
      ) : (
        <div class="unresolveds" tabIndex={0} role="region" aria-label="Unresolved links">
          <ul class="plain">
            {targets.slice(0, SHOWN).map(([target, origins]) => (
              <li key={target}>
                <span class="unresolved">{target}</span>
                <small>
                  {" in "}
                  {origins.slice(0, 4).map((file, at) => (
                    <>
                      {at > 0 && ", "}
                      <a href={noteAddress(file.uri ?? file.path)}>{pathOf(file).replace(/\.\w+$/, "")}</a>
                    </>
                  ))}
                  {origins.length > 4 && ` and ${origins.length - 4} more`}
                </small>
              </li>
            ))}
          </ul>
        </div>
      )}
      {targets.length > SHOWN && <p class="faint">and {count(targets.length - SHOWN)} more</p>}
    </section>
  );
}

const STATES = [
  ["all", "All", undefined],
  ["indexed", "Indexed", FileState.INDEXED],
  ["pending", "Pending", FileState.PENDING],
  ["skipped", "Skipped", FileState.SKIPPED],
  ["failed", "Failed", FileState.FAILED],
  ["odd", "With diagnostics", undefined],
] as const;

/** Maximum number of rows shown: more would block typing. */
const SHOWN = 300;

function Files({ files }: { files: readonly FileCoverage[] }) {
  const { params } = place.value;
  const chosen = STATES.find(([name]) => name === params.get("state")) ?? STATES[0];
  const words = (params.get("file") ?? "").toLowerCase();
  const fits = ([name, , state]: (typeof STATES)[number], file: FileCoverage) =>
    name === "odd" ? file.diagnostics.length > 0 : state === undefined || file.state === state;
  const rows = files.filter((file) => fits(chosen, file) && pathOf(file).toLowerCase().includes(words));
  return (
    <section>
      <h2>Files</h2>
      <div class="row">
        <fieldset class="choice">
          <legend class="unseen">State of files</legend>
          {STATES.map((row) => {
            const n = files.filter((file) => fits(row, file)).length;
            return (
              <label key={row[0]}>
                <input type="radio" name="state" checked={row === chosen} onChange={() => updateParams({ state: row[0] === "all" ? null : row[0] })} />
                <span>
                  {row[1]} <small>{count(n)}</small>
                </span>
              </label>
            );
          })}
        </fieldset>
        <input type="search" class="narrow" value={params.get("file") ?? ""} placeholder="Filter by path" aria-label="Filter by path" onInput={(event) => updateParams({ file: event.currentTarget.value })} />
      </div>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Files">
        <table class="files">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col">State</th>
              <th scope="col">Chunks</th>
              <th scope="col">Links</th>
              <th scope="col">Diagnostics</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((file) => (
              <tr key={`${file.vault}/${file.path}`}>
                <th scope="row">{file.uri === undefined ? pathOf(file) : <a href={noteAddress(file.uri)}>{pathOf(file)}</a>}</th>
                <td>{stateName(file.state)}</td>
                <td>{count(file.chunkCount)}</td>
                <td>{count(file.linkCount)}</td>
                <td>
                  {file.reason}
                  {file.diagnostics.map((diagnostic) => (
                    <span key={`${diagnostic.code} ${diagnostic.line} ${diagnostic.message}`} class={diagnostic.severity === Severity.WARNING ? "warning" : ""}>
                      {diagnostic.line !== undefined && `line ${diagnostic.line}: `}
                      {diagnostic.message}{" "}
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > SHOWN && <p class="faint">and {count(rows.length - SHOWN)} more; filter by path to narrow the list</p>}
      {rows.length === 0 && <p class="faint">{files.length === 0 ? "The vault contains no Markdown files." : "No matching files."}</p>}
    </section>
  );
}

function stateName(state: FileState): string {
  switch (state) {
    case FileState.INDEXED:
      return "indexed";
    case FileState.PENDING:
      return "vectors pending";
    case FileState.SKIPPED:
      return "skipped";
    case FileState.FAILED:
      return "failed";
    case FileState.UNSPECIFIED:
      return "unknown";
  }
}

function Vaults({ known }: { known: StatusResponse }) {
  return (
    <section>
      <h2>Locations</h2>
      <dl class="where-list">
        {known.vaults.map((vault) => (
          <div key={vault.name}>
            <dt>{vault.name}</dt>
            <dd>
              <code>{vault.root}</code> {counted(vault.noteCount, "note")}
              {vault.ambiguousCount > 0n && `, ${counted(vault.ambiguousCount, "ambiguous link")}`}
              {vault.skippedCount > 0n && `, ${counted(vault.skippedCount, "skipped file")}`}
              {vault.failedCount > 0n && `, ${counted(vault.failedCount, "failed file")}`}
            </dd>
          </div>
        ))}
        <div>
          <dt>Store</dt>
          <dd>
            <code>{known.store}</code>
          </dd>
        </div>
        {known.model !== undefined && (
          <div>
            <dt>Model</dt>
            <dd>
              {known.model.name}, {known.model.dimension} dimensions, {known.model.pooling}, run by {known.model.runner}
            </dd>
          </div>
        )}
        <div>
          <dt>Version</dt>
          <dd>weft {known.version}</dd>
        </div>
      </dl>
    </section>
  );
}

/** The settings in force, changed ones first. */
function Settings() {
  const { answer, failure, again } = useAnswer("settings", (signal) => admin.settings({}, { signal }));
  if (failure !== undefined) return <Failed failure={failure} again={again} />;
  if (answer === undefined) return null;
  const [changed, defaults] = [true, false].map((own) => answer.settings.filter((setting) => (setting.origin !== "default") === own));
  return (
    <section>
      <h2>Settings</h2>
      <SettingTable rows={changed ?? []} />
      <details>
        <summary>{counted(defaults?.length ?? 0, "default")}</summary>
        <SettingTable rows={defaults ?? []} />
      </details>
    </section>
  );
}

function SettingTable({ rows }: { rows: readonly Setting[] }) {
  if (rows.length === 0) return null;
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Settings">
      <table class="settings">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Value</th>
            <th scope="col">Origin</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((setting) => (
            <tr key={setting.key}>
              <th scope="row">{setting.key}</th>
              <td>
                <code>{setting.value === "null" ? "–" : setting.value}</code>
              </td>
              <td>{setting.origin}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
