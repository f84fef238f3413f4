// The legend, whose entries show and hide what they name, and the tables below the graph.

import { clock } from "./words.js";
import { grouped } from "./ticks.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST_ROWS = 200;

/** The element of the page with an identifier. */
export function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; text is text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Fill the legend. `toggle` is called with the names of an entry. */
export function legend(container, spec, traces, colours, toggle) {
  const entries = new Map();
  for (const { label } of traces.slice(1)) {
    entries.set(label, { words: `${label}, beside`, role: "other", ids: [], sample: "line" });
  }
  for (const trace of traces) {
    for (const { limitation, name } of trace.verdicts) {
      const role = `limit:${limitation ?? "unknown"}`;
      const words = limitation ? name.replace(/ \(.*/, "") : "not known";
      if (!entries.has(role)) entries.set(role, { words, role, ids: [], sample: "span" });
    }
  }
  for (const series of spec.series) {
    const names = series.of ?? [series.id];
    const has = traces.some((trace) => names.some((name) => trace.series[name]?.t.length));
    if (!has) continue;
    const entry = entries.get(series.label) ?? { words: series.label, role: series.colour, ids: [] };
    entry.ids.push(series.id);
    entries.set(series.label, { ...entry, sample: "line", dash: series.dash });
  }
  for (const mark of spec.marks) {
    const count = traces.reduce((sum, trace) => sum + (trace.marks[mark.id]?.t.length ?? 0), 0);
    if (!count) continue;
    const words = `${mark.label} (${grouped(count, 0)})`;
    entries.set(mark.id, { words, role: mark.colour, ids: [mark.id], sample: mark.glyph, title: mark.about });
  }
  const hidden = traces[0].hidden;
  container.replaceChildren(
    ...[...entries.values()].map((entry) => {
      const sample = drawn(spec, entry, colours[entry.role] ?? colours["limit:unknown"], colours.quiet);
      if (!entry.ids.length) return element("li", {}, element("span", { class: "key" }, sample, entry.words));
      const pressed = String(!entry.ids.every((id) => hidden.has(id)));
      const attributes = { type: "button", class: "key", "aria-pressed": pressed, title: entry.title ?? "" };
      const button = element("button", attributes, sample, entry.words);
      button.addEventListener("click", () => toggle(entry.ids));
      return element("li", {}, button);
    }),
  );
}

/** A sample of a line, a span or a glyph. */
function drawn(spec, { sample, dash }, colour, edge) {
  const svg = document.createElementNS(SVG, "svg");
  const attributes = { viewBox: "-9 -6 18 12", width: 18, height: 12, "aria-hidden": "true" };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  const shape = spec.glyphs[sample];
  const path = document.createElementNS(SVG, "path");
  if (shape) {
    const close = shape.fill || shape.close ? "z" : "";
    const points = (line) => line.map((at, k) => at * spec.geometry.glyph + (k % 2 ? " " : ","));
    const d = shape.lines.map((line) => `M${points(line).join("").replace(/ (?=.)/g, "L")}`.trim() + close);
    path.setAttribute("d", d.join(""));
  } else path.setAttribute("d", sample === "span" ? "M-8-5H8V5H-8z" : "M-8 0H8");
  const isFilled = shape ? shape.fill : sample === "span";
  path.setAttribute("fill", isFilled ? colour : "none");
  const isSpan = !shape && sample === "span";
  path.setAttribute("stroke", isSpan ? edge : isFilled ? "none" : colour);
  path.setAttribute("stroke-width", isSpan ? 1 : shape ? 1.5 : 2);
  if (dash) path.setAttribute("stroke-dasharray", dash.join(" "));
  svg.append(path);
  return svg;
}

/** Fill a table with a caption, headings and rows of text. */
export function table(container, caption, headings, rows) {
  const head = element("tr", {}, ...headings.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  const made = element("table", {}, element("caption", {}, caption));
  made.append(element("thead", {}, head), element("tbody", {}, ...body));
  container.append(element("div", { class: "scroll", tabindex: "0" }, made));
}

/** The tables of a trace: verdicts over time, and events with their frames. */
export function tables(container, spec, trace) {
  container.replaceChildren();
  const verdicts = joined(trace.verdicts);
  const times = verdicts.map((row) => [clock(row.start), clock(row.end), row.name, row.confidence ?? "", row.evidence ?? ""]);
  const headings = ["from", "to", "limited by", "confidence", "evidence"];
  if (times.length) table(container, "What limited it when", headings, times.slice(0, MOST_ROWS));
  const found = eventRows(spec, trace);
  const rows = found.slice(0, MOST_ROWS).map(({ t, label, frame, low }) => [
    clock(t), label, grouped(frame, 0), grouped(low + 1, 0),
  ]);
  const more = found.length > MOST_ROWS ? `, the first ${MOST_ROWS} of ${grouped(found.length, 0)}` : "";
  if (rows.length) table(container, `Events${more}`, ["time", "what", "frame", "first byte"], rows);
}

function eventRows(spec, trace) {
  const found = [];
  for (const { id, label } of spec.marks) {
    const columns = trace.marks[id];
    if (!columns || ["sack", "duplicate_ack"].includes(id)) continue;
    for (let i = 0; i < Math.min(columns.t.length, MOST_ROWS * 10); i++) {
      found.push({ t: columns.t[i], label, frame: columns.frame[i], low: columns.y0[i] });
    }
  }
  return found.sort((one, other) => one.t - other.t);
}

function joined(verdicts) {
  const rows = [];
  for (const verdict of verdicts) {
    const held = rows[rows.length - 1];
    if (held && held.name === verdict.name && held.confidence === verdict.confidence) held.end = verdict.end;
    else rows.push({ ...verdict, name: verdict.limitation ? verdict.name : "not known" });
  }
  return rows;
}
