// The frame around the views: navigation, state of the index, keys, help, and the login where one is wanted.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { address, place, visit, VIEWS, type View } from "./address";
import { closeLogin, login, setToken } from "./daemon";
import { composing } from "./keys";
import { away, phaseName, status } from "./pulse";
import { counted } from "./text";
import { theme, turn } from "./theme";
import { Phase } from "./contract/noteweft/v1/admin_pb";
import { ContextView } from "./views/context";
import { IndexView } from "./views/index";
import { NoteView } from "./views/note";
import { SearchView } from "./views/search";

const NAMES: Record<View, string> = { search: "Search", note: "Note", context: "Context", index: "Index" };

/** Where each view was when it was left, so that the navigation comes back to it. */
const left = new Map<View, string>();
place.subscribe(({ view, asked }) => left.set(view, address(view, asked)));

const helping = signal(false);

export function App() {
  const { view } = place.value;
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the view
      </a>
      <header class="top">
        <a class="name" href="#/search">
          <img src="/icon.svg" alt="" width="22" height="22" />
          Noteweft
        </a>
        <nav aria-label="Views">
          {VIEWS.map((name) => (
            <a key={name} href={left.get(name) ?? address(name, {})} aria-current={name === view ? "page" : undefined}>
              {NAMES[name]}
            </a>
          ))}
        </nav>
        <Pill />
        <button class="quiet" type="button" onClick={turn} aria-label={`Colours: ${theme.value}. Change`} title={`Colours: ${theme.value}`}>
          {theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◐"}
        </button>
        <button class="quiet" type="button" onClick={() => (helping.value = true)} aria-label="Keys" title="Keys">
          ?
        </button>
      </header>
      {away.value !== undefined && !["token", "forbidden"].includes(away.value.kind) && (
        <p class="banner" role="status">
          {away.value.text}
        </p>
      )}
      <main id="main" tabIndex={-1}>
        <Shown view={view} />
      </main>
      <Help />
      <Login />
    </>
  );
}

function Shown({ view }: { view: View }) {
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

/** The index in one line. */
function Pill() {
  const known = status.value;
  if (away.value?.kind === "forbidden") return null;
  const [state, text] =
    away.value?.kind === "token" ? ["lost", "no token"]
    : away.value !== undefined ? ["lost", "no answer"]
    : known === undefined ? ["asked", "…"]
    : known.phase !== Phase.READY ? ["busy", phaseName(known.phase)]
    : ["ready", counted(known.nNotes, "note")];
  return (
    <a class={`pill ${state}`} href="#/index" aria-label={`Index: ${state === "asked" ? "asking" : text}`}>
      <span class="dot" aria-hidden="true" />
      {text}
    </a>
  );
}

/** Whether a key is a letter of what somebody writes. No question begins with its mark, so that one shows the keys from the empty box, too. */
const typing = ({ target, key }: KeyboardEvent): boolean =>
  !(key === "?" && target instanceof HTMLInputElement && target.id === "query" && target.value === "") &&
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

function onKey(event: KeyboardEvent): void {
  if (composing(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && event.target instanceof HTMLInputElement) {
    // Left to itself, the browser would empty a box to search by.
    event.preventDefault();
    event.target.blur();
    return;
  }
  if (typing(event)) return;
  const nth = VIEWS[Number(event.key) - 1];
  if (event.key === "/") {
    // The search takes the focus by itself when it is shown.
    const box = document.querySelector<HTMLInputElement>("#query");
    if (box === null) visit(left.get("search") ?? "#/search");
    else box.focus();
  } else if (event.key === "?") {
    helping.value = true;
  } else if (nth !== undefined) {
    visit(left.get(nth) ?? address(nth, {}));
  } else {
    return;
  }
  event.preventDefault();
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "to the search box"],
  ["↓ ↑", "next and previous hit"],
  ["Enter", "open the hit"],
  ["Esc", "leave a box, close a window"],
  [`1 – ${VIEWS.length}`, "the views, in order, outside a box"],
  ["Alt ←", "back, as in any page"],
  ["?", "these keys, outside a box or in an empty search"],
];

function Help() {
  const dialog = useDialog(helping.value);
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={() => (helping.value = false)}>
      <h2 id="keys">Keys</h2>
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
  const dialog = useDialog(login.value !== "away");
  const field = useRef<HTMLInputElement>(null);
  const refused = login.value === "refused";
  useEffect(() => {
    if (refused) field.current?.select();
  }, [refused]);
  const take = (event: Event) => {
    event.preventDefault();
    setToken(field.current?.value ?? "");
  };
  // It may be open again, for a token that was refused, by the time its closing is told.
  const closed = () => {
    if (!dialog.current?.open) closeLogin();
  };
  return (
    <dialog ref={dialog} aria-labelledby="login" onClose={closed}>
      <h2 id="login">This daemon asks for a token</h2>
      {refused ? (
        <p class="refused" role="alert">
          It does not know the one you gave. Give another.
        </p>
      ) : (
        <p>It is kept until this tab is closed, and sent to this daemon alone.</p>
      )}
      <form onSubmit={take} class="row">
        <input ref={field} type="password" autocomplete="off" aria-label="Token" aria-invalid={refused} required />
        <button>Enter</button>
        <button type="button" onClick={closeLogin}>
          Not now
        </button>
      </form>
    </dialog>
  );
}

function useDialog(open: boolean) {
  const dialog = useRef<HTMLDialogElement>(null);
  // At once, so that no event comes between what is wanted and what is shown.
  useLayoutEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    else if (!open) dialog.current?.close();
  }, [open]);
  return dialog;
}
