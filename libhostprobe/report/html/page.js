// page.js: what a page does where scripts run: tables sort, rows are filtered by text and by rank, drawings grow and say what is under the
// pointer, cards are copied as Markdown, the document is saved. All there is to read stands in the page before any of this.
"use strict";

// Made here, because without scripts a button that does nothing would stand in the page.
function made(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function button(text, act) {
  const node = made("button", { type: "button" }, text);
  node.addEventListener("click", act);
  return node;
}

// ---- tables ----

function orderOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
}

// Numbers before texts, and what was not measured last.
function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const was = heads[column].getAttribute("aria-sort");
  // Of numbers a reader looks for the largest first.
  const first = heads[column].classList.contains("n") ? "descending" : "ascending";
  const direction = was === null ? first : was === "ascending" ? "descending" : "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [orderOf(row, column), row]);
  rows.sort((a, b) => sign * compared(a[0], b[0]));
  table.tBodies[0].append(...rows.map((pair) => pair[1]));
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.replaceChildren(button(head.textContent, () => sortBy(table, column)));
  });
}

// ---- picking a rank, and rows by their text ----

const picked = { rank: "", words: "" };

function showPicked() {
  for (const one of document.querySelectorAll("tbody tr, article.card, details.flames")) {
    const rank = one.dataset.rank || "";
    const isOther = picked.rank !== "" && rank !== "" && rank !== picked.rank;
    one.hidden = isOther || (picked.words !== "" && !one.textContent.toLowerCase().includes(picked.words));
  }
}

function rankChoice() {
  const ranks = new Set([...document.querySelectorAll("[data-rank]")].map((one) => one.dataset.rank).filter((rank) => rank !== ""));
  const choice = made("select", { "aria-label": "Show one rank alone" }, made("option", { value: "" }, "all ranks"));
  for (const rank of [...ranks].sort((a, b) => a - b)) choice.append(made("option", { value: rank }, `rank ${rank}`));
  choice.addEventListener("change", () => {
    picked.rank = choice.value;
    showPicked();
  });
  return ranks.size > 1 ? choice : "";
}

function wordFilter() {
  const field = made("input", { type: "search", placeholder: "filter rows", "aria-label": "Show rows with this text", size: "14" });
  field.addEventListener("input", () => {
    picked.words = field.value.trim().toLowerCase();
    showPicked();
  });
  return field;
}

// ---- the document ----

let documentText = null;

async function textOfDocument() {
  if (documentText !== null) return documentText;
  const holder = document.getElementById("document");
  if (holder.type === "application/json") return (documentText = holder.textContent);
  const bytes = Uint8Array.from(atob(holder.textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (documentText = await new Response(stream).text());
}

async function saveDocument() {
  const link = made("a", { download: "hostprobe.json" });
  link.href = URL.createObjectURL(new Blob([await textOfDocument()], { type: "application/json" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- drawings ----

function addZoom(frame) {
  const drawing = frame.querySelector("svg");
  let size = 1;
  const grow = (factor) => {
    size = Math.min(32, Math.max(1, size * factor));
    drawing.style.width = `${100 * size}%`;
  };
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "A drawing that scrolls where it is larger than its frame");
  frame.before(button("larger", () => grow(2)), " ", button("smaller", () => grow(0.5)));
  if (!drawing.classList.contains("flame")) return;
  // A frame that is clicked on fills the width; the whole is back by another click on it.
  drawing.addEventListener("click", (event) => {
    const clicked = event.target.parentElement;
    if (event.target.tagName !== "rect") return;
    const [at, width] = [parseFloat(clicked.getAttribute("x")) / 100, parseFloat(clicked.getAttribute("width")) / 100];
    const wanted = Math.min(32, 1 / width);
    size = Math.abs(size - wanted) < 0.01 ? 1 : wanted;
    grow(1);
    frame.scrollLeft = size === 1 ? 0 : at * drawing.getBoundingClientRect().width;
  });
}

// The map in the document that a drawing is of: of the one run, or of one side of a comparison.
async function stepMap(id) {
  const whole = JSON.parse(await textOfDocument());
  const run = id === "map-a" ? whole.a : id === "map-b" ? whole.b : whole;
  return run && run.steps ? run.steps.map : null;
}

function stepsOf(map, column) {
  const first = map.first_number[column];
  const next = map.first_number[column + 1];
  return map.steps_per_column > 1 ? `steps ${first} to ${next === undefined ? "the end" : next - 1}` : `step ${first}`;
}

function spokenCell(map, drawing, column, row) {
  if (drawing.id === "strip") return `${stepsOf(map, column)}: ${map.longest.ms[column]} ms, ${map.longest.type[column] || "other"}`;
  const perRow = Math.ceil(map.ranks.length / drawing.viewBox.baseVal.height);
  const ranks = map.ranks.slice(row * perRow, (row + 1) * perRow);
  const known = ranks.map((rank) => rank.excess_ms[column]).filter((ms) => ms !== null);
  const who = ranks.length > 1 ? `ranks ${ranks[0].rank} to ${ranks[ranks.length - 1].rank}` : ranks[0].rank === null ? "the program" : `rank ${ranks[0].rank}`;
  return `${who}, ${stepsOf(map, column)}: ${known.length === 0 ? "not seen" : `${Math.max(...known)} ms longer than usual`}`;
}

function addReadout(drawing) {
  const said = made("p", { class: "readout", "aria-live": "polite" });
  drawing.closest("figure").querySelector(".zoom").after(said);
  let map;
  drawing.addEventListener("pointermove", async (event) => {
    const box = drawing.getBoundingClientRect();
    const size = drawing.viewBox.baseVal;
    const column = Math.floor(((event.clientX - box.left) / box.width) * size.width);
    const row = Math.floor(((event.clientY - box.top) / box.height) * size.height);
    if (map === undefined) map = await stepMap(drawing.id);
    const isRow = drawing.id === "strip" || (row >= 0 && row < size.height);
    if (map && isRow && column >= 0 && column < map.first_number.length) said.textContent = spokenCell(map, drawing, column, row);
  });
}

// ---- cards ----

function markdownOf(card) {
  const text = (selector) => [...card.querySelectorAll(selector)].map((one) => one.textContent.trim().replace(/\s+/g, " "));
  const lines = [`**${text("h3")[0]}**`, "", ...text(".sentence"), ""];
  lines.push(...text(".gain span").map((line) => `- ${line}`));
  for (const one of card.querySelectorAll(".where > div")) lines.push(`- ${one.firstChild.textContent}: ${one.lastChild.textContent.trim()}`);
  lines.push(...text(".advice").map((line) => `- ${line}`));
  for (const line of card.querySelectorAll(".command")) {
    const code = line.querySelector("code").textContent;
    lines.push(`- ${line.firstChild.textContent.trim()} \`${code}\``);
  }
  return lines.join("\n") + "\n";
}

async function copy(text) {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch {
      // Not allowed here; the older way may be.
    }
  }
  const field = made("textarea", {});
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

function addCopy(card) {
  const act = button("copy as Markdown", async () => {
    await copy(markdownOf(card));
    act.textContent = "copied";
  });
  card.append(act);
}

function begin() {
  document.querySelectorAll("table").forEach(makeSortable);
  document.querySelectorAll("article.card").forEach(addCopy);
  document.querySelectorAll(".zoom").forEach(addZoom);
  document.querySelectorAll(".zoom svg[id]").forEach(addReadout);
  document.getElementById("tools").append(wordFilter(), rankChoice(), button("save JSON", saveDocument));
}

begin();
