// Draw pages and the links between them. It is part of the page in the browser and, as inline text,
// in the file that `gbrain graph --html` writes, so it imports nothing.

const DISTANCE = 90;
const REACH = 3.5 * DISTANCE;
const GOLDEN_ANGLE = 2.399963;
const MAX_TITLE_CHARACTERS = 40;

// Return where each page stands: linked pages pull each other, all push each other. The same graph
// is always drawn the same way.
export function arrangePages(pages, links) {
  const places = pages.map((page, n) => {
    const radius = page.distance === 0 ? 0 : 30 * Math.sqrt(n + 1);
    return { x: radius * Math.cos(n * GOLDEN_ANGLE), y: radius * Math.sin(n * GOLDEN_ANGLE) };
  });
  const number = new Map(pages.map((page, n) => [page.slug, n]));
  const pairs = links.map((link) => [number.get(link.source), number.get(link.target)]);
  const rounds = pages.length > 400 ? 120 : 300;
  for (let round = 0; round < rounds; round++) {
    const moves = places.map((place) => ({ x: -place.x * 0.02, y: -place.y * 0.02 }));
    pushApart(places, moves);
    pullTogether(places, moves, pairs);
    const longest = 30 * (1 - round / rounds) + 0.5;
    places.forEach((place, n) => {
      const length = Math.hypot(moves[n].x, moves[n].y) || 1;
      const step = Math.min(length, longest) / length;
      place.x += moves[n].x * step;
      place.y += moves[n].y * step;
    });
  }
  return places;
}

function pushApart(places, moves) {
  for (let a = 0; a < places.length; a++) {
    for (let b = a + 1; b < places.length; b++) {
      const x = places[a].x - places[b].x, y = places[a].y - places[b].y;
      const squared = x * x + y * y;
      if (squared > REACH * REACH) continue;
      const push = DISTANCE * DISTANCE / Math.max(squared, 1) * 0.5;
      moves[a].x += x * push; moves[a].y += y * push;
      moves[b].x -= x * push; moves[b].y -= y * push;
    }
  }
}

function pullTogether(places, moves, pairs) {
  for (const [a, b] of pairs) {
    const x = places[b].x - places[a].x, y = places[b].y - places[a].y;
    const pull = (Math.hypot(x, y) - DISTANCE) / DISTANCE * 0.12;
    moves[a].x += x * pull; moves[a].y += y * pull;
    moves[b].x -= x * pull; moves[b].y -= y * pull;
  }
}

// Return how much to move and enlarge the drawing so that all of it is visible.
export function fitView(places, width, height, { left, right }) {
  const xs = places.map((place) => place.x), ys = places.map((place) => place.y);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const across = Math.max(width - left - right, 100), down = Math.max(height - 80, 100);
  const scale = Math.min(across / (high - low || 1), down / (bottom - top || 1), 2);
  return {
    scale,
    x: left + across / 2 - scale * (low + high) / 2,
    y: height / 2 - scale * (top + bottom) / 2,
  };
}

// Return, for each slug, the slugs it links to and the slugs that link to it.
export function linkedPages(links) {
  const linked = new Map();
  const add = (slug, direction, other) => {
    if (!linked.has(slug)) linked.set(slug, { out: [], back: [] });
    linked.get(slug)[direction].push(other);
  };
  for (const { source, target } of links) {
    add(source, "out", target);
    add(target, "back", source);
  }
  return linked;
}

function addElement(parent, name, text = "", properties = {}) {
  const element = Object.assign(document.createElement(name), properties);
  element.textContent = text;
  return parent.appendChild(element);
}

