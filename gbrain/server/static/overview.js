// Views of the whole brain: what today brings, open tasks, the timeline, and context for an LLM.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { get, isReadOnly, post } from "./requests.js";
import { currentFilters, finder, queryFilters } from "./finder.js";
import { address, counted, guard, joined, redraw, say } from "./screen.js";

const MAX_ROWS = 200;
const DEFAULT_BUDGET = 4000;

const back = html`<a class="button back" href="#/" aria-label="Back to the list">‹</a>`;
const bar = (title, controls = nothing) =>
  html`<div class="bar">${back}<span class="slug">${title}</span>${controls}</div>`;

// --- Today ---

let agenda = null;

export async function openToday() {
  agenda = await get("/api/today");
  redraw();
}

export function todayView() {
  if (!agenda) return nothing;
  const { date, overdue, due, entries, written, written_total: total } = agenda;
  const quiet = !overdue.length && !due.length && !entries.length;
  return html`${bar(`Today, ${date}`)}<div class="sheet">
    ${isReadOnly() ? nothing : captureView()}
    ${overdue.length ? html`<h2>Overdue</h2>${tasksView(overdue, openToday)}` : nothing}
    ${due.length ? html`<h2>Due today</h2>${tasksView(due, openToday)}` : nothing}
    ${entries.length ? html`<h2>Dated today</h2>${entriesView(entries)}` : nothing}
    ${quiet ? html`<p class="quiet">Nothing is due or dated today.</p>` : nothing}
    <h2>Written this week <small>${counted(total, "page")}</small></h2>
    <ul class="rows">${written.map((page) => html`<li><a href=${address("page", page.slug)}>${page.title}</a>
      <small>${joined(page.slug, page.updated_at.slice(0, 10))}</small></li>`)}</ul></div>`;
}

const captureView = () => html`<form class="capture" @submit=${capture}>
  <input name="text" dir="auto" placeholder="Write a thought to the inbox" aria-label="Write a thought to the inbox" autocomplete="off">
  <button class="primary">Capture</button></form>`;

function capture(event) {
  event.preventDefault();
  const form = event.target;
  const text = form.elements.text.value.trim();
  if (!text) return;
  guard(async () => {
    const written = await post("/api/capture", { text });
    form.reset();
    say(`Added to ${written.slug}.`);
    await openToday();
  });
}

// --- Tasks ---

let tasks = null;

export async function openTasks() {
  // The agenda says which day it is: a task that was due before is late.
  [tasks, agenda] = await Promise.all([
    get("/api/tasks", { limit: MAX_ROWS, ...currentFilters() }), get("/api/today")]);
  redraw();
}

export function tasksPage() {
  if (!tasks) return nothing;
  return html`${bar(counted(tasks.total, "open task"))}<div class="sheet"><h1>Tasks</h1>
    ${tasksView(tasks.tasks, openTasks)}
    ${tasks.total ? nothing : html`<p class="quiet">No open tasks. A line such as “- [ ] call Ivy” is one.</p>`}</div>`;
}

function tasksView(list, reload) {
  return html`<ul class="rows">${list.map((task) => html`
    <li class=${task.due && task.due < agenda.date ? "late" : ""}><label>
      <input type="checkbox" .checked=${task.done} ?disabled=${isReadOnly()} @change=${() => guard(() => finish(task, reload))}><bdi>${plain(task.text)}</bdi></label>
      <div><small>${task.due ? html`<span class="due">due ${task.due}</span> · ` : nothing}
        <a href=${address("page", task.slug, { line: task.line })}>${task.title}</a></small></div></li>`)}</ul>`;
}

async function finish(task, reload) {
  await post(`/api/tasks/${encodeURIComponent(task.number)}/done`, {});
  say(`Done: ${plain(task.text)}`);
  await reload();
}

// Text of one line with the labels or names of its links in the place of the links.
const plain = (text) => text.replaceAll("**", "")
  .replace(/!?\[\[([^\]|]*)(?:\|([^\]]*))?\]\]/g, (_, name, label) => label || name.split("/").at(-1));

