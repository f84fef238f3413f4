// What the page says of a moment or of a segment.

import { acknowledged, copies, placeOf, valueAt } from "./pick.js";
import { grouped, quantity } from "./ticks.js";

/** A time since the start of the flow with as many digits as matter. */
export function clock(t) {
  const s = t / 1e9;
  return `${grouped(s, 6)} s`;
}

/** What was going on at a time, as pairs of name and value. */
export function moment(trace, t) {
  const rows = [["time", clock(t)]];
  const { flight, rwnd, cwnd, rtt } = trace.series;
  const windows = { "flight size": flight, "receiver window": rwnd, "cwnd": cwnd };
  windows["cwnd, estimated"] = trace.series.cwnd_estimate;
  for (const [name, columns] of Object.entries(windows)) {
    const value = valueAt(columns, t);
    if (value !== null) rows.push([name, `${grouped(value, 0)} B`]);
  }
  const round = valueAt(rtt, t);
  if (round !== null) rows.push(["RTT", quantity(round, "ns")]);
  const verdict = verdictAt(trace, t);
  if (verdict) {
    const sure = verdict.confidence ? `, ${verdict.confidence} confidence` : "";
    rows.push(["limited by", verdict.limitation ? verdict.name + sure : "not known"]);
  }
  return rows;
}

export function verdictAt(trace, t) {
  return trace.verdicts.find((verdict) => verdict.start <= t && t < verdict.end) ?? null;
}

/** What a segment was and what became of it, as pairs of name and value. */
export function segment(spec, trace, picked) {
  const { t, low, high, frame, proof } = placeOf(trace, picked);
  const mark = spec.marks.find(({ id }) => id === picked.kind);
  const length = high - low;
  const rows = [["frame", grouped(frame, 0)], ["time", clock(t)]];
  rows.push(["is", mark ? `${mark.label}: ${mark.about}` : "new data"]);
  const isPoint = length === 0;
  rows.push([isPoint ? "at" : "bytes", isPoint ? grouped(low + 1, 0) : range(low, high)]);
  if (!isPoint && !["sack", "dsack"].includes(picked.kind)) {
    const answer = acknowledged(trace, high, t);
    const after = answer && quantity(answer.t - t, "ns");
    rows.push(["acknowledged", answer ? `by frame ${grouped(answer.frame, 0)}, ${after} later` : "not seen"]);
    const again = copies(trace, low, high).filter(({ t: at }) => at !== t);
    if (again.length) rows.push(["copies", again.slice(0, 3).map((copy) => told(trace, copy, t)).join("; ")]);
  }
  if (proof) rows.push(["proved by", `frame ${grouped(proof, 0)}`]);
  return rows;
}

function told(trace, copy, t) {
  const { frame, t: at } = placeOf(trace, copy);
  const when = at > t ? "later" : "earlier";
  return `frame ${grouped(frame, 0)}, ${quantity(Math.abs(at - t), "ns")} ${when}`;
}

/** Bytes as Wireshark numbers them, from 1. */
function range(low, high) {
  return `${grouped(low + 1, 0)} to ${grouped(high, 0)} (${grouped(high - low, 0)})`;
}

/** Pairs as a sentence for a screen reader. */
export function sentence(rows) {
  return rows.map(([name, value]) => `${name} ${value}`).join(", ");
}
