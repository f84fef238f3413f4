// The layer of rare events, which no scale hides. `events.py` is the same in Python.

import { lower, upper } from "./ranges.js";

const TALL = 3;

/** The marks of rare events: spans, which lie behind the series, or the others. */
export function events(spec, panel, trace, view, spans) {
  const drawn = [];
  for (const mark of spec.marks) {
    const columns = trace.marks[mark.id];
    if (!columns?.t.length || (mark.glyph === "span") !== spans) continue;
    if (trace.hidden?.has(mark.id)) continue;
    const named = { panel: "sequence", what: mark.id, colour: mark.colour };
    if (spans) {
      const data = spanData(spec, panel, columns, view);
      if (data.length) drawn.push({ op: "rects", ...named, data });
      continue;
    }
    const { bars, points } = pointData(spec, panel, columns, view, mark.glyph === "bar");
    if (bars.length) drawn.push({ op: "bars", ...named, data: bars, width: 1.5 });
    if (points.length) drawn.push({ op: "glyphs", ...named, data: points, glyph: mark.glyph });
  }
  return drawn;
}

function spanData(spec, panel, columns, view) {
  const { cell } = spec.geometry;
  const seen = new Set();
  const data = [];
  const b = upper(columns.t, view.t1);
  for (let i = lower(columns.t1, view.t0); i < b; i++) {
    const x0 = panel.atX(view, Math.max(columns.t[i], view.t0));
    const x1 = panel.atX(view, Math.min(columns.t1[i], view.t1));
    const key = Math.floor(x0 / cell) * 65536 + Math.floor(x1 / cell);
    if (seen.has(key)) continue;
    seen.add(key);
    data.push(x0, panel.y, Math.max(1.5, x1 - x0), panel.h);
  }
  return data;
}

function pointData(spec, panel, columns, view, isBar) {
  const { cell } = spec.geometry;
  const seen = new Set();
  const [bars, points] = [[], []];
  const b = upper(columns.t, view.t1);
  for (let i = lower(columns.t, view.t0); i < b; i++) {
    const x = panel.atX(view, columns.t[i]);
    let bottom = panel.atY(columns.y0[i]);
    let top = panel.atY(columns.y1[i]);
    const middle = (bottom + top) / 2;
    const across = Math.floor(x / cell) * 1e5;
    const key = isBar
      ? (across + Math.floor(bottom / cell)) * 1e5 + Math.floor(top / cell)
      : across + Math.floor(middle / cell);
    if (seen.has(key)) continue;
    seen.add(key);
    const isTall = isBar || bottom - top >= TALL;
    if (bottom - top < 1) [bottom, top] = [middle + 0.5, middle - 0.5];
    if (isTall) bars.push(x, bottom, top);
    if (!isBar) points.push(x, middle);
  }
  return { bars, points };
}
