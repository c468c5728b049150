"use strict";
// Everything that a model said goes into the page as text (textContent), never as markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
// Okabe and Ito (2008), told apart with every common form of colour blindness; dashes and marks tell them apart too.
const COLOURS = { light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"],
                  dark: ["#56B4E9", "#E69F00", "#2CC295", "#E39CC6", "#8FD0F5", "#F0E442", "#FFFFFF"] };
const DASHES = ["solid", "dash", "dashdot", "dot"], MARKS = ["circle", "square", "diamond", "triangle-up"];
const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");

function made(tag, text, attributes) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return node;
}

// ---- colours

function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; }

function theme() {
  const button = document.getElementById("theme");
  const say = () => button.setAttribute("aria-label", `Colours: ${isDark() ? "dark" : "light"}; press to change`);
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; say(); redraw(); });
  system.addEventListener("change", () => { say(); redraw(); });
  say();
}

// ---- tables

function value(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  const number = parseFloat(text.replace("−", "-"));
  return Number.isNaN(number) ? text.toLowerCase() : number;
}

function sort(table, column, head) {
  const down = head.getAttribute("aria-sort") === "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "ascending" : "descending");
  const body = table.tBodies[0], sign = down ? 1 : -1;
  const rows = [...body.rows].map((row) => [row.cells[column] ? value(row.cells[column]) : "", row]);
  rows.sort(([a], [b]) => typeof a === typeof b ? sign * (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  body.append(...rows.map(([, row]) => row));
}

function sortable() {
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = made("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => sort(table, column, head));
    });
  }
}

// ---- plots: drawn when they come into view

async function unpack() {
  const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = made("script", await new Response(stream).text());
  document.head.append(script);
  return window.Plotly;
}

const FIGURES = new Map(DATA.figures.map((figure) => [figure.name, figure]));
const drawn = new Set();
let library = null;

