// The frame of the page: navigation, index status, keyboard shortcuts, help and login.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { address, place, navigate, VIEWS, type View } from "./address";
import { closeLogin, login, setToken } from "./daemon";
import { composing } from "./keys";
import { away, phaseName, status } from "./index-status";
import { counted } from "./text";
import { nextTheme, theme } from "./theme";
import { Phase } from "./contract/noteweft/v1/admin_pb";
import { ContextView } from "./views/context";
import { IndexView } from "./views/index";
import { NoteView } from "./views/note";
import { SearchView } from "./views/search";

const NAMES: Record<View, string> = { search: "Search", note: "Note", context: "Context", index: "Index" };

/** Last address of each view, used by the navigation links. */
const lastAddress = new Map<View, string>();
place.subscribe(({ view, params }) => lastAddress.set(view, address(view, params)));

const helpIsOpen = signal(false);

export function App() {
  const { view } = place.value;
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header class="top">
        <a class="name" href="#/search">
          <img src="/icon.svg" alt="" width="22" height="22" />
          Noteweft
        </a>
        <nav aria-label="Views">
          {VIEWS.map((name) => (
            <a key={name} href={lastAddress.get(name) ?? address(name, {})} aria-current={name === view ? "page" : undefined}>
              {NAMES[name]}
            </a>
          ))}
        </nav>
        <StatusPill />
        <button class="quiet" type="button" onClick={nextTheme} aria-label={`Colors: ${theme.value}. Change`} title={`Colors: ${theme.value}`}>
          {theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}
        </button>
        <button class="quiet" type="button" onClick={() => (helpIsOpen.value = true)} aria-label="Keyboard shortcuts" title="Keyboard shortcuts">
          ?
        </button>
      </header>
      {away.value !== undefined && !["token", "forbidden"].includes(away.value.kind) && (
        <p class="banner" role="status">
          {away.value.text}
        </p>
      )}
      <main id="main" tabIndex={-1}>
        <CurrentView view={view} />
      </main>
      <Help />
      <Login />
    </>
  );
}

function CurrentView({ view }: { view: View }) {
  switch (view) {
    case "search":
      return <SearchView />;
    case "note":
      return <NoteView />;
    case "context":
      return <ContextView />;
    case "index":
      return <IndexView />;
  }
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** Status of the index in a few words. */
function StatusPill() {
  const known = status.value;
  if (away.value?.kind === "forbidden") return null;
  const [state, text] =
    away.value?.kind === "token" ? ["lost", "no token"]
    : away.value !== undefined ? ["lost", "disconnected"]
    : known === undefined ? ["loading", "…"]
    : known.phase !== Phase.READY ? ["busy", phaseName(known.phase)]
    : ["ready", counted(known.noteCount, "note")];
  return (
    <a class={`pill ${state}`} href="#/index" aria-label={`Index: ${state === "loading" ? "loading" : text}`}>
      <span class="dot" aria-hidden="true" />
      {text}
    </a>
  );
}

/** Returns whether a key is text input. `?` in an empty search box is not, because no query starts with it. */
const typing = ({ target, key }: KeyboardEvent): boolean =>
  !(key === "?" && target instanceof HTMLInputElement && target.id === "query" && target.value === "") &&
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

function onKey(event: KeyboardEvent): void {
  if (composing(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && event.target instanceof HTMLInputElement) {
    // By default, browsers clear a search box on Escape.
    event.preventDefault();
    event.target.blur();
    return;
  }
  if (typing(event)) return;
  const nth = VIEWS[Number(event.key) - 1];
  if (event.key === "/") {
    // The search view takes the focus itself when it is shown.
    const box = document.querySelector<HTMLInputElement>("#query");
    if (box === null) navigate(lastAddress.get("search") ?? "#/search");
    else box.focus();
  } else if (event.key === "?") {
    helpIsOpen.value = true;
  } else if (nth !== undefined) {
    navigate(lastAddress.get(nth) ?? address(nth, {}));
  } else {
    return;
  }
  event.preventDefault();
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "focus the search box"],
  ["↓ ↑", "next and previous hit"],
  ["Enter", "open the selected hit"],
  ["Esc", "leave a text field, close a dialog"],
  [`1 – ${VIEWS.length}`, "switch views (outside text fields)"],
  ["Alt ←", "go back"],
  ["?", "show these shortcuts (outside text fields, or in an empty search box)"],
];

function Help() {
  const dialog = useDialog(helpIsOpen.value);
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={() => (helpIsOpen.value = false)}>
      <h2 id="keys">Keyboard shortcuts</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

function Login() {
  const dialog = useDialog(login.value !== "closed");
  const field = useRef<HTMLInputElement>(null);
  const refused = login.value === "refused";
  useEffect(() => {
    if (refused) field.current?.select();
  }, [refused]);
  const submit = (event: Event) => {
    event.preventDefault();
    setToken(field.current?.value ?? "");
  };
  // The dialog may have been reopened for a rejected token before the close event arrives.
  const closed = () => {
    if (!dialog.current?.open) closeLogin();
  };
  return (
    <dialog ref={dialog} aria-labelledby="login" onClose={closed}>
      <h2 id="login">This daemon requires a token</h2>
      {refused ? (
        <p class="refused" role="alert">
          The token was rejected. Enter another one.
        </p>
      ) : (
        <p>The token is kept until this tab is closed, and sent to this daemon only.</p>
      )}
      <form onSubmit={submit} class="row">
        <input ref={field} type="password" autocomplete="off" aria-label="Token" aria-invalid={refused} required />
        <button>Log in</button>
        <button type="button" onClick={closeLogin}>
          Cancel
        </button>
      </form>
    </dialog>
  );
}

function useDialog(open: boolean) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect, so that no event arrives between the state change and the dialog.
  useLayoutEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    else if (!open) dialog.current?.close();
  }, [open]);
  return dialog;
}
