"use strict";
// The page asks for stats.json once a second and draws it. Texts of the run are set as text, never as HTML.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const WINDOW = 10; // rows of a second each: what "now" means in rates
const PATIENCE = 3; // answers that may fail before the pipeline is taken for gone
const QUIET = 10; // seconds in which nothing moves before that is said
let last = null, failures = 0, lastSeen = 0, freshAt = 0, shownVerdict = "", moved = -1, movedAt = 0;
let past = []; // the last answers of a run on nodes, the oldest first

const percent = (x) => x === null || !isFinite(x) ? "–" : (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %";
const count = (x) => x === null || x === undefined ? "–" : Math.round(x).toLocaleString("en");
const bytes = (x) => {
  if (!x) return "0";
  const step = Math.min(4, Math.floor(Math.log(x) / Math.log(1024)));
  return (x / 1024 ** step).toFixed(step ? 1 : 0) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][step];
};
const speed = (x) => x === null || !isFinite(x) ? "–" : (x / 1e6).toFixed(x < 1e7 ? 1 : 0) + " MB/s";
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

// Elements that one process runs. Of a run on nodes each producer has some, and this rank those behind them.
function groupsOf(stats) {
  const verdict = (stats.recent || stats).bottleneck || {}, producers = stats.producers || [];
  const groups = producers.map((p) => ({ key: `${p.index} ${p.pid}`, title: `${nodeOf(p)}, producer ${p.index}${p.error ? ": " + p.error : ""}`,
    error: p.error, elements: p.pipeline ? p.pipeline.elements : [], wall: p.pipeline ? p.pipeline.wall_s : 0,
    most: verdict.node === p.ip ? verdict.element : null }));
  groups.push({ key: "", title: producers.length && stats.elements.length ? "this rank" : "", elements: stats.elements, wall: stats.wall_s,
    most: verdict.node ? null : verdict.element });
  return groups;
}

const nodeOf = (producer) => producer.ip ? `node ${producer.ip}` : "a node that is not known yet";

