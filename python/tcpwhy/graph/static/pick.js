// What lies under the pointer, and what belongs to it.

import { lower, upper } from "./ranges.js";

const REACH = 12;
const MOST_SCANNED = 4000;

/** The segment or event nearest to a point of the panel of sequence numbers, or null. */
export function nearest(spec, panel, trace, view, x, y) {
  const [from, to] = [panel.timeAt(view, x - REACH), panel.timeAt(view, x + REACH)];
  let best = null;
  const offer = (kind, columns, i, low, high) => {
    const dx = panel.atX(view, columns.t[i]) - x;
    const [top, bottom] = [panel.atY(high[i]), panel.atY(low[i])];
    const dy = y < top ? top - y : y > bottom ? y - bottom : 0;
    const rank = Math.hypot(dx, dy) - (kind === "data" ? 0 : 3);
    if (Math.hypot(dx, dy) <= REACH && (!best || rank < best.rank)) best = { kind, index: i, rank };
  };
  const { data } = trace.series;
  if (data && !trace.hidden?.has("data")) {
    for (const i of candidates(data, from, to, panel.valueAt(y))) offer("data", data, i, data.lo, data.hi);
  }
  for (const mark of spec.marks) {
    const columns = trace.marks[mark.id];
    if (!columns || mark.glyph === "span" || trace.hidden?.has(mark.id)) continue;
    const [a, b] = [lower(columns.t, from), upper(columns.t, to)];
    const stride = Math.max(1, Math.ceil((b - a) / MOST_SCANNED));
    for (let i = a; i < b; i += stride) offer(mark.id, columns, i, columns.y0, columns.y1);
  }
  return best && { kind: best.kind, index: best.index };
}

/** Segments near a time and a sequence number: new data ascends in both. */
function candidates(data, from, to, value) {
  const [a, b] = [lower(data.t, from), upper(data.t, to)];
  const found = [];
  if (b - a <= MOST_SCANNED) {
    for (let i = a; i < b; i++) found.push(i);
    return found;
  }
  const middle = Math.min(b, Math.max(a, upper(data.lo, value)));
  for (let i = Math.max(a, middle - 200); i < Math.min(b, middle + 200); i++) found.push(i);
  return found;
}

/** The columns and the place of what was picked. */
export function placeOf(trace, { kind, index }) {
  const columns = kind === "data" ? trace.series.data : trace.marks[kind];
  const [low, high] = kind === "data" ? [columns.lo, columns.hi] : [columns.y0, columns.y1];
  const proof = columns.proof?.[index] || null;
  return { t: columns.t[index], low: low[index], high: high[index], frame: columns.frame[index], proof };
}

/** When and by which frame everything up to `end` was acknowledged, after time `t`; or null. */
export function acknowledged(trace, end, t) {
  const { ack } = trace.series;
  if (!ack) return null;
  const i = Math.max(lower(ack.v, end), lower(ack.t, t));
  return i < ack.t.length ? { t: ack.t[i], frame: ack.frame[i] } : null;
}

const CARRIERS = [
  "fast_retransmission", "rto_retransmission", "tlp_retransmission", "spurious_retransmission",
  "retransmission", "reordered",
];

/** The segments that carry bytes of `low` to `high`: new data and later copies, by time. */
export function copies(trace, low, high) {
  const found = [];
  const { data } = trace.series;
  if (data) {
    const i = Math.max(0, upper(data.lo, low) - 1);
    for (let k = i; k < Math.min(data.t.length, i + 50) && data.lo[k] < high; k++) {
      if (data.hi[k] > low) found.push({ kind: "data", index: k, t: data.t[k] });
    }
  }
  for (const kind of CARRIERS) {
    const columns = trace.marks[kind];
    if (!columns) continue;
    for (let k = 0; k < columns.t.length; k++) {
      if (columns.y0[k] < high && columns.y1[k] > low) found.push({ kind, index: k, t: columns.t[k] });
    }
  }
  return found.sort((one, other) => one.t - other.t);
}

const STEPS = new Set([...CARRIERS, "zero_window", "stall", "ce", "rst", "zero_window_probe"]);

/** The next event after a time, or the last one before it, among those that tell of trouble. */
export function nextEvent(trace, t, isForward) {
  let best = null;
  for (const kind of STEPS) {
    const columns = trace.marks[kind];
    if (!columns || trace.hidden?.has(kind)) continue;
    const index = isForward ? upper(columns.t, t) : lower(columns.t, t) - 1;
    if (index < 0 || index >= columns.t.length) continue;
    const at = columns.t[index];
    if (!best || (isForward ? at < best.t : at > best.t)) best = { kind, index, t: at };
  }
  return best;
}

/** The value of a series that held at a time, or null. */
export function valueAt(columns, t) {
  if (!columns?.t.length) return null;
  const i = upper(columns.t, t) - 1;
  return i < 0 || columns.v[i] < 0 ? null : columns.v[i];
}