// --- Timeline ---

let timeline = null;

export async function openTimeline() {
  timeline = await get("/api/timeline", { limit: MAX_ROWS, ...currentFilters() });
  redraw();
}

export function timelineView() {
  if (!timeline) return nothing;
  return html`${bar(counted(timeline.total, "dated entry").replace("entrys", "entries"))}
    <div class="sheet"><h1>Timeline</h1>${entriesView(timeline.entries)}</div>`;
}

function entriesView(entries) {
  return html`<ul class="rows dated">${entries.map((entry) => html`<li><time>${entry.date}</time>
    <div><bdi>${plain(entry.text)}</bdi><br><small><a href=${address("page", entry.slug, { line: entry.lines[0] })}>${entry.title}</a>
      ${entry.source ? `from ${plain(entry.source)}` : ""}</small></div></li>`)}</ul>`;
}

// --- Context ---

let context = null;

export async function openContext({ q, budget }) {
  const limit = Number(budget) || DEFAULT_BUDGET;
  context = { query: q ?? finder.text, limit, answer: null };
  redraw();
  if (!context.query) return;
  const asked = { query: context.query, depth: "auto", budget: limit, ...queryFilters() };
  context.answer = await post("/api/query", asked);
  redraw();
}

export function contextView() {
  if (!context) return nothing;
  const { query, limit, answer } = context;
  const text = answer ? contextText(answer.context) : "";
  const budgets = html`<label class="quiet">tokens <select @change=${(event) =>
    guard(() => openContext({ q: query, budget: event.target.value }))}>${[500, 1000, 2000, 4000, 8000, 16000].map((each) => html`
      <option ?selected=${each === limit}>${each}</option>`)}</select></label>`;
  return html`${bar("Text to answer from, for an LLM", html`${budgets}
      <button class="primary" ?disabled=${!text} @click=${() => copy(text)}>Copy</button>`)}
    <div class="sheet"><h1>${query || "Type a question first."}</h1>
      ${answer ? html`<p class="quiet">${joined(answer.verdict.grade, `${answer.budget.used} of ${answer.budget.limit} tokens`,
        counted(answer.context.length, "chunk"), answer.budget.dropped.length && `${answer.budget.dropped.length} left out`)}</p>
      <pre class="context">${text || "No page answers this."}</pre>
      <ul class="rows">${[...new Map(answer.context.map((chunk) => [chunk.slug, chunk]))].map(([slug, chunk]) => html`
        <li><a href=${address("page", slug, { line: chunk.lines[0] })}>${chunk.title}</a> <small>${slug}</small></li>`)}</ul>` : nothing}
    </div>`;
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  say("Copied.");
}

// As `gbrain query --depth auto` prints it: title, headings, quoted text and citation of each chunk.
function contextText(chunks) {
  return chunks.map((chunk, number) => {
    const title = chunks[number - 1]?.slug === chunk.slug ? "" : `## ${chunk.title}`;
    const [text, headings] = withoutTitle(chunk);
    const about = [headings.join(" > "), chunk.date].filter(Boolean).join(", ");
    return [unlike(title), about && unlike(`(${about})`), quote(text), chunk.citation].filter(Boolean).join("\n\n");
  }).join("\n\n");
}

// What a page says must not look like a title or citation of ours.
function quote(text) {
  const inside = text.replace(/^\n+|\n+$/g, "");
  const lines = inside ? inside.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/) : [];
  return lines.map((line) => (line ? `> ${line}` : ">")).join("\n");
}

function unlike(line) {
  return line.replaceAll("#L", "# L");
}

function withoutTitle({ title, text, heading_path: path }) {
  const headings = path.filter((name) => name !== title);
  const heading = /^\s*#{1,6}[ \t]([^\n]*?)#*\s*(?:\n|$)/;
  const rest = text.match(heading)?.[1].trim() === title ? text.replace(heading, "") : text;
  const first = headings.indexOf(rest.match(heading)?.[1].trim());
  return [rest, first < 0 ? headings : headings.slice(0, first)];
}