// shares of elements' time since the last answer that had other numbers of them
function addShares(groups) {
  for (const group of groups) {
    const before = last && last.groups.find((g) => g.key === group.key);
    if (before && before.wall === group.wall) { group.parts = before.parts; continue; }
    const wall = group.wall - (before ? before.wall : 0);
    group.parts = new Map(group.elements.map((element) => {
      const was = before && before.elements.find((e) => e.name === element.name), workers = Math.max(1, element.workers || 1);
      const of = (key) => {
        const d = (element[key] || 0) - (was ? was[key] || 0 : 0);
        return wall > 0 ? Math.max(0, Math.min(1, d / (wall * workers))) : 0;
      };
      return [element.name, { working: of("working_s"), input: of("blocked_in_s"), output: of("blocked_out_s"), processor: of("blocked_cpu_s") }];
    }));
  }
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

const W = 190, H = 74, BOX = 130, TALL = 46, TITLE = 24; // of the graph

function drawElements(root, group, placed, top) {
  const at = (p) => [30 + W * p.x, top + 12 + H * p.y];
  for (const p of placed)
    for (const input of p.element.inputs || []) {
      const from = placed.find((q) => q.element.name === input);
      if (!from) continue;
      const [x1, y1] = at(from), [x2, y2] = at(p);
      svg(root, "path", { class: "edge", d: `M${x1 + BOX} ${y1 + TALL / 2} C${x1 + BOX + 25} ${y1 + TALL / 2} ${x2 - 40} ${y2 + TALL / 2} ${x2 - 14} ${y2 + TALL / 2}` });
    }
  for (const p of placed) {
    const [x, y] = at(p), e = p.element, queue = e.queue || { now: 0, room: 0 }, working = group.parts.get(e.name).working;
    const fill = queue.room ? Math.min(1, queue.now / queue.room) : 0;
    svg(root, "rect", { class: "box", x, y, width: BOX, height: TALL, rx: 6 });
    svg(root, "rect", { class: "work" + (e.name === group.most ? " most" : ""), x: x + 1, y: y + 1, height: TALL - 2, rx: 5,
      width: Math.max(0, (BOX - 2) * working) });
    if ((e.inputs || []).length) {
      svg(root, "rect", { class: "room", x: x - 12, y, width: 8, height: TALL });
      svg(root, "rect", { class: "queue", x: x - 12, y: y + TALL * (1 - fill), width: 8, height: TALL * fill });
    }
    svg(root, "text", { x: x + 8, y: y + 19 }, e.name.length > 15 ? e.name.slice(0, 14) + "…" : e.name);
    svg(root, "text", { class: "soft", x: x + 8, y: y + 36 }, `${percent(working)} · ${count(e.items)}`);
  }
}

function drawGraph(groups) {
  const root = document.createElementNS(SVG, "svg");
  let width = 0, height = 0;
  for (const group of groups) {
    if (!group.title && !group.elements.length) continue;
    if (group.title) {
      svg(root, "text", { class: group.error ? "bad" : "soft", x: 30, y: height + 20 }, group.title.length > 100 ? group.title.slice(0, 99) + "…" : group.title);
      height += TITLE;
    }
    const placed = place(group.elements);
    drawElements(root, group, placed, height);
    width = Math.max(width, 30 + W * (1 + Math.max(...placed.map((p) => p.x), group.title ? 2 : 0)));
    height += placed.length ? 20 + H * (1 + Math.max(...placed.map((p) => p.y))) : 8;
  }
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  root.setAttribute("aria-hidden", "true");
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
  if (stats.producers) {
    fact(facts, "rank", `${stats.rank} of ${stats.world}`);
    fact(facts, "node", stats.node || "–");
    fact(facts, "units lost", count(stats.units.lost || 0));
    fact(facts, "asked for twice", count((stats.units.hedged || 0) + (stats.units.reissued || 0)));
  }
  $("facts").replaceChildren(...facts.children);
}

// a row of a table: its name, then [text, class] or text
function rowOf(name, cells) {
  const row = document.createElement("tr"), head = document.createElement("th");
  head.scope = "row";
  head.textContent = name;
  row.append(head);
  for (const told of cells) {
    const cell = document.createElement("td"), [text, kind] = Array.isArray(told) ? told : [told];
    cell.textContent = text;
    if (kind) cell.className = kind;
    row.append(cell);
  }
  return row;
}

const rowsOf = (group) => group.elements.map((e) => {
  const p = group.parts.get(e.name), queue = e.queue || { now: 0, room: 0 };
  return rowOf(e.name, [count(e.workers), count(e.items), percent(p.working), percent(p.input), percent(p.output), percent(p.processor),
    (e.inputs || []).length ? `${queue.now} of ${queue.room}` : "–", bytes(e.bytes_copied)]);
});

function titleOf(group) {
  const row = document.createElement("tr"), head = document.createElement("th");
  head.scope = "rowgroup";
  head.colSpan = 9;
  head.textContent = group.title;
  row.append(head);
  return row;
}

// this process's elements stand last, in the part of the table that is always there
function drawTable(groups) {
  const own = groups[groups.length - 1];
  for (const part of document.querySelectorAll("#table tbody.group")) part.remove();
  for (const group of groups.slice(0, -1)) {
    const part = document.createElement("tbody");
    part.className = "group";
    part.append(titleOf(group), ...rowsOf(group));
    $("elements").before(part);
  }
  if (own.title) {
    const part = document.createElement("tbody");
    part.className = "group";
    part.append(titleOf(own));
    $("elements").before(part);
  }
  $("elements").replaceChildren(...rowsOf(own));
}

function drawProducers(stats, before, groups) {
  $("producers").replaceChildren(...stats.producers.map((p, i) => {
    const was = before && before.producers.find((q) => q.index === p.index && q.pid === p.pid), group = groups[i];
    if (p.error) return rowOf(String(p.index), [p.ip || "–", [p.error, "bad"], "–", "–", "–", "–", "–"]);
    const wall = before ? stats.wall_s - before.wall_s : 0;
    const most = group.elements.slice().sort((a, b) => group.parts.get(b.name).working - group.parts.get(a.name).working)[0];
    return rowOf(String(p.index), [p.ip, "at work", count(p.units), was && wall > 0 ? speed((p.bytes - was.bytes) / wall) : "–",
      p.units ? time(p.made_s / p.units) : "–", bytes(p.bytes), most ? `${most.name} ${percent(group.parts.get(most.name).working)}` : "–"]);
  }));
}

function drawLinks(stats, before) {
  $("links").replaceChildren(...Object.entries(stats.links).map(([ip, link]) => {
    const was = (before && before.links[ip]) || null, wall = before ? stats.wall_s - before.wall_s : 0, own = ip === stats.node;
    return rowOf(own ? `${ip} (this node: no link)` : ip, [count(link.units), bytes(link.bytes),
      wall > 0 ? speed((link.bytes - (was ? was.bytes : 0)) / wall) : "–", own ? "–" : speed(link.bytes / Math.max(link.pulled_s, 1e-9)),
      link.units ? `${(1000 * link.pulled_s / link.units).toFixed(0)} ms` : "–"]);
  }));
}

function drawNodes(stats, groups) {
  $("nodes").hidden = !stats.producers;
  if (!stats.producers) return;
  drawProducers(stats, past[0], groups);
  drawLinks(stats, past[0]);
  past = [...past.slice(1 - WINDOW), { wall_s: stats.wall_s, links: stats.links, producers: stats.producers }];
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
  if (last && stats.wall_s < last.wall_s) { last = null; past = []; } // another run at the same address
  const wall = stats.wall_s - (last ? last.wall_s : 0), now = between(stats), groups = groupsOf(stats);
  if (last && wall <= 0 && stats.status === "running") {
    // a program that is stopped, or too busy to tell
    const old = (Date.now() - freshAt) / 1000;
    if (old >= QUIET) $("clock").textContent = `${time(stats.wall_s)}; no new numbers for ${time(old)}`;
    return;
  }
  freshAt = Date.now();
  stats.groups = groups;
  addShares(groups);
  showStatus(stats.status, stats.status === "failed" || stats.status === "stopped");
  const items = groups.reduce((sum, group) => group.elements.reduce((n, e) => n + (e.items || 0), sum), stats.steps);
  if (items !== moved) { moved = items; movedAt = stats.wall_s; }
  const quiet = stats.wall_s - movedAt;
  $("clock").textContent = time(stats.wall_s) + (stats.status === "running" && quiet >= QUIET ? `; nothing has moved for ${time(quiet)}` : "");
  // a live region: said again only when it says something else
  if (stats.verdict !== shownVerdict) $("verdict").textContent = shownVerdict = stats.verdict;
  $("span").textContent = stats.recent ? `Of the last ${Math.round(stats.recent.seconds)} seconds.` : "Of the whole run.";
  drawFacts(stats, now);
  drawGraph(groups);
  drawNodes(stats, groups);
  drawChart("wait", series(stats.history, waitRatio), 1, "Wait ratio", percent);
  drawChart("rate", series(stats.history, (d) => d("wall_s") > 0 ? d("samples") / d("wall_s") : null), 0, "Samples per second", (v) => v.toFixed(1));
  drawTable(groups);
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