// Names of arms and families come from plans and environments: plotly reads a little markup in them.
function plain(text) { return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"); }

function traces(figure) {
  const colours = COLOURS[isDark() ? "dark" : "light"];
  return figure.lines.flatMap((line, i) => {
    const colour = colours[i % colours.length], name = plain(line.name);
    if (figure.kind === "dots") {
      const spans = line.lows.length ? { type: "data", symmetric: false, thickness: 1.4, width: 3,
        array: line.highs.map((h, k) => h - line.ys[k]), arrayminus: line.lows.map((l, k) => line.ys[k] - l) } : undefined;
      const offset = (i - (figure.lines.length - 1) / 2) * 0.24;
      return [{ type: "scatter", mode: "markers", name, x: line.ys, y: line.xs.map((_, k) => k + offset), error_x: spans,
        text: line.xs.map((x, k) => `${plain(x)}: ${line.ys[k].toFixed(3)}` +
          (line.lows.length ? ` [${line.lows[k].toFixed(3)}, ${line.highs[k].toFixed(3)}]` : "")), hovertemplate: "%{text}",
        marker: { color: colour, symbol: MARKS[i % MARKS.length], size: 7 } }];
    }
    const own = { type: "scatter", mode: line.xs.length > 1 ? "lines" : "markers", name, x: line.xs, y: line.ys,
      legendgroup: name, line: { color: colour, dash: DASHES[i % DASHES.length], width: 1.8 }, marker: { color: colour } };
    if (!line.lows.length) return [own];
    const band = { type: "scatter", mode: "lines", x: [...line.xs, ...[...line.xs].reverse()],
      y: [...line.highs, ...[...line.lows].reverse()], fill: "toself", fillcolor: colour + "2e", line: { width: 0 },
      hoverinfo: "skip", showlegend: false, legendgroup: name };
    return [band, own];
  });
}

function layout(figure) {
  const style = getComputedStyle(root), ink = style.getPropertyValue("--dim").trim();
  const dots = figure.kind === "dots", names = dots ? figure.lines[0].xs : [];
  const range = figure.within && [figure.within[0] - 0.02, figure.within[1] + 0.02];
  const grid = style.getPropertyValue("--line").trim();
  const axis = { gridcolor: grid, zerolinecolor: ink, automargin: true, fixedrange: false };
  return {
    height: dots ? 110 + 30 * names.length : 260, margin: { l: 8, r: 12, t: 8, b: 8 }, font: { color: ink, size: 12 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: dots ? "closest" : "x unified",
    hoverlabel: { bgcolor: style.getPropertyValue("--card").trim(), font: { color: style.getPropertyValue("--ink").trim() } },
    xaxis: { ...axis, title: { text: dots ? figure.values : "step" }, ...(dots && range ? { range } : {}) },
    yaxis: dots ? { ...axis, tickvals: names.map((_, k) => k), ticktext: names.map(plain), range: [names.length - 0.4, -0.6] }
                : { ...axis, title: { text: figure.values }, ...(range ? { range } : {}) },
    showlegend: figure.lines.length > 1, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
  };
}

async function draw(place) {
  const figure = FIGURES.get(place.dataset.figure);
  library = library || unpack();
  const plotly = await library;
  await plotly.react(place, traces(figure), layout(figure), { responsive: true, displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg", filename: figure.name } });
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", `${figure.title}. ${figure.lines.map((l) =>
    `${l.name}: ${l.ys[0].toFixed(3)} to ${l.ys[l.ys.length - 1].toFixed(3)}`).join("; ")}`);
  drawn.add(place);
}

function redraw() { for (const place of drawn) draw(place); }

function plots() {
  if (!document.getElementById("plotly")) return;
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
  }, { rootMargin: "300px" });
  for (const place of document.querySelectorAll(".plot")) seen.observe(place);
}

// ---- rollouts

const filters = document.getElementById("filters"), list = document.getElementById("list");
const shown = document.getElementById("shown"), count = document.getElementById("count");
const ENTRIES = DATA.rollouts.entries, FIELDS = ["source", "family", "stratum", "outcome", "step", "failure"];
const BATCH = 200; // list items at once
let matching = [], chosen = null;

function last(entry) { return entry.sides[entry.sides.length - 1]; }
function failures(entry) { return entry.sides.flatMap((side) => side.failures); }

function holds(entry, wanted) {
  for (const field of FIELDS) {
    if (!wanted[field]) continue;
    const own = field === "failure" ? failures(entry) : [String(entry[field])];
    if (!own.includes(wanted[field])) return false;
  }
  const words = wanted.text.toLowerCase();
  return !words || entry.request.toLowerCase().includes(words) ||
    entry.sides.some((side) => side.turns.some(([, text]) => text.toLowerCase().includes(words)));
}

function wanted() { return Object.fromEntries([...filters.elements].map((field) => [field.name, field.value])); }

function options() {
  for (const field of FIELDS) {
    const select = filters.elements[field];
    const values = new Set(ENTRIES.flatMap((entry) => field === "failure" ? failures(entry) : [String(entry[field])]));
    const sorted = [...values].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    select.append(...sorted.map((each) => made("option", each.replaceAll("_", " "), { value: each })));
  }
}

function filter() {
  const now = wanted();
  matching = ENTRIES.filter((entry) => holds(entry, now));
  const sign = { high: -1, low: 1 }[now.order];
  if (sign) matching = [...matching].sort((a, b) => sign * (last(a).total - last(b).total));
  list.replaceChildren();
  more();
  count.textContent = `${matching.length} of ${ENTRIES.length} shown on this page` +
    (DATA.rollouts.sampled ? `, a sample of ${DATA.rollouts.of} on record` : "");
}

function more() {
  const from = list.children.length;
  list.append(...matching.slice(from, from + BATCH).map((entry, k) => {
    const item = made("li", undefined, { role: "option", id: `item-${from + k}`, "aria-selected": String(entry === chosen) });
    const text = entry.request ? entry.request.split("\n").pop() : (last(entry).turns[0] || ["", ""])[1];
    item.append(made("span", text.slice(0, 110)), made("small", `${entry.outcome} · ${last(entry).total} · ${entry.family} · ${entry.source}` +
      (entry.sides.length === 1 ? ` step ${entry.step}` : "")));
    item.addEventListener("click", () => show(entry));
    return item;
  }));
}

function tokens(entry) {
  const strip = made("div", undefined, { class: "tokens", role: "img", "aria-label":
    `${entry.logprobs.length} sampled tokens, mean logprob ${(entry.logprobs.reduce((a, b) => a + b, 0) / entry.logprobs.length / 100).toFixed(2)} nats` });
  entry.logprobs.forEach((cents, k) => {
    // Darker is less likely: the chance that another token had been drawn.
    const cell = made("i", undefined, { title: `token ${k + 1}: ${(cents / 100).toFixed(2)} nats` });
    cell.style.setProperty("--heat", (1 - Math.exp(cents / 100)).toFixed(3));
    strip.append(cell);
  });
  return strip;
}

function sideOf(side, entry) {
  const box = made("div");
  if (side.name) box.append(made("h3", side.name));
  for (const [role, text] of side.turns) {
    const turn = made("div", undefined, { class: `turn ${role === "assistant" ? "assistant" : "other"}` });
    turn.append(made("small", role), made("pre", text));
    box.append(turn);
  }
  const terms = Object.entries(side.terms).map(([name, term]) => `${name.replaceAll("_", " ")} ${term}`).join(" + ");
  const score = made("p");
  score.append(made("b", side.passed ? "passed" : "failed", { class: side.passed ? "yes" : "no" }),
    made("span", ` · score ${side.total} = ${terms || "no terms"}` + (side.stop ? ` · ended by ${side.stop}` : "")));
  box.append(score);
  if (side.failures.length) box.append(made("p", side.failures.join(", ").replaceAll("_", " "), { class: "no" }));
  if (entry.logprobs.length) box.append(made("p", "Sampled tokens, darker where less likely:", { class: "dim" }), tokens(entry));
  return box;
}

// Scrolls the list alone, never the page.
function reveal(item) {
  const top = item.offsetTop; // within the list, which is positioned
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + item.offsetHeight - list.clientHeight;
}

function show(entry, quietly) {
  chosen = entry;
  const head = made("p", undefined, { class: "dim" });
  const link = made("a", "link to this rollout", { href: `#rollout=${encodeURIComponent(entry.id)}` });
  head.append(made("span", `${entry.source} · ${entry.family} · ${entry.stratum.replaceAll("_", " ")} · ${entry.outcome} · step ${entry.step} · `), link);
  const sides = made("div", undefined, { class: "sides" });
  sides.append(...entry.sides.map((side) => sideOf(side, entry)));
  const request = made("div", undefined, { class: "turn other" });
  request.append(made("small", "request"), made("pre", entry.request));
  shown.replaceChildren(head, ...(entry.request ? [request] : []), sides);
  const at = matching.indexOf(entry);
  while (at >= list.children.length && list.children.length < matching.length) more();
  [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === at)));
  if (at >= 0) { list.setAttribute("aria-activedescendant", `item-${at}`); reveal(list.children[at]); }
  if (!quietly) history.replaceState(null, "", `#rollout=${encodeURIComponent(entry.id)}`);
}

function move(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  if (!(event.key in steps) || !matching.length) return;
  event.preventDefault();
  const at = matching.indexOf(chosen) + steps[event.key];
  show(matching[Math.max(0, Math.min(matching.length - 1, at))]);
}

function follow() {
  const found = /^#rollout=(.+)$/.exec(location.hash);
  const entry = found && ENTRIES.find((each) => each.id === decodeURIComponent(found[1]));
  if (entry) {
    show(entry, true);
    document.getElementById("rollouts").scrollIntoView({ behavior: "instant" });
  } else if (found) {
    shown.replaceChildren(made("p", `No rollout on this page has the name ${decodeURIComponent(found[1])}.`));
  }
}

function rollouts() {
  options();
  filter();
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("keydown", move);
  list.addEventListener("scroll", () => { if (list.scrollTop + list.clientHeight > list.scrollHeight - 200) more(); });
  if (ENTRIES.length) show(ENTRIES[0], true); else shown.textContent = "No rollout is on record yet.";
  window.addEventListener("hashchange", follow);
  follow();
}

theme();
sortable();
plots();
rollouts();
