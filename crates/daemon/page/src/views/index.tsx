// How the index is: what is in, what waits, what was left out and why, which links lead nowhere.

import { useMemo } from "preact/hooks";
import { amend, noteAddress, place } from "../address";
import { gather, useAnswer } from "../asking";
import { admin } from "../daemon";
import { FileState, Phase, Severity, type FileCoverage, type Setting, type StatusResponse } from "../contract/noteweft/v1/admin_pb";
import { Failed, Waiting } from "../parts/failure";
import { away, phaseName, published, status } from "../pulse";
import { bytes, count, counted, duration, percent } from "../text";
import { useArrival, useTitle } from "../travel";

export function IndexView() {
  const known = status.value;
  const { answer, failure, again } = useAnswer(known === undefined ? null : "files", async (signal) =>
    (await gather(admin.coverage({}, { signal }))).flatMap((piece) => piece.files),
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
      {answer !== undefined && <Files files={answer} />}
      <Vaults known={known} />
      <Settings />
    </div>
  );
}

function Numbers({ known }: { known: StatusResponse }) {
  const links = known.vaults.reduce((sum, vault) => sum + Number(vault.nLinks), 0);
  const resolved = known.vaults.reduce((sum, vault) => sum + Number(vault.nResolved), 0);
  const vectors = Number(known.nChunks - known.nVectorsPending);
  const cells: [string, string, string][] = [
    ["Notes", count(known.nNotes), phaseName(known.phase)],
    ["Links", count(links), links === 0 ? "no note links yet" : `${percent(resolved / links)} lead somewhere`],
    ["Vectors", known.model === undefined ? "none" : count(vectors), known.model === undefined ? "words and links alone" : `of ${counted(known.nChunks, "piece")} of text`],
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

/** What is still to be done, with rate and time left. */
function Backlog({ known }: { known: StatusResponse }) {
  if (known.phase === Phase.READY && known.nVectorsPending === 0n) return null;
  const embedding = known.nVectorsPending > 0n && known.nChunks > 0n;
  const [done, total] = embedding ? [Number(known.nChunks - known.nVectorsPending), Number(known.nChunks)] : [Number(known.nFilesDone), Number(known.nFilesTotal)];
  return (
    <div class="backlog">
      <label>
        <span>
          {phaseName(known.phase)}: {count(done)} of {count(total)} {embedding ? "pieces of text" : "files"}
        </span>
        <progress max={Math.max(1, total)} value={done} />
      </label>
      <p class="faint">
        {known.vectorsPerSecond > 0 && `${known.vectorsPerSecond.toFixed(0)} a second`}
        {known.secondsLeft !== undefined && `, ${duration(known.secondsLeft)} left`}
        {embedding && " · words and links can be searched already"}
      </p>
    </div>
  );
}

/** Each generation as it is published. */
function Generations() {
  const rows = published.value;
  return (
    <section>
      <h2>
        Generations <small>states of the index, as they are published; where the codes are equal, all notes are</small>
      </h2>
      <ol class="plain generations" tabIndex={0} aria-label="Generations, the newest first">
        {rows.map(({ at, told }) => (
          <li key={told.generation}>
            <b>{count(told.generation)}</b> {at === undefined ? <small>was there before</small> : <time dateTime={at.toISOString()}>{at.toLocaleTimeString()}</time>}
            <span>
              {counted(told.nNotes, "note")}
              {told.nVectorsPending > 0n && `, ${count(told.nVectorsPending)} pieces wait for vectors`}
              {told.nMissed > 0n && `, ${count(told.nMissed)} passed unseen`}
            </span>
            <code aria-label={`code ${told.digest.slice(0, SHOWN_DIGITS)}`}>{told.digest.slice(0, SHOWN_DIGITS)}</code>
          </li>
        ))}
      </ol>
      {rows.every(({ at }) => at === undefined) && <p class="faint">None was published while this page looked; a saved note brings the next.</p>}
    </section>
  );
}

/** A file's path, with its vault where several are served. */
const pathOf = (file: FileCoverage): string => ((status.value?.vaults.length ?? 0) > 1 ? `${file.vault}/${file.path}` : file.path);

/** Digits of a digest that tell two states apart at a glance. */
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
        Links that lead nowhere <small>{count(targets.length)}</small>
      </h2>
      {targets.length === 0 ? (
        <p class="faint">{files.some((file) => file.nLinks > 0) ? "Every link finds its note." : "No note links to another yet."}</p>
      ) : (
        <div class="unresolveds" tabIndex={0} role="region" aria-label="Links that lead nowhere">
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
  ["pending", "Waiting", FileState.PENDING],
  ["skipped", "Left out", FileState.SKIPPED],
  ["failed", "Unreadable", FileState.FAILED],
  ["odd", "With remarks", undefined],
] as const;

/** Rows drawn at once: more would hold up typing. */
const SHOWN = 300;

function Files({ files }: { files: readonly FileCoverage[] }) {
  const { asked } = place.value;
  const chosen = STATES.find(([name]) => name === asked.get("state")) ?? STATES[0];
  const words = (asked.get("file") ?? "").toLowerCase();
  const fits = ([name, , state]: (typeof STATES)[number], file: FileCoverage) =>
    name === "odd" ? file.diagnostics.length > 0 : state === undefined || file.state === state;
  const rows = files.filter((file) => fits(chosen, file) && pathOf(file).toLowerCase().includes(words));
  return (
    <section>
      <h2>Files</h2>
      <div class="row">
        <fieldset class="choice">
          <legend class="unseen">Which files</legend>
          {STATES.map((row) => {
            const n = files.filter((file) => fits(row, file)).length;
            return (
              <label key={row[0]}>
                <input type="radio" name="state" checked={row === chosen} onChange={() => amend({ state: row[0] === "all" ? null : row[0] })} />
                <span>
                  {row[1]} <small>{count(n)}</small>
                </span>
              </label>
            );
          })}
        </fieldset>
        <input type="search" class="narrow" value={asked.get("file") ?? ""} placeholder="Part of a path" aria-label="Part of a path" onInput={(event) => amend({ file: event.currentTarget.value })} />
      </div>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Files">
        <table class="files">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col">State</th>
              <th scope="col">Pieces</th>
              <th scope="col">Links</th>
              <th scope="col">Remarks</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((file) => (
              <tr key={`${file.vault}/${file.path}`}>
                <th scope="row">{file.uri === undefined ? pathOf(file) : <a href={noteAddress(file.uri)}>{pathOf(file)}</a>}</th>
                <td>{stateName(file.state)}</td>
                <td>{count(file.nChunks)}</td>
                <td>{count(file.nLinks)}</td>
                <td>
                  {file.reason}
                  {file.diagnostics.map((said) => (
                    <span key={`${said.code} ${said.line} ${said.message}`} class={said.severity === Severity.WARNING ? "warning" : ""}>
                      {said.line !== undefined && `line ${said.line}: `}
                      {said.message}{" "}
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > SHOWN && <p class="faint">and {count(rows.length - SHOWN)} more; write part of a path to narrow the list</p>}
      {rows.length === 0 && <p class="faint">{files.length === 0 ? "The vault holds no file that could be a note." : "No such file."}</p>}
    </section>
  );
}

function stateName(state: FileState): string {
  switch (state) {
    case FileState.INDEXED:
      return "indexed";
    case FileState.PENDING:
      return "waits for vectors";
    case FileState.SKIPPED:
      return "left out";
    case FileState.FAILED:
      return "unreadable";
    case FileState.UNSPECIFIED:
      return "unknown";
  }
}

function Vaults({ known }: { known: StatusResponse }) {
  return (
    <section>
      <h2>Where</h2>
      <dl class="where-list">
        {known.vaults.map((vault) => (
          <div key={vault.name}>
            <dt>{vault.name}</dt>
            <dd>
              <code>{vault.root}</code> {counted(vault.nNotes, "note")}
              {vault.nAmbiguous > 0n && `, ${counted(vault.nAmbiguous, "ambiguous link")}`}
              {vault.nSkipped > 0n && `, ${counted(vault.nSkipped, "file")} left out`}
              {vault.nFailed > 0n && `, ${counted(vault.nFailed, "file")} unreadable`}
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
              {known.model.name}, {known.model.dimension} dimensions, {known.model.pooling}, in {known.model.runner}
            </dd>
          </div>
        )}
        <div>
          <dt>Program</dt>
          <dd>weft {known.version}</dd>
        </div>
      </dl>
    </section>
  );
}

/** The settings in force, those that somebody set first. */
function Settings() {
  const { answer, failure, again } = useAnswer("settings", (signal) => admin.settings({}, { signal }));
  if (failure !== undefined) return <Failed failure={failure} again={again} />;
  if (answer === undefined) return null;
  const [set, usual] = [true, false].map((own) => answer.settings.filter((setting) => (setting.origin !== "default") === own));
  return (
    <section>
      <h2>Settings</h2>
      <SettingTable rows={set ?? []} />
      <details>
        <summary>{counted(usual?.length ?? 0, "default")}</summary>
        <SettingTable rows={usual ?? []} />
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
            <th scope="col">From</th>
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
