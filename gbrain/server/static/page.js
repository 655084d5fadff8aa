// One page: its text with links, images and tasks, its facts, and what links to it.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { encodeSlug, get, imageAddress, isReadOnly, put } from "./requests.js";
import { setFilter } from "./finder.js";
import { address, counted, explain, guard, joined, moment, redraw, say } from "./screen.js";
import { draftOf, dropDraft } from "./editor.js";

const ALLOWED = {
  ALLOWED_TAGS: ["a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "img", "input", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td",
    "th", "thead", "time", "tr", "ul"],
  ALLOWED_ATTR: ["href", "id", "class", "start", "type", "checked", "disabled", "alt",
    "data-line", "data-path"],
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
const MAX_BACKLINKS = 50;

let shown = null;

export async function openPage(slug, parameters) {
  const path = encodeSlug(slug);
  try {
    const [page, rendered, backlinks] = await Promise.all([
      get(`/api/pages/${path}`), get(`/api/rendered/${path}`), get(`/api/backlinks/${path}`),
    ]);
    shown = { slug, page, ...articleOf(page, rendered.html), backlinks: groupBacklinks(backlinks.backlinks) };
    document.title = `${page.title} · gbrain`;
  } catch (error) {
    if (error.status !== 404) throw error;
    shown = { slug, missing: error };
  }
  redraw();
  requestAnimationFrame(() => aim(parameters));
}

function groupBacklinks(links) {
  return [...new Map(links.map((link) => [link.slug, link.title]))];
}

// The server has escaped all HTML in the page; here it is sanitised again, in the browser that
// would run it.
function articleOf(page, rendered) {
  const article = document.createElement("article");
  article.className = "text";
  article.dir = "auto";
  article.append(window.DOMPurify.sanitize(rendered, ALLOWED));
  // The facts about the page go between its title and its text.
  const [first] = article.children;
  const title = first?.matches("h1") ? first : document.createElement("h1");
  if (title === first) title.remove();
  else title.textContent = page.title;
  title.dir = "auto";
  for (const link of article.querySelectorAll("a[href]")) {
    if (!link.getAttribute("href").startsWith("#")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer";
    }
  }
  for (const image of article.querySelectorAll("img")) showImage(page.slug, image);
  for (const box of article.querySelectorAll("input")) prepareTask(page, box);
  return { title, article };
}

async function showImage(slug, image) {
  try {
    image.src = await imageAddress(slug, image.dataset.path ?? "");
  } catch (error) {
    const text = document.createElement("em");
    text.textContent = `${image.alt} (${error.message})`;
    image.replaceWith(text);
  }
}

function prepareTask(page, box) {
  const line = Number(box.closest("[data-line]")?.dataset.line);
  box.type = "checkbox";
  box.disabled = !line || isReadOnly();
  box.addEventListener("change", () => guard(async () => {
    const text = tickLine(page.text, line, box.checked);
    await put(`/api/pages/${encodeSlug(page.slug)}`, { content: text, expected_version: page.version })
      .catch((error) => { box.checked = !box.checked; throw error; });
    say(box.checked ? "Task done." : "Task open again.");
    await openPage(page.slug, {});
  }));
}

function tickLine(text, number, done) {
  const lines = text.split("\n");
  lines[number - 1] = lines[number - 1].replace(/\[[ xX/-]\]/, done ? "[x]" : "[ ]");
  return lines.join("\n");
}

// Scroll to the line or the heading that the address names, and let it light up.
function aim({ line, heading }) {
  const blocks = [...shown.article?.querySelectorAll("[data-line]") ?? []];
  const target = heading ? shown.article?.querySelector(`[id="${CSS.escape(heading)}"]`)
    : line ? blocks.findLast((block) => Number(block.dataset.line) <= Number(line)) : null;
  if (!target) {
    document.querySelector("main").scrollTop = 0;
    return;
  }
  target.classList.add("aimed");
  target.scrollIntoView({ block: "center" });
}

export function pageBar(view, slug) {
  const link = (name, title, key) => html`<a class="button" href=${address(name, slug)} title="${title} (${key})"
    aria-current=${name === view ? "page" : nothing}>${title}</a>`;
  return html`<div class="bar">
    <a class="button back" href="#/" aria-label="Back to the list">‹</a>
    <span class="slug" title=${slug}>${slug}</span>
    ${link("page", "Read", "r")} ${isReadOnly() ? nothing : link("edit", "Edit", "e")} ${link("history", "History", "h")}
    ${link("graph", "Graph", "g")}
  </div>`;
}

export function pageView() {
  if (!shown) return nothing;
  return html`${pageBar("page", shown.slug)}
    <div class="sheet">${shown.missing ? missingView() : contentView()}</div>`;
}

function missingView() {
  return html`<div class="notice"><p>${explain(shown.missing)}</p>
    ${isReadOnly() ? nothing : html`<div class="actions">
      <a class="button" href=${address("edit", shown.slug)}>Write this page</a></div>`}</div>`;
}

function contentView() {
  const { page, title, article, backlinks } = shown;
  return html`${draftView(page)}${title}
    <div class="facts">
      <span title=${page.wing_reason ?? ""}>${joined(page.wing, page.room, page.type)}</span>
      ${page.date ? html`<span>${page.date}</span>` : nothing}
      ${page.tags.map((tag) => html`<button @click=${() => setFilter("tag", tag)}>#${tag}</button>`)}
      ${page.aliases.length ? html`<span>also ${page.aliases.join(", ")}</span>` : nothing}
      <span title=${page.updated_at}>version ${page.version}, ${moment(page.updated_at)}</span>
    </div>
    ${article}
    ${backlinks.length ? html`<footer class="related"><h2>Linked from ${counted(backlinks.length, "page")}</h2>
      <ul>${backlinks.slice(0, MAX_BACKLINKS).map(([slug, title]) => html`
        <li><a href=${address("page", slug)}>${title}</a> <small>${slug}</small></li>`)}</ul>
      ${backlinks.length > MAX_BACKLINKS ? html`<small>and ${backlinks.length - MAX_BACKLINKS} more</small>` : nothing}
    </footer>` : nothing}`;
}

function draftView(page) {
  const draft = draftOf(page.slug);
  if (!draft || draft.text === page.text || isReadOnly()) return nothing;
  return html`<div class="notice"><p>This page has a draft that is not saved.</p><div class="actions">
    <a class="button" href=${address("edit", page.slug)}>Continue</a>
    <button @click=${() => { dropDraft(page.slug); redraw(); }}>Discard the draft</button></div></div>`;
}
