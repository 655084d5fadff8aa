// The page in the browser: which view is shown, and the keys that work everywhere.

import { html, nothing, render } from "./vendor/lit-html/lit-html.js";
import { isReadOnly, startSession } from "./requests.js";
import { editorView, openEditor, save } from "./editor.js";
import { finder, finderView, focusSearch, loadFilters, moveSelection, openSelected, search } from "./finder.js";
import { graphView, openGraph } from "./graph_view.js";
import { historyView, openHistory } from "./history.js";
import * as overview from "./overview.js";
import { openPage, pageView } from "./page.js";
import { address, explain, go, guard, readAddress, redraw, setDraw, toastView } from "./screen.js";

// Each view: how to load what it shows, and how to show it.
const VIEWS = {
  today: [overview.openToday, overview.todayView],
  tasks: [overview.openTasks, overview.tasksPage],
  timeline: [overview.openTimeline, overview.timelineView],
  context: [(slug, parameters) => overview.openContext(parameters), overview.contextView],
  graph: [openGraph, graphView],
  page: [openPage, pageView],
  edit: [openEditor, editorView],
  history: [openHistory, historyView],
};

const KEYS = [
  ["/", "search"], ["↑ ↓", "choose a hit"], ["Enter", "open it"], ["Esc", "leave the field, close"],
  ["r h g", "read, history, graph of the page"], ["e", "edit it"], ["Ctrl S", "save"],
  ["c", "context for an LLM"], ["t", "today"], ["?", "this help"],
];

const WRITING_KEYS = ["e", "Ctrl S"];

let current = { view: "today", slug: "", parameters: {} };
// Why the view of the address could not be loaded; the view before must not stand under it.
let failure = null;

function app() {
  // On a phone the list comes first; today is below it until asked for.
  const open = current.view !== "today" || location.hash.startsWith("#/today");
  document.getElementById("app").toggleAttribute("data-open", open);
  return html`${finderView(current)}<main tabindex="-1">${failure ? failureView() : VIEWS[current.view][1]()}</main>
    <dialog aria-label="Keyboard help"><h2>Keys</h2>
      <dl>${KEYS.filter(([key]) => !(isReadOnly() && WRITING_KEYS.includes(key))).map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
      <form method="dialog"><button>Close</button></form></dialog>${toastView()}`;
}

function failureView() {
  return html`<div class="bar"><a class="button back" href="#/" aria-label="Back to the list">‹</a>
      <span class="slug">${current.slug}</span></div>
    <div class="sheet"><div class="notice bad"><p>${explain(failure)}</p></div></div>`;
}

let opening = Promise.resolve();
let turn = 0;

// One address after the other, of those that wait only the latest: a slow answer to an earlier one
// would be shown under a later address.
function route() {
  turn += 1;
  const asked = turn;
  opening = opening.then(() => (asked === turn ? openAddress() : undefined));
  return opening;
}

async function openAddress() {
  const wanted = readAddress();
  // A link to a page that nobody has written yet leads to the editor.
  if (wanted.view === "edit" && isReadOnly()) wanted.view = "page";
  const [open] = VIEWS[wanted.view] ?? VIEWS.today;
  failure = await open(wanted.slug, wanted.parameters).then(() => null, (error) => error);
  if (failure && !failure.status && failure.code !== "no_server") console.error(failure);
  current = wanted.view in VIEWS ? wanted : { ...wanted, view: "today" };
  if (!["page", "edit", "history"].includes(current.view)) document.title = "gbrain";
  redraw();
}

// --- Keys ---

const isField = (element) => element.matches("input:not([type=checkbox]), textarea, select");

const KEY_VIEWS = { r: "page", e: "edit", h: "history", g: "graph" };

function onKey(event) {
  const { key, target } = event;
  if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "s" && current.view === "edit") {
    event.preventDefault();
    save();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const searching = target.matches("[role=combobox]");
  if (key === "Escape") onEscape(target, searching);
  else if (isField(target) && !searching) return;
  else if (key === "ArrowDown" || key === "ArrowUp") moveSelection(key === "ArrowDown" ? 1 : -1);
  else if (key === "Enter" && (searching || target === document.body)) { openSelected(); target.blur(); }
  else if (searching) return;
  else if (key === "/") focusSearch();
  else if (key === "?") document.querySelector("dialog").showModal();
  else if (key === "t") go(address("today"));
  else if (key === "c" && finder.text) go(address("context", "", { q: finder.text }));
  else if (key in KEY_VIEWS && current.slug) go(address(KEY_VIEWS[key], current.slug));
  else return;
  event.preventDefault();
}

function onEscape(target, searching) {
  if (searching && finder.text) search("");
  else if (isField(target)) target.blur();
  else if (current.view === "edit" || current.view === "history") go(address("page", current.slug));
  else if (current.view !== "today") go(address("today"));
}

// --- Start ---

function showNoSession() {
  const box = html`<div class="sheet"><h1>gbrain</h1><div class="notice">
    <p>This address needs a key that only <code>gbrain ui</code> has.</p>
    <p>Run <code>gbrain ui</code> in a terminal; it opens this page.</p></div></div>`;
  render(box, document.getElementById("app"));
}

async function start() {
  const known = await startSession().catch(() => false);
  if (!known) {
    showNoSession();
    return;
  }
  setDraw(() => render(app(), document.getElementById("app")));
  redraw();
  addEventListener("hashchange", route);
  addEventListener("keydown", onKey);
  search("");
  // Not over a page that the address names: there, keys are commands.
  if (!location.hash) requestAnimationFrame(focusSearch);
  await route();
  await guard(loadFilters);
}

start();
