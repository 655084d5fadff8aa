// The graph around a page, or of all pages, in the page in the browser.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { encodeSlug, get } from "./requests.js";
import { drawGraph } from "./graph.js";
import { pageBar } from "./page.js";
import { address, go, redraw } from "./screen.js";

const MAX_PAGES = 150;

let shown = null;

export async function openGraph(slug) {
  const path = slug ? `/api/graph/${encodeSlug(slug)}` : "/api/graph";
  const graph = await get(path, { limit: MAX_PAGES, depth: slug ? 2 : undefined });
  const host = document.createElement("div");
  host.className = "graph-host";
  shown = { slug, host };
  redraw();
  // A label is measured, so its element must be in the document.
  requestAnimationFrame(() => drawGraph(host, graph, (target) => go(address("page", target))));
}

export function graphView() {
  if (!shown) return nothing;
  const all = html`<div class="bar"><a class="button back" href="#/" aria-label="Back to the list">‹</a>
    <span class="slug">Graph of all pages</span></div>`;
  return html`${shown.slug ? pageBar("graph", shown.slug) : all}${shown.host}`;
}
