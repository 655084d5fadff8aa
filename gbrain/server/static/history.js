// The versions of a page, and what changed between two of them.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { encodeSlug, get } from "./requests.js";
import { pageBar } from "./page.js";
import { guard, moment, redraw } from "./screen.js";

const KINDS = { "+": "added", "-": "removed", "@": "place" };

let shown = null;

export async function openHistory(slug) {
  const { versions } = await get(`/api/history/${encodeSlug(slug)}`);
  shown = { slug, versions, to: versions.at(-1).version, diff: "" };
  await choose(shown.to);
}

async function choose(to) {
  const earlier = shown.versions.filter((each) => each.version < to).at(-1);
  const document = await get(`/api/diff/${encodeSlug(shown.slug)}`, { from: earlier?.version, to });
  Object.assign(shown, { to, diff: document.diff });
  redraw();
}

export function historyView() {
  if (!shown) return nothing;
  return html`${pageBar("history", shown.slug)}<div class="sheet">
    <ul class="versions" aria-label="Versions">${shown.versions.toReversed().map((each) => html`<li>
      <button aria-pressed=${each.version === shown.to} @click=${() => guard(() => choose(each.version))}
        title="${each.bytes} bytes">${each.version} <small>${moment(each.written_at)}${endingOf(each)}</small></button></li>`)}</ul>
    <pre class="diff">${diffLinesView(shown.diff)}</pre></div>`;
}

// A version usually ends because a newer one replaced it; only other endings, such as a deletion, are shown.
const endingOf = ({ ending }) => (ending && ending !== "replaced" ? ` ${ending}` : "");

// The first two lines name the versions, which the buttons do already.
function diffLinesView(diff) {
  const lines = diff.split("\n").slice(2);
  if (!lines.length) return html`<span>No difference.</span>`;
  return lines.map((line) => html`<span class=${KINDS[line[0]] ?? ""}>${line}</span>`);
}
