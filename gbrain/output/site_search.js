// Search in the index of an exported site. The page names this script by its hash, so that no other
// can run, and the pages are in the document: a file:// page may load nothing.

const pages = JSON.parse(document.getElementById("pages").textContent);
const field = document.querySelector("input[type=search]");
const results = document.getElementById("results");
const groups = document.getElementById("groups");
const MAX_RESULTS = 50;
const SNIPPET_CHARACTERS = 160;

const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const folded = pages.map(([, title, facts, text]) => [fold(title), fold(`${facts} ${text}`)]);

// Pages with all words, those with the words in their title first.
function find(words) {
  const found = [];
  folded.forEach(([title, text], number) => {
    if (!words.every((word) => title.includes(word) || text.includes(word))) return;
    const inTitle = words.filter((word) => title.includes(word)).length;
    found.push([inTitle + (title.startsWith(words[0]) ? 0.5 : 0), number]);
  });
  return found.sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, number]) => pages[number]);
}

function snippet(text, words) {
  const found = fold(text).search(words.map((word) => word.replace(/\W/g, "\\$&")).join("|"));
  // Back to the start of a word.
  const at = found > 40 ? text.lastIndexOf(" ", found - 40) + 1 : 0;
  return `${at ? "… " : ""}${text.slice(at, at + SNIPPET_CHARACTERS)}${text.length > at + SNIPPET_CHARACTERS ? " …" : ""}`;
}

function add(parent, name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return parent.appendChild(element);
}

function show() {
  const words = fold(field.value).split(/\s+/).filter(Boolean);
  groups.hidden = words.length > 0;
  results.replaceChildren();
  if (!words.length) return;
  const found = find(words);
  add(results, "p", found.length ? `${found.length} found` : "No page has all these words.");
  const list = add(results, "ul", "");
  list.className = "pages";
  for (const [address, title, facts, text] of found.slice(0, MAX_RESULTS)) {
    const item = add(list, "li", "");
    add(item, "a", title).href = address;
    item.append(" ");
    add(item, "small", facts);
    add(item, "p", snippet(text, words));
  }
}

field.hidden = false;
field.addEventListener("input", show);
addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    field.value = "";
    show();
  }
});
show();
