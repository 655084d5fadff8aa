// Requests to the server this page came from, and the token that each of them carries.

const TOKEN_KEY = "gbrain-token";
const READ_ONLY_KEY = "gbrain-read-only";
// Long enough for another tab of this browser to answer.
const OTHER_TAB_MS = 150;

let token = sessionStorage.getItem(TOKEN_KEY);

// Whether the server refuses every change, as after `gbrain ui --read-only`.
export const isReadOnly = () => sessionStorage.getItem(READ_ONLY_KEY) === "true";

export class ApiError extends Error {
  constructor(status, { code, message, hint }) {
    super(message);
    Object.assign(this, { status, code, hint });
  }
}

// Exchange the one-time code in the address for a token. A tab that was
// opened by hand asks the other tabs for theirs. Returns whether there is a token.
export async function startSession() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname);
    keepToken(await request("POST", "/api/session", { code }));
  }
  const tabs = new BroadcastChannel(TOKEN_KEY);
  if (!token) await askOtherTabs(tabs);
  tabs.onmessage = ({ data }) => {
    if (data.asks && token) tabs.postMessage({ token, read_only: isReadOnly() });
  };
  return Boolean(token);
}

function askOtherTabs(tabs) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, OTHER_TAB_MS);
    tabs.onmessage = ({ data }) => {
      if (!data.token) return;
      keepToken(data);
      clearTimeout(timer);
      resolve();
    };
    tabs.postMessage({ asks: true });
  });
}

function keepToken(session) {
  token = session.token;
  sessionStorage.setItem(TOKEN_KEY, token);
  sessionStorage.setItem(READ_ONLY_KEY, session.read_only);
}

// The path of a slug: its parts are encoded, the slashes between them are not.
export const encodeSlug = (slug) => slug.split("/").map(encodeURIComponent).join("/");

export const get = (path, parameters = {}) => request("GET", `${path}${queryString(parameters)}`);
export const post = (path, body) => request("POST", path, body);
export const put = (path, body) => request("PUT", path, body);

// Return the address of an image of the folder, as one that this page may show.
export async function imageAddress(slug, path) {
  const answer = await send("GET", `/api/attachments/${encodeSlug(slug)}${queryString({ path })}`);
  return URL.createObjectURL(await answer.blob());
}

function queryString(parameters) {
  const known = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  return known.length ? `?${new URLSearchParams(known)}` : "";
}

async function request(method, path, body) {
  return (await send(method, path, body)).json();
}

async function send(method, path, body) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    const hint = "Start it again: gbrain ui";
    throw new ApiError(0, { code: "no_server", message: "The server does not answer.", hint });
  }
  if (answer.ok) return answer;
  // The server knows the token until it ends, and a new one may listen at this address.
  if (answer.status === 401) {
    sessionStorage.removeItem(TOKEN_KEY);
    token = null;
    const hint = "Run gbrain ui in a terminal, then reload this page.";
    throw new ApiError(401, { code: "unauthorized", message: "This page is not signed in any more.", hint });
  }
  const document = await answer.json().catch(() => ({}));
  const unknown = { code: "unknown", message: `The server answered ${answer.status}.` };
  throw new ApiError(answer.status, document.error ?? unknown);
}
