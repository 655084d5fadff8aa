// The left column: search as you type, filters, results and why they matched, and the page list.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { live } from "./vendor/lit-html/directives/live.js";
import { repeat } from "./vendor/lit-html/directives/repeat.js";
import { get, post } from "./requests.js";
import { address, counted, go, guard, joined, redraw } from "./screen.js";

// Typing rests: then the vector lane is asked as well.
const REST_MS = 250;
const PAGES_AT_ONCE = 100;
const MAX_TAGS_OFFERED = 300;
// The word being typed; one or two letters start too many words.
const OPEN_WORD = /[\p{L}\p{N}]{3,}$/u;
const PLAIN_QUERY = /^[\p{L}\p{N}\s,.'’?!-]*$/u;
const LANES = { fts: "keyword", vector: "vector", graph: "graph", associative: "associative", rerank: "reranker" };
const NO_FILTERS = { wing: "", tag: "", since: "", until: "" };

export const finder = {
  text: "", filters: { ...NO_FILTERS }, answer: null, pages: [], total: null, selected: 0,
  wings: [], tags: [], waiting: false,
};
// The number of the latest question: an answer to an earlier one is not shown over it.
let turn = 0;
let asking = false;
let timer = 0;
let bothLanes = Promise.resolve();

export const currentFilters = () =>
  Object.fromEntries(Object.entries(finder.filters).filter(([, value]) => value));

export async function loadFilters() {
  finder.wings = (await get("/api/stats")).wings;
  finder.tags = (await get("/api/tags")).tags.slice(0, MAX_TAGS_OFFERED);
  redraw();
}

// --- Asking ---

export function search(text) {
  finder.text = text;
  finder.waiting = Boolean(text.trim());
  turn += 1;
  clearTimeout(timer);
  if (finder.waiting) {
    const asked = turn;
    guard(askKeywords);
    timer = setTimeout(() => {
      bothLanes = bothLanes.then(() => guard(() => askBoth(asked)));
    }, REST_MS);
  } else {
    finder.answer = null;
    guard(() => loadPages(0));
  }
  redraw();
}

// One request at a time, always for the latest text: a slow server gets no queue of old ones.
async function askKeywords() {
  if (asking) return;
  asking = true;
  try {
    for (let asked = 0; asked !== turn && finder.waiting;) {
      asked = turn;
      const { text } = finder;
      const q = PLAIN_QUERY.test(text) && OPEN_WORD.test(text) ? `${text}*` : text;
      const answer = await get("/api/search", { q, ...currentFilters() });
      if (finder.waiting) showAnswer({ ...answer, query: text });
    }
  } finally {
    asking = false;
  }
}

async function askBoth(asked) {
  if (asked !== turn) return;
  const { text } = finder;
  try {
    const answer = await post("/api/query", { query: text, all: true, ...queryFilters() });
    if (asked !== turn) return;
    finder.waiting = false;
    showAnswer(answer);
  } finally {
    if (asked === turn) finder.waiting = false;
    redraw();
  }
}

// The body of a query names its filters as the command line does; a tag may be repeated.
export function queryFilters() {
  const { tag, ...others } = currentFilters();
  return tag ? { ...others, tag: [tag] } : others;
}

// The chosen hit stays chosen when the hits of the vector lane arrive.
function showAnswer(answer) {
  const chosen = finder.answer?.query === answer.query && finder.selected > 0
    ? finder.answer.results[finder.selected]?.slug : null;
  finder.answer = answer;
  finder.selected = Math.max(answer.results.findIndex((hit) => hit.slug === chosen), 0);
  redraw();
}

async function loadPages(offset) {
  const asked = turn;
  const found = await get("/api/pages", { limit: PAGES_AT_ONCE, offset, ...currentFilters() });
  if (asked !== turn) return;
  finder.pages = offset ? [...finder.pages, ...found.pages] : found.pages;
  finder.total = found.total;
  if (!offset) finder.selected = -1;
  redraw();
}

export function setFilter(name, value) {
  finder.filters = { ...finder.filters, [name]: value };
  search(finder.text);
}

// --- Choosing ---

const entries = () => finder.answer?.results ?? finder.pages;
const hitAddress = (hit) => address("page", hit.slug, { line: hit.chunk?.lines[0] });

export function moveSelection(step) {
  const last = entries().length - 1;
  finder.selected = Math.min(Math.max(finder.selected + step, 0), last);
  redraw();
  requestAnimationFrame(() =>
    document.querySelector(".hit[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
}

export function openSelected() {
  const chosen = entries()[finder.selected];
  if (chosen) go(hitAddress(chosen));
}

export function focusSearch() {
  const field = document.querySelector(".finder input[type=search]");
  field.focus();
  field.select();
}

// --- Showing ---

export function finderView(current) {
  return html`<section class="finder" aria-label="Search">
    <div class="head">
      <input type="search" dir="auto" placeholder="Search or ask  /" aria-label="Search or ask" role="combobox"
        aria-expanded="true" aria-controls="hits" aria-activedescendant="hit-${finder.selected}"
        autocomplete="off" spellcheck="false" .value=${live(finder.text)}
        @input=${(event) => search(event.target.value)}>
      ${filtersView()}
    </div>
    <div class="list">${finder.answer ? answerView(finder.answer) : pagesView()}</div>
    <nav aria-label="Views">
      ${[["today", "Today"], ["tasks", "Tasks"], ["timeline", "Timeline"], ["graph", "Graph"]].map(([name, title]) => html`
        <a href=${address(name)} aria-current=${name === current.view && !current.slug ? "page" : nothing}>${title}</a>`)}
      <span class="space"></span>
      <button aria-label="Keyboard help" @click=${() => document.querySelector("dialog").showModal()}>?</button>
    </nav>
  </section>`;
}

function filtersView() {
  const { wing, tag, since, until } = finder.filters;
  const change = (name) => (event) => setFilter(name, event.target.value.trim());
  return html`<div class="filters">
    <select aria-label="Wing" .value=${live(wing)} @change=${change("wing")}>
      <option value="">Every wing</option>
      ${finder.wings.map((each) => html`
        <option value=${each.wing} ?selected=${each.wing === wing}>${each.wing} (${each.pages})</option>`)}
    </select>
    <input list="tags" placeholder="Any tag" aria-label="Tag" .value=${tag} @change=${change("tag")}>
    <datalist id="tags">${finder.tags.map((each) => html`<option value=${each.tag}></option>`)}</datalist>
    <label>from <input type="date" .value=${since} @change=${change("since")}></label>
    <label>to <input type="date" .value=${until} @change=${change("until")}></label>
    ${wing || tag || since || until ? html`
      <button @click=${() => { finder.filters = { ...NO_FILTERS }; search(finder.text); }}>Clear filters</button>` : nothing}
  </div>`;
}

function answerView(answer) {
  return html`${summaryView(answer)}
    <ul id="hits" role="listbox" aria-label="Results">
      ${repeat(answer.results, (hit) => hit.slug, (hit, number) => hitView(hit, number))}
    </ul>`;
}

function summaryView(answer) {
  const { verdict } = answer;
  const found = counted(answer.results.length, "page");
  const how = answer.short_circuit ? `by ${answer.short_circuit}`
    : answer.mode === "bm25" ? "· keyword" : "· keyword + vector";
  const context = address("context", "", { q: answer.query });
  return html`<div class="summary" aria-live="polite">
    <div class="counts"><span class="grade ${verdict.grade}" title="How well the results answer">${verdict.grade}</span>
      <span>${found} ${how}${finder.waiting ? " …" : ""}</span>
      <a class="button" href=${context} title="Text to answer from, for an LLM (c)">Context</a></div>
    ${answer.did_you_mean ? html`<div>Did you mean
      <button class="link" @click=${() => search(answer.did_you_mean)}>${answer.did_you_mean}</button>?</div>` : nothing}
    ${answer.read_as && !finder.waiting ? html`<div>Read as: ${answer.read_as}</div>` : nothing}
    ${answer.notice ? html`<div>${answer.notice}</div>` : nothing}
    ${verdict.reasons.length ? html`<details><summary>Why ${verdict.grade}</summary>
      <ul>${verdict.reasons.map((reason) => html`<li>${reason}</li>`)}
        <li>answered in ${answer.took_ms.toFixed(0)} ms</li></ul></details>` : nothing}
  </div>`;
}

function hitView(hit, number) {
  return html`<li><a class="hit ${hit.weak ? "weak" : ""}" id="hit-${number}" role="option" tabindex="-1"
      href=${hitAddress(hit)} aria-selected=${number === finder.selected}
      @click=${() => { finder.selected = number; }}>
    <span class="where">${joined(hit.wing, hit.date)}</span>
    <span class="title" dir="auto">${hit.title}</span>
    <div class="snippet" dir="auto">${highlight(hit.snippet)}</div>
    <div class="why">${reasons(hit)}</div>
  </a></li>`;
}

// The snippet has each match between two pairs of asterisks, and links in their brackets.
const highlight = (snippet) => snippet.replace(/!?\[\[|\]\]/g, "").split("**").map((part, number) =>
  (number % 2 ? html`<mark>${part}</mark>` : part));

function reasons(hit) {
  const lanes = Object.entries(LANES)
    .filter(([lane]) => hit.lanes[lane])
    .map(([lane, name]) => `${name} #${hit.lanes[lane].rank}`);
  const boosts = Object.entries(hit.boosts).map(([name, factor]) =>
    `${name.replaceAll("_", " ")} ×${Number(factor.toPrecision(3))}`);
  return joined(...lanes, ...boosts, hit.weak ? "weak" : "");
}

function pagesView() {
  if (finder.total === null) return nothing;
  const more = finder.total - finder.pages.length;
  return html`<div class="summary">${counted(finder.total, "page")}</div>
    <ul id="hits" role="listbox" aria-label="Pages">
      ${repeat(finder.pages, (page) => page.slug, (page, number) => html`
        <li><a class="hit" id="hit-${number}" role="option" tabindex="-1" href=${address("page", page.slug)}
            aria-selected=${number === finder.selected} @click=${() => { finder.selected = number; }}>
          <span class="where">${joined(page.wing, page.date)}</span>
          <span class="title" dir="auto">${page.title}</span></a></li>`)}
    </ul>
    ${more > 0 ? html`<button @click=${() => guard(() => loadPages(finder.pages.length))}>
      Show ${Math.min(more, PAGES_AT_ONCE)} more of ${counted(more, "page")}</button>` : nothing}`;
}
