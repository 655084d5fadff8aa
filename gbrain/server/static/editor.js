// Editing a page. What is typed is kept as a draft in this tab until it is saved; a page that
// changed meanwhile is shown next to it, and nothing is overwritten without asking.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { live } from "./vendor/lit-html/directives/live.js";
import { diffLines } from "./vendor/diff/diff/line.js";
import { encodeSlug, get, put } from "./requests.js";
import { address, go, guard, redraw, say } from "./screen.js";

const draftKey = (slug) => `draft:${slug}`;

// slug, text as typed, base (the text it started from), version (0 for a new page), other (the page
// as it is now, after a conflict)
let edited = null;

export const draftOf = (slug) => JSON.parse(sessionStorage.getItem(draftKey(slug)));
export const dropDraft = (slug) => sessionStorage.removeItem(draftKey(slug));

export async function openEditor(slug) {
  const page = await get(`/api/pages/${encodeSlug(slug)}`).catch((error) => {
    if (error.status !== 404) throw error;
    return { slug, text: "", version: 0 };
  });
  const draft = draftOf(slug);
  const start = { slug, base: page.text, text: page.text.replaceAll("\r\n", "\n"), version: page.version };
  edited = draft ? { ...start, ...draft } : start;
  if (draft && draft.version !== page.version) edited.other = page;
  redraw();
  requestAnimationFrame(() => {
    const field = document.querySelector(".editor textarea");
    field?.focus();
    if (!draft) field?.setSelectionRange(0, 0);
    if (!draft && field) field.scrollTop = 0;
  });
}

export const isChanged = () => Boolean(edited && edited.text !== edited.base.replaceAll("\r\n", "\n"));

function change(text) {
  edited.text = text;
  const { slug, base, version } = edited;
  if (isChanged()) sessionStorage.setItem(draftKey(slug), JSON.stringify({ text, base, version }));
  else dropDraft(slug);
  redraw();
}

export const save = () => guard(async () => {
  const { slug, base, text, version } = edited;
  // A text field has line feeds only; a page keeps the line ends that it has.
  const content = base.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
  try {
    const written = await put(`/api/pages/${encodeSlug(slug)}`, { content, expected_version: version });
    dropDraft(slug);
    edited = null;
    say([`Saved as version ${written.version}.`, written.file?.message].filter(Boolean).join(" "));
    go(address("page", slug));
  } catch (error) {
    if (error.status !== 409) throw error;
    edited.other = await get(`/api/pages/${encodeSlug(slug)}`);
    redraw();
  }
});

// --- A conflict: the three ways out of it ---

function keepMine() {
  edited.version = edited.other.version;
  edited.other = null;
  return save();
}

function takeOther() {
  const { slug } = edited;
  if (!confirm("Discard your text?")) return;
  dropDraft(slug);
  edited = null;
  go(address("page", slug));
}

// Lines of one text only stand one after the other, for the writer to choose from.
function combine() {
  const { other, text } = edited;
  const parts = diffLines(other.text.replaceAll("\r\n", "\n"), text);
  Object.assign(edited, { version: other.version, base: other.text, other: null });
  change(parts.map((part) => part.value).join(""));
  say("Both texts are in the field. Tidy up, then save.");
}

export function editorView() {
  if (!edited) return nothing;
  const { slug, text, version, other } = edited;
  return html`<div class="editor">
    <div class="bar">
      <a class="button back" href=${address("page", slug)} aria-label="Back to the page">‹</a>
      <span class="slug">${slug} · ${version ? `from version ${version}` : "new page"}${isChanged() ? " · not saved" : ""}</span>
      <a class="button" href=${address("page", slug)}>Close</a>
      ${other ? nothing : html`<button class="primary" title="Save (Ctrl+S)" ?disabled=${!isChanged()} @click=${save}>Save</button>`}
    </div>
    ${other ? html`<div class="notice bad" role="alert">
      <p>This page changed while you were editing: it is now at version ${other.version}. Nothing is lost; choose what to keep.</p>
      <div class="actions"><button class="primary" @click=${combine}>Combine both</button>
        <button @click=${keepMine}>Save mine as version ${other.version + 1}</button>
        <button @click=${takeOther}>Take the other</button></div></div>` : nothing}
    <div class="texts">
      <div class="side">${other ? html`<h2>Your text</h2>` : nothing}
        <textarea dir="auto" aria-label="Text of the page" spellcheck="true" .value=${live(text)}
          @input=${(event) => change(event.target.value)}></textarea></div>
      ${other ? html`<div class="side"><h2>Version ${other.version}, as it is now</h2>
        <div class="other" tabindex="0">${otherLines(text, other.text)}</div></div>` : nothing}
    </div>
  </div>`;
}

function otherLines(mine, theirs) {
  return diffLines(mine, theirs.replaceAll("\r\n", "\n")).filter((part) => !part.removed)
    .flatMap((part) => part.value.replace(/\n$/, "").split("\n").map((line) =>
      html`<span class=${part.added ? "added" : ""}>${line}</span>`));
}
