"use strict";
// The page asks for stats.json once a second and draws it. Texts of the run are set as text, never as HTML.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const WINDOW = 10; // rows of a second each: what "now" means in rates
const PATIENCE = 3; // answers that may fail before the pipeline is taken for gone
const QUIET = 10; // seconds in which nothing moves before that is said
let last = null, failures = 0, lastSeen = 0, shownVerdict = "", moved = -1, movedAt = 0;

const percent = (x) => x === null || !isFinite(x) ? "–" : (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %";
const count = (x) => x === null || x === undefined ? "–" : Math.round(x).toLocaleString("en");
const bytes = (x) => {
  if (!x) return "0";
  const step = Math.min(4, Math.floor(Math.log(x) / Math.log(1024)));
  return (x / 1024 ** step).toFixed(step ? 1 : 0) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][step];
};
const time = (s) => {
  const h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60);
  return h ? `${h} h ${m} min` : m ? `${m} min ${Math.floor(s % 60)} s` : `${s.toFixed(1)} s`;
};

function svg(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// d: key → how much of it there was. Waiting for the device lies in the trainer's own time.
function waitRatio(d) {
  const total = d("prepare_s") + d("train_s");
  return total > 0 ? (d("prepare_s") + Math.min(d("transfer_wait_s"), d("train_s"))) / total : null;
}

// of the last seconds where there are some, else of the whole run
function between(stats) {
  const rows = stats.history, now = {
    wall_s: stats.wall_s, prepare_s: stats.prepare_s, transfer_wait_s: stats.transfer_wait_s, train_s: stats.train_s,
    samples: stats.samples, cpu_s: stats.cpu_s };
  const from = rows.length > WINDOW ? rows[rows.length - WINDOW] : { wall_s: 0, prepare_s: 0, transfer_wait_s: 0, train_s: 0, samples: 0, cpu_s: 0 };
  const d = (key) => now[key] - from[key];
  return { wait: waitRatio(d),
    rate: d("wall_s") > 0 ? d("samples") / d("wall_s") : null, cpu: d("wall_s") > 0 ? d("cpu_s") / d("wall_s") : null };
}

// shares of an element's time since the last answer
function shares(element, wall) {
  const before = last && last.elements.find((e) => e.name === element.name);
  const workers = Math.max(1, element.workers || 1);
  const of = (key) => {
    const d = (element[key] || 0) - (before ? before[key] || 0 : 0);
    return wall > 0 ? Math.max(0, Math.min(1, d / (wall * workers))) : 0;
  };
  return { working: of("working_s"), input: of("blocked_in_s"), output: of("blocked_out_s"), processor: of("blocked_cpu_s") };
}

// columns: the longest way from a source; rows: as they come
function place(elements) {
  const column = {}, rows = [];
  const depth = (e, seen) => {
    if (e.name in column || seen.has(e.name)) return column[e.name] || 0;
    seen.add(e.name);
    column[e.name] = 0;
    for (const input of e.inputs || []) {
      const giver = elements.find((x) => x.name === input);
      if (giver) column[e.name] = Math.max(column[e.name], 1 + depth(giver, seen));
    }
    return column[e.name];
  };
  return elements.map((e) => {
    const x = depth(e, new Set());
    rows[x] = (rows[x] || 0) + 1;
    return { element: e, x, y: rows[x] - 1 };
  });
}

function drawGraph(stats, parts) {
  const W = 190, H = 74, box = 130, tall = 46;
  const placed = place(stats.elements);
  const root = document.createElementNS(SVG, "svg");
  const width = 30 + W * (1 + Math.max(...placed.map((p) => p.x))), height = 20 + H * (1 + Math.max(...placed.map((p) => p.y)));
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  root.setAttribute("aria-hidden", "true");
  const at = (p) => [30 + W * p.x, 12 + H * p.y];
  for (const p of placed)
    for (const input of p.element.inputs || []) {
      const from = placed.find((q) => q.element.name === input);
      if (!from) continue;
      const [x1, y1] = at(from), [x2, y2] = at(p);
      svg(root, "path", { class: "edge", d: `M${x1 + box} ${y1 + tall / 2} C${x1 + box + 25} ${y1 + tall / 2} ${x2 - 40} ${y2 + tall / 2} ${x2 - 14} ${y2 + tall / 2}` });
    }
  const verdict = stats.recent || stats, most = verdict.bottleneck && verdict.bottleneck.element;
  for (const p of placed) {
    const [x, y] = at(p), e = p.element, queue = e.queue || { now: 0, room: 0 };
    const fill = queue.room ? Math.min(1, queue.now / queue.room) : 0;
    svg(root, "rect", { class: "box", x, y, width: box, height: tall, rx: 6 });
    svg(root, "rect", { class: "work" + (e.name === most ? " most" : ""), x: x + 1, y: y + 1, height: tall - 2, rx: 5,
      width: Math.max(0, (box - 2) * parts[e.name].working) });
    if ((e.inputs || []).length) {
      svg(root, "rect", { class: "room", x: x - 12, y, width: 8, height: tall });
      svg(root, "rect", { class: "queue", x: x - 12, y: y + tall * (1 - fill), width: 8, height: tall * fill });
    }
    svg(root, "text", { x: x + 8, y: y + 19 }, e.name.length > 15 ? e.name.slice(0, 14) + "…" : e.name);
    svg(root, "text", { class: "soft", x: x + 8, y: y + 36 }, `${percent(parts[e.name].working)} · ${count(e.items)}`);
  }
  $("graph").replaceChildren(root);
}

function drawChart(id, values, top, label, format) {
  const root = $(id), W = root.clientWidth || 400, H = root.clientHeight || 150, known = values.filter((v) => v !== null);
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${W} ${H}`);
  const most = top || Math.max(1e-9, ...known) * 1.1;
  svg(root, "title", {}, known.length ? `${label}: now ${format(known[known.length - 1])}, least ${format(Math.min(...known))}, most ${format(Math.max(...known))}` : `${label}: not known yet`);
  svg(root, "line", { class: "axis", x1: 0, x2: W, y1: H - 1, y2: H - 1 });
  let path = "", pen = "M";
  values.forEach((v, i) => {
    if (v === null) { pen = "M"; return; }
    path += `${pen}${(W * i / Math.max(1, values.length - 1)).toFixed(1)} ${(H - 4 - (H - 24) * Math.min(1, v / most)).toFixed(1)}`;
    pen = "L";
  });
  svg(root, "path", { class: "plot", d: path });
  svg(root, "text", { class: "soft", x: 6, y: 14 }, `${format(most)}`);
}

function series(rows, value) {
  const out = [];
  for (let i = 1; i < rows.length; i++) {
    const from = rows[Math.max(0, i - WINDOW)];
    out.push(value((key) => rows[i][key] - from[key]));
  }
  return out;
}

function fact(parent, name, value) {
  const div = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
  dt.textContent = name;
  dd.textContent = value;
  dd.id = "fact-" + name.replace(/ /g, "-");
  div.append(dt, dd);
  parent.append(div);
}

function drawFacts(stats, now) {
  const facts = document.createElement("dl");
  fact(facts, "wait ratio", percent(now.wait));
  fact(facts, "wait ratio of the run", percent(stats.wait_ratio));
  fact(facts, "samples per second", now.rate === null ? "–" : now.rate.toFixed(now.rate < 10 ? 2 : 0));
  fact(facts, "samples", count(stats.samples));
  fact(facts, "steps", count(stats.steps) + (stats.n_steps ? " of " + count(stats.n_steps) : ""));
  fact(facts, "processors", now.cpu === null ? "–" : now.cpu.toFixed(2));
  fact(facts, "cold start", stats.cold_start_s === null ? "–" : time(stats.cold_start_s));
  fact(facts, "peak memory", bytes(stats.peak_rss_bytes));
  $("facts").replaceChildren(...facts.children);
}

function drawTable(stats, parts) {
  $("elements").replaceChildren(...stats.elements.map((e) => {
    const row = document.createElement("tr"), p = parts[e.name], queue = e.queue || { now: 0, room: 0 };
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = e.name;
    row.append(head);
    for (const text of [count(e.workers), count(e.items), percent(p.working), percent(p.input), percent(p.output), percent(p.processor),
      (e.inputs || []).length ? `${queue.now} of ${queue.room}` : "–", bytes(e.bytes_copied)]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }));
}

function drawNotes(stats) {
  const kinds = Object.entries(stats.skipped);
  $("skipped").textContent = kinds.length ? "skipped: " + kinds.map(([kind, n]) => `${count(n)} ${kind}`).join(", ") : "none";
  $("notes").replaceChildren(...stats.notes.slice().reverse().map((note) => {
    const item = document.createElement("li"), kind = document.createElement("b");
    kind.textContent = note.kind;
    item.append(kind, ` ${new Date(1000 * note.at).toLocaleTimeString()} ${note.text}`);
    return item;
  }));
  $("notes").setAttribute("start", stats.n_notes);
}

function showStatus(text, bad) {
  if ($("status").textContent !== text) $("status").textContent = text;
  $("status").className = bad ? "badge bad" : "badge";
  document.title = `${text} – Headrace`;
}

function draw(stats) {
  const wall = stats.wall_s - (last ? last.wall_s : 0), parts = {}, now = between(stats);
  if (last && wall <= 0 && stats.status === "running") return;
  for (const e of stats.elements) parts[e.name] = shares(e, wall);
  showStatus(stats.status, stats.status === "failed" || stats.status === "stopped");
  const items = stats.elements.reduce((sum, e) => sum + (e.items || 0), stats.steps);
  if (items !== moved) { moved = items; movedAt = stats.wall_s; }
  const quiet = stats.wall_s - movedAt;
  $("clock").textContent = time(stats.wall_s) + (stats.status === "running" && quiet >= QUIET ? `; nothing has moved for ${time(quiet)}` : "");
  // a live region: said again only when it says something else
  if (stats.verdict !== shownVerdict) $("verdict").textContent = shownVerdict = stats.verdict;
  $("span").textContent = stats.recent ? `Of the last ${Math.round(stats.recent.seconds)} seconds.` : "Of the whole run.";
  drawFacts(stats, now);
  drawGraph(stats, parts);
  drawChart("wait", series(stats.history, waitRatio), 1, "Wait ratio", percent);
  drawChart("rate", series(stats.history, (d) => d("wall_s") > 0 ? d("samples") / d("wall_s") : null), 0, "Samples per second", (v) => v.toFixed(1));
  drawTable(stats, parts);
  drawNotes(stats);
  last = stats;
}

async function tick() {
  try {
    const response = await fetch("stats.json", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!response.ok) throw new Error(String(response.status));
    const stats = await response.json();
    failures = 0;
    lastSeen = Date.now();
    draw(stats);
  } catch (error) {
    failures++;
    if (failures >= PATIENCE) {
      const ended = last && last.status !== "running" && last.status !== "not-started";
      showStatus(ended ? last.status : "no answer", !ended || last.status === "failed");
      $("clock").textContent = lastSeen ? `the process does not answer since ${new Date(lastSeen).toLocaleTimeString()}` : "the process does not answer";
    }
  }
  setTimeout(tick, 1000);
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
  $("theme").textContent = dark ? "Light" : "Dark";
}

$("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
// the token is in a cookie now, and needs no place in the address
if (location.search) history.replaceState(null, "", location.pathname);
tick();
