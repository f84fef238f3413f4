// Where the panels lie and what their axes span. `layout.py` is the same in Python.

import { extremes, lower, upper } from "./ranges.js";

/** A panel on the page: its place, and the values at its lower and upper edge. */
export class Panel {
  constructor(spec, x, y, w, h, lo, hi, beyond) {
    Object.assign(this, { spec, x, y, w, h, lo, hi, beyond });
  }

  atX(view, t) {
    return this.x + ((t - view.t0) / (view.t1 - view.t0)) * this.w;
  }

  atY(value) {
    return this.y + this.h - ((value - this.lo) / (this.hi - this.lo)) * this.h;
  }

  timeAt(view, x) {
    return view.t0 + ((x - this.x) / this.w) * (view.t1 - view.t0);
  }

  valueAt(y) {
    return this.lo + ((this.y + this.h - y) / this.h) * (this.hi - this.lo);
  }
}

/** The panels that have anything to show, under each other; ribbons come above them. */
export function panels(spec, traces, view, width, height) {
  const { geometry } = spec;
  const { left, right } = width < geometry.narrow.below ? geometry.narrow : geometry;
  const shown = spec.panels.filter((panel) => traces.some((trace) => has(spec, panel, trace)));
  const top = geometry.top + traces.length * (geometry.ribbon + 4);
  let space = height - top - geometry.bottom;
  space -= shown.length * geometry.title + Math.max(0, shown.length - 1) * geometry.gap;
  const shares = shown.reduce((sum, panel) => sum + panel.share, 0);
  let y = top;
  return shown.map((panel) => {
    y += geometry.title;
    const h = Math.max(1, Math.floor((space * panel.share) / shares));
    const w = Math.max(1, Math.floor(width - left - right));
    const [lo, hi, beyond] = domain(spec, panel, traces, view, w);
    const placed = new Panel(panel, left, y, w, h, lo, hi, beyond);
    y += h + geometry.gap;
    return placed;
  });
}

function has(spec, panel, trace) {
  return ofPanel(spec, panel).some((series) => isFilled(trace, series));
}

function isFilled(trace, series) {
  const names = series.of ?? [series.id];
  return names.some((name) => (trace.series[name] ?? trace.marks[name])?.t.length);
}

/** The series of a panel, in the order of drawing. */
export function ofPanel(spec, panel) {
  return spec.series.filter((series) => series.panel === panel.id);
}

function domain(spec, panel, traces, view, w) {
  let lo = Infinity;
  let hi = -Infinity;
  const near = {};
  for (const trace of traces) {
    for (const series of ofPanel(spec, panel)) {
      if (trace.hidden?.has(series.id)) continue;
      const found = spanned(spec, series, trace, view, w);
      if (!found) continue;
      const { label } = series;
      if (series.fit === "near") near[label] = Math.max(near[label] ?? -Infinity, found[1]);
      else [lo, hi] = [Math.min(lo, found[0]), Math.max(hi, found[1])];
    }
    if (panel.id === "sequence") [lo, hi] = withMarks(spec, trace, view, lo, hi);
  }
  const fixed = view.y?.[panel.id];
  if (fixed) return [fixed[0], fixed[1], {}];
  const highest = Math.max(-Infinity, ...Object.values(near));
  if (hi === -Infinity) [lo, hi] = highest > 0 ? [0, highest] : [0, 1];
  if (panel.zero) lo = 0;
  const most = hi + spec.geometry.beyond * Math.max(hi - lo, 1);
  const beyond = Object.fromEntries(Object.entries(near).filter(([, value]) => value > most));
  const within = Object.values(near).filter((value) => value <= most);
  hi = Math.max(hi, ...within, Object.keys(beyond).length ? most : hi);
  if (hi <= lo) hi = lo + 1;
  const pad = 0.05 * (hi - lo);
  return [panel.zero ? lo : lo - pad, hi + pad, beyond];
}

function withMarks(spec, trace, view, lo, hi) {
  for (const mark of spec.marks) {
    const columns = trace.marks[mark.id];
    if (!columns || mark.glyph === "span" || trace.hidden?.has(mark.id)) continue;
    const [a, b] = [lower(columns.t, view.t0), upper(columns.t, view.t1)];
    if (b <= a) continue;
    lo = Math.min(lo, extremes(columns.y0, a, b)[0]);
    hi = Math.max(hi, extremes(columns.y1, a, b)[1]);
  }
  return [lo, hi];
}

/** The least and largest value of a series in a view, or null. */
export function spanned(spec, series, trace, view, w) {
  if (series.mark === "rate") {
    const { rates } = binned(spec, series, trace, view, w);
    return rates.length ? [0, rates.reduce((a, b) => Math.max(a, b), 0)] : null;
  }
  const columns = trace.series[series.id];
  if (!columns?.t.length) return null;
  let a = lower(columns.t, view.t0);
  const b = upper(columns.t, view.t1);
  if (series.mark === "step") a = Math.max(0, a - 1);
  if (b <= a) return null;
  const isBars = series.mark === "bars";
  const least = extremes(isBars ? columns.lo : columns.v, a, b)[0];
  const largest = extremes(isBars ? columns.hi : columns.v, a, b)[1];
  if (largest < 0) return null;
  return [isBars ? least : Math.max(least, 0), largest];
}

const sums = new WeakMap();

/** The bytes of a series before each of its entries. */
function summed(columns) {
  let total = sums.get(columns);
  if (!total) {
    const [low, high] = columns.lo ? [columns.lo, columns.hi] : [columns.y0, columns.y1];
    total = new Float64Array(low.length + 1);
    for (let i = 0; i < low.length; i++) total[i + 1] = total[i] + (high[i] - low[i]);
    sums.set(columns, total);
  }
  return total;
}

/** The edges of the bins of a rate and the rate in each, in bit/s; none without data. */
export function binned(spec, series, trace, view, w) {
  if (!isFilled(trace, series)) return { edges: [], rates: [] };
  const width = binNs(spec, trace, view, w);
  const first = Math.floor(Math.max(0, view.t0) / width);
  const last = Math.max(first, Math.ceil(Math.min(view.t1, trace.span_ns) / width));
  const edges = [];
  for (let bin = first; bin <= last; bin++) edges.push(bin * width);
  const rates = new Array(Math.max(0, edges.length - 1)).fill(0);
  for (const name of series.of) {
    const columns = trace.series[name] ?? trace.marks[name];
    if (!columns?.t.length || edges.length < 2) continue;
    const total = summed(columns);
    const at = edges.map((edge) => total[lower(columns.t, edge)]);
    for (let bin = 0; bin < rates.length; bin++) rates[bin] += at[bin + 1] - at[bin];
  }
  return { edges, rates: rates.map((bytes) => (bytes * 8e9) / width) };
}

function binNs(spec, trace, view, w) {
  const raw = Math.max((spec.geometry.bin_px * (view.t1 - view.t0)) / w, trace.bin_floor_ns);
  const exponent = Math.floor(Math.log10(raw));
  for (const factor of [1, 2, 5]) if (factor * 10 ** exponent >= raw) return factor * 10 ** exponent;
  return 10 ** (exponent + 1);
}
