// What is drawn, as a list of marks on a page. `scene.py` is the same in Python.

import { events } from "./events.js";
import { binned, ofPanel, panels } from "./layout.js";
import { bounds, extremes, lower, upper } from "./ranges.js";
import { axis } from "./ticks.js";

const MIN_HEIGHT = 1.5;
const MIN_TICKS = 2.5;
const NARROW = 560;
const SPARSE = 6;
const OTHERS = {
  data: "other", ack: "other_ack", window: "other_ack", rtt: "other", cwnd: "other", again: "other_ack",
};
const POWERS = {
  B: 0, kB: 3, MB: 6, GB: 9, TB: 12, "bit/s": 0, "kbit/s": 3, "Mbit/s": 6, "Gbit/s": 9,
  ns: 0, "µs": 3, ms: 6, s: 9,
};

/** The marks of a view, and the panels on which they lie. The first trace is looked at. */
export function scene(spec, traces, view, width, height) {
  const placed = panels(spec, traces, view, width, height);
  if (!placed.length) return { marks: [], placed };
  const marks = ribbons(spec, traces, view, placed[0]);
  const time = axis(view.t0, view.t1, placed[0].w / spec.geometry.tick_px, "ns");
  for (const panel of placed) {
    marks.push(...ground(spec, panel, view, time));
    const isSequence = panel.spec.id === "sequence";
    for (const trace of [...traces].reverse()) {
      const isOther = trace !== traces[0];
      if (isSequence) marks.push(...events(spec, panel, trace, view, true));
      for (const series of ofPanel(spec, panel.spec)) {
        if (trace.hidden?.has(series.id)) continue;
        for (const mark of seriesMarks(spec, panel, series, trace, view)) {
          if (isOther) mark.colour = OTHERS[mark.colour] ?? mark.colour;
          marks.push(mark);
        }
      }
      if (isSequence) marks.push(...events(spec, panel, trace, view, false));
    }
  }
  marks.push(...timeLabels(placed, view, time));
  return { marks, placed };
}

function ribbons(spec, traces, view, first) {
  const { ribbon: h, top } = spec.geometry;
  const marks = [];
  traces.forEach((trace, index) => {
    for (const [start, end, limitation] of runs(trace, view)) {
      const [x0, x1] = [first.atX(view, start), first.atX(view, end)];
      const data = [x0, top + index * (h + 4), Math.max(0.5, x1 - x0), h];
      marks.push(mark("rect", "ribbon", "verdict", `limit:${limitation}`, data));
      const name = plainName(trace, limitation);
      if (x1 - x0 < (name.length + 2) * spec.geometry.letter) continue;
      marks.push(text("ribbon", "name", name, x0 + 6, top + index * (h + 4) + h - 4, "start", `on:${limitation}`));
    }
  });
  return marks;
}

