// What all parts of the page share: drawing it again, messages, addresses, small formats.

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { encodeSlug } from "./requests.js";

const TOAST_MS = 4000;

let draw = () => {};
let drawing = false;
let toast = null;

export function setDraw(drawPage) {
  draw = drawPage;
}

// Draw the page again, once for all changes of this turn.
export function redraw() {
  if (drawing) return;
  drawing = true;
  queueMicrotask(() => {
    drawing = false;
    draw();
  });
}

export function say(message) {
  clearTimeout(toast?.timer);
  toast = { message, timer: setTimeout(() => { toast = null; redraw(); }, TOAST_MS) };
  redraw();
}

export const toastView = () =>
  toast ? html`<div class="toast" role="status">${toast.message}</div>` : nothing;

// Return what went wrong and what to do about it, as sentences.
export const explain = ({ message, hint }) =>
  [/[.?!]$/.test(message) ? message : `${message}.`, hint].filter(Boolean).join(" ");

// Run work and show its error as a message.
export async function guard(work) {
  try {
    return await work();
  } catch (error) {
    if (!error.status && error.code !== "no_server") console.error(error);
    say(explain(error));
    return undefined;
  }
}

// --- Addresses: #/VIEW/SLUG?line=12 ---

export function address(view, slug = "", parameters = {}) {
  const known = Object.entries(parameters).filter(([, value]) => value);
  const query = known.length ? `?${new URLSearchParams(known)}` : "";
  return `#/${view}${slug && `/${encodeSlug(slug)}`}${query}`;
}

export function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/");
  return {
    view: view || "today",
    slug: parts.map(decodePart).join("/"),
    parameters: Object.fromEntries(new URLSearchParams(query)),
  };
}

// An address may be written by hand or by a page: "%" need not start an escape.
function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function go(where) {
  if (location.hash === where) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = where;
}

// --- Formats ---

export const counted = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const joined = (...parts) => parts.filter(Boolean).join(" · ");

export const moment = (text) => text.replace("T", " ").slice(0, 16);