function addShape(parent, name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

// Draw the graph of a `gbrain graph --json` document into an element. `open`, if given, is called
// with the slug of a page that is to be opened.
export function drawGraph(host, { root, pages, links, left_out: leftOut }, open = null) {
  const graph = addElement(host, "div", "", { className: "graph" });
  const svg = addShape(graph, "svg", { role: "group", "aria-label": "Pages and the links between them" });
  const marker = addShape(addShape(svg, "defs", {}), "marker", {
    id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto",
  });
  addShape(marker, "path", { d: "M0 .8 8 4 0 7.2z", class: "arrow" });
  const [lineLayer, nodeLayer] = [addShape(svg, "g", {}), addShape(svg, "g", {})];

  const places = arrangePages(pages, links), linked = linkedPages(links);
  const nodes = new Map(pages.map((page, n) => [page.slug, { page, place: places[n], lines: [] }]));
  const around = (slug) => linked.get(slug) ?? { out: [], back: [] };
  const degree = (slug) => around(slug).out.length + around(slug).back.length;
  const radius = (slug) => 5 + 2 * Math.sqrt(degree(slug));
  const wings = [...new Set(pages.filter((page) => !page.missing).map((page) => page.wing))].sort();
  const colour = (wing) => `hsl(${(wings.indexOf(wing) * 137.5 + 205) % 360} 55% 52%)`;
  const importance = (page) => (page.slug === root ? Infinity : degree(page.slug));
  const hubsFirst = [...pages].sort((a, b) => importance(b) - importance(a)).map((page) => page.slug);

  for (const link of links) {
    const width = Math.min(1 + Math.log(link.times), 4);
    const element = addShape(lineLayer, "line", { class: "link", "stroke-width": width, "marker-end": "url(#arrow)" });
    for (const slug of [link.source, link.target]) nodes.get(slug).lines.push({ element, link });
  }
  for (const node of nodes.values()) {
    const { page } = node, size = radius(page.slug);
    const kind = `node${page.missing ? " missing" : ""}${page.slug === root ? " root" : ""}`;
    const group = addShape(nodeLayer, "g", { class: kind, tabindex: 0, role: "button", "aria-label": page.title });
    addShape(group, "circle", page.missing ? { r: size } : { r: size, fill: colour(page.wing) });
    const label = addShape(group, "text", { x: size + 4, y: 4 });
    const { length } = page.title;
    label.textContent = length > MAX_TITLE_CHARACTERS ? `${page.title.slice(0, MAX_TITLE_CHARACTERS - 1)}…` : page.title;
    addShape(group, "title", {}).textContent = page.missing ? `${page.title} (not written)` : `${page.title}\n${page.slug}`;
    Object.assign(node, { group, label, labelWidth: label.getComputedTextLength() });
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      choose(page.slug);
    });
  }

  // --- Placing ---

  let view = { scale: 1, x: 0, y: 0 };
  const screenPlace = (slug) => {
    const { x, y } = nodes.get(slug).place;
    return { x: view.x + view.scale * x, y: view.y + view.scale * y };
  };
  function place(slugs = nodes.keys()) {
    for (const slug of slugs) {
      const { group, lines } = nodes.get(slug), at = screenPlace(slug);
      group.setAttribute("transform", `translate(${at.x} ${at.y})`);
      for (const { element, link } of lines) {
        const from = screenPlace(link.source), to = screenPlace(link.target);
        const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
        const stop = Math.max(1 - (radius(link.target) + 2) / length, 0);
        element.setAttribute("x1", from.x);
        element.setAttribute("y1", from.y);
        element.setAttribute("x2", from.x + (to.x - from.x) * stop);
        element.setAttribute("y2", from.y + (to.y - from.y) * stop);
      }
    }
  }
  // Label the pages with most links first, right or left of them, where a label covers no other.
  function label() {
    const taken = hubsFirst.slice(0, 100).map((slug) => {
      const { x, y } = screenPlace(slug), size = radius(slug);
      return { left: x - size, right: x + size, top: y - size, bottom: y + size };
    });
    const { width } = graph.getBoundingClientRect();
    const covers = (box, other) => other.left < box.right && box.left < other.right
      && other.top < box.bottom && box.top < other.bottom;
    for (const slug of hubsFirst) {
      const { group, label: text, labelWidth } = nodes.get(slug);
      const { x, y } = screenPlace(slug), gap = radius(slug) + 2;
      const sides = [x + gap, x - gap - labelWidth].map((left) =>
        ({ left, right: left + labelWidth, top: y - 8, bottom: y + 8 }));
      const side = sides.findIndex((box) => box.left > 0 && box.right < width
        && !taken.some((other) => covers(box, other)));
      group.classList.toggle("unlabelled", side < 0);
      text.setAttribute("x", side === 1 ? -gap - 2 : gap + 2);
      text.setAttribute("text-anchor", side === 1 ? "end" : "start");
      if (side >= 0) taken.push(sides[side]);
    }
  }
  function fit() {
    const { width, height } = graph.getBoundingClientRect();
    const margins = width > 1000 ? { left: 310, right: 130 } : { left: 60, right: 100 };
    view = fitView(places.length ? places : [{ x: 0, y: 0 }], width, height, margins);
    place();
    label();
  }

  // --- Choosing a page ---

  const panel = addElement(graph, "aside");
  addElement(panel, "h1", root ? nodes.get(root).page.title : "All pages");
  const written = pages.filter((page) => !page.missing).length;
  addElement(panel, "p", `${written} pages, ${links.length} links${leftOut ? `; ${leftOut} more pages left out` : ""}`);
  const field = addElement(panel, "input", "", { type: "search", placeholder: "Find a page" });
  field.setAttribute("aria-label", "Find a page");
  const details = addElement(panel, "div");
  details.setAttribute("aria-live", "polite");
  const legend = addElement(panel, "div", "", { className: "wings" });
  for (const wing of wings) {
    const entry = addElement(legend, "span");
    addElement(entry, "i").style.background = colour(wing);
    entry.append(wing);
  }

  let chosen = null;
  function choose(slug) {
    chosen = slug;
    const others = slug ? new Set([...around(slug).out, ...around(slug).back]) : new Set();
    svg.classList.toggle("choosing", Boolean(slug));
    for (const [name, { group, lines }] of nodes) {
      group.classList.toggle("chosen", name === slug);
      group.classList.toggle("neighbour", others.has(name));
      for (const { element, link } of lines) {
        element.classList.toggle("neighbour", link.source === slug || link.target === slug);
      }
    }
    describe(slug);
  }
  function describe(slug) {
    details.replaceChildren();
    if (!slug) return;
    const { page } = nodes.get(slug);
    addElement(details, "h2", page.title);
    const facts = page.missing ? "not written yet" : [page.slug, page.wing, page.date].filter(Boolean).join(" · ");
    addElement(details, "code", facts);
    if (open && !page.missing) {
      const button = addElement(addElement(details, "div"), "button", "Open this page");
      button.addEventListener("click", () => open(slug));
    }
    for (const [title, slugs] of [["Links to", around(slug).out], ["Linked from", around(slug).back]]) {
      if (!slugs.length) continue;
      addElement(details, "h3", `${title} (${slugs.length})`);
      const list = addElement(details, "ul");
      for (const other of slugs) {
        const button = addElement(addElement(list, "li"), "button", nodes.get(other).page.title);
        button.addEventListener("click", () => choose(other));
      }
    }
  }
  field.addEventListener("input", () => {
    const words = field.value.trim().toLowerCase();
    const found = pages.filter((page) => words && `${page.title} ${page.slug}`.toLowerCase().includes(words));
    choose(found.length === 1 ? found[0].slug : null);
    if (found.length > 1) {
      svg.classList.add("choosing");
      for (const page of found) nodes.get(page.slug).group.classList.add("neighbour");
    }
  });
  graph.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(chosen || field.value)) return;
    event.stopPropagation();
    field.value = "";
    choose(null);
  });

  // --- Dragging and zooming ---

  let drag = null;
  svg.addEventListener("pointerdown", (event) => {
    const group = event.target.closest(".node");
    const slug = group ? [...nodes].find(([, node]) => node.group === group)[0] : null;
    drag = { slug, x: event.clientX, y: event.clientY, moved: false };
    svg.setPointerCapture(event.pointerId);
    svg.classList.add("dragging");
  });
  svg.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const x = event.clientX - drag.x, y = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    Object.assign(drag, { moved: true, x: event.clientX, y: event.clientY });
    if (drag.slug) {
      const at = nodes.get(drag.slug).place;
      at.x += x / view.scale;
      at.y += y / view.scale;
      place([drag.slug]);
    } else {
      view.x += x;
      view.y += y;
      place();
    }
  });
  svg.addEventListener("pointerup", () => {
    if (drag && !drag.moved) choose(drag.slug === chosen ? null : drag.slug);
    else if (drag?.slug) label();
    drag = null;
    svg.classList.remove("dragging");
  });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { left, top } = graph.getBoundingClientRect();
    const scale = Math.min(Math.max(view.scale * Math.exp(-event.deltaY * 0.0015), 0.05), 8);
    const [x, y] = [event.clientX - left, event.clientY - top];
    view = { scale, x: x - (x - view.x) * scale / view.scale, y: y - (y - view.y) * scale / view.scale };
    place();
    label();
  }, { passive: false });
  svg.addEventListener("dblclick", (event) => {
    const group = event.target.closest(".node");
    const slug = group && [...nodes].find(([, node]) => node.group === group)[0];
    if (slug && open) open(slug);
    else fit();
  });
  new ResizeObserver(fit).observe(graph);
  fit();
}