/** A limitation in plain words, without its cause. */
function plainName(trace, limitation) {
  if (limitation === "unknown") return "not known";
  return trace.verdicts.find((verdict) => verdict.limitation === limitation).name.replace(/ \(.*/, "");
}

function runs(trace, view) {
  const found = [];
  for (const verdict of trace.verdicts) {
    if (verdict.end < view.t0 || verdict.start > view.t1) continue;
    const [start, end] = [Math.max(verdict.start, view.t0), Math.min(verdict.end, view.t1)];
    const name = verdict.limitation ?? "unknown";
    const held = found[found.length - 1];
    if (held && held[2] === name && start - held[1] < 1) held[1] = end;
    else found.push([start, end, name]);
  }
  return found;
}

function ground(spec, panel, view, time) {
  const name = panel.spec.id;
  const marks = [mark("rect", name, "ground", "plot", [panel.x, panel.y, panel.w, panel.h])];
  const values = axis(panel.lo, panel.hi, Math.max(MIN_TICKS, panel.h / spec.geometry.tick_px_y), panel.spec.unit);
  const grid = [];
  for (const tick of time.ticks) grid.push(crisp(panel.atX(view, tick.at)), panel.y, panel.y + panel.h);
  if (grid.length) marks.push(mark("bars", name, "grid", "grid", grid, { width: 1 }));
  const rules = [];
  for (const tick of values.ticks) {
    const y = crisp(panel.atY(tick.at));
    rules.push(panel.x, y, panel.x + panel.w, y, NaN, NaN);
    marks.push(text(name, "axis", tick.label, panel.x - 6, y + 4, "end"));
  }
  if (rules.length) marks.push(mark("path", name, "grid", "grid", rules, { width: 1 }));
  const base = values.base ? `, from ${values.base}` : "";
  const title = `${panel.spec.title} (${values.unit}${base})`;
  marks.push(text(name, "title", title, panel.x, panel.y - 5, "start", "ink"));
  const told = Object.entries(panel.beyond).map(([label, value]) => {
    const { unit } = axis(0, value, 1, panel.spec.unit);
    return `${label} to ${Number((value / 10 ** POWERS[unit]).toPrecision(3))} ${unit}`;
  });
  if (told.length) {
    const words = `${told.join(", ")}: beyond the scale`;
    const y = panel.w > NARROW ? panel.y - 5 : panel.y + 12;
    marks.push(text(name, "title", words, panel.x + panel.w - 4, y, "end"));
  }
  return marks;
}

function seriesMarks(spec, panel, series, trace, view) {
  const { id, colour, width } = series;
  const name = panel.spec.id;
  if (series.mark === "rate") {
    const data = rate(spec, panel, series, trace, view);
    return data.length ? [mark("path", name, id, colour, data, { width })] : [];
  }
  const columns = trace.series[id];
  if (!columns?.t.length) return [];
  const [a, b] = [lower(columns.t, view.t0), upper(columns.t, view.t1)];
  const isDense = b - a > spec.geometry.dense * panel.w;
  if (series.mark === "step") {
    const data = (isDense ? denseStep : step)(panel, columns, trace, view, a, b);
    return data.length ? [mark("path", name, id, colour, data, { width, dash: series.dash ?? [] })] : [];
  }
  if (b <= a) return [];
  const isBars = series.mark === "bars";
  const [low, high] = isBars ? [columns.lo, columns.hi] : [columns.v, columns.v];
  if (isDense) {
    return [mark("bars", name, id, colour, columnData(panel, columns.t, low, high, view), { width: 1 })];
  }
  const data = [];
  const size = (b - a) * SPARSE < panel.w ? 2 * width : width;
  for (let i = a; i < b; i++) {
    const x = panel.atX(view, columns.t[i]);
    if (isBars) data.push(x, ...seen(panel.atY(low[i]), panel.atY(high[i]), size));
    else data.push(x, panel.atY(low[i]));
  }
  return isBars
    ? [mark("bars", name, id, colour, data, { width: size })]
    : [mark("dots", name, id, colour, data, { width: 1.6 })];
}

/** The ends of a bar that is high enough to be seen. */
function seen(bottom, top, least) {
  if (bottom - top >= least) return [bottom, top];
  const middle = (bottom + top) / 2;
  return [middle + least / 2, middle - least / 2];
}

function columnData(panel, t, low, high, view) {
  const starts = bounds(t, view.t0, view.t1, panel.w);
  const data = [];
  for (let c = 0; c < panel.w; c++) {
    if (starts[c + 1] <= starts[c]) continue;
    const bottom = panel.atY(extremes(low, starts[c], starts[c + 1])[0]);
    const top = panel.atY(extremes(high, starts[c], starts[c + 1])[1]);
    data.push(panel.x + c + 0.5, ...seen(bottom, top, MIN_HEIGHT));
  }
  return data;
}

function step(panel, columns, trace, view, a, b) {
  const data = [];
  let held = a > 0 ? columns.v[a - 1] : -1;
  if (held >= 0) data.push(panel.x, panel.atY(held));
  for (let i = a; i < b; i++) {
    const x = panel.atX(view, columns.t[i]);
    const v = columns.v[i];
    if (held >= 0) data.push(x, panel.atY(held));
    if (v >= 0) data.push(x, panel.atY(v));
    else data.push(NaN, NaN);
    held = v;
  }
  return data.concat(endOf(panel, trace, view, held));
}

function denseStep(panel, columns, trace, view, a) {
  const { v } = columns;
  const starts = bounds(columns.t, view.t0, view.t1, panel.w);
  const data = [];
  let held = a > 0 ? v[a - 1] : -1;
  if (held >= 0) data.push(panel.x, panel.atY(held));
  for (let c = 0; c < panel.w; c++) {
    if (starts[c + 1] <= starts[c]) continue;
    const [low, high] = extremes(v, starts[c], starts[c + 1]);
    const x = panel.x + c + 0.5;
    const [first, last] = [v[starts[c]], v[starts[c + 1] - 1]];
    for (const value of [held, first, low < 0 ? high : low, high, last]) {
      if (value >= 0) data.push(x, panel.atY(value));
    }
    if (last < 0) data.push(NaN, NaN);
    held = last;
  }
  return data.concat(endOf(panel, trace, view, held));
}

/** Hold the last value to the end of the flow or of the view. */
function endOf(panel, trace, view, held) {
  const end = Math.min(view.t1, trace.span_ns);
  return held < 0 || end < view.t0 ? [] : [panel.atX(view, end), panel.atY(held)];
}

function rate(spec, panel, series, trace, view) {
  const { edges, rates } = binned(spec, series, trace, view, panel.w);
  const data = [];
  rates.forEach((value, bin) => {
    const x0 = panel.atX(view, Math.max(edges[bin], view.t0));
    const x1 = panel.atX(view, Math.min(edges[bin + 1], view.t1));
    data.push(x0, panel.atY(value), x1, panel.atY(value));
  });
  return data;
}

function timeLabels(placed, view, time) {
  const last = placed[placed.length - 1];
  const y = last.y + last.h + 16;
  const marks = [];
  for (const tick of time.ticks) {
    const x = last.atX(view, tick.at);
    if (time.base && x < last.x + 60) continue;
    marks.push(text("time", "axis", `${tick.label} ${time.unit}`, x, y, "middle"));
  }
  if (time.base) marks.push(text("time", "axis", time.base, last.x - 44, y, "start", "ink"));
  return marks;
}

function mark(op, panel, what, colour, data, more = {}) {
  return { op, panel, what, colour, data, ...more };
}

function text(panel, what, words, x, y, anchor, colour = "quiet") {
  return mark("text", panel, what, colour, [x, y], { text: words, anchor });
}

function crisp(at) {
  return Math.floor(at) + 0.5;
}
