// What limited the link over time, and who would gain most.
import { ask, go, meta, query, rangeOf, rangePicker, withChanges } from "./app.js";
import { bar, stacked } from "./charts.js";
import { files, h, limit, meter, number, sure, table, tiles } from "./dom.js";
import { bytes, count, duration, moment, rate, share } from "./format.js";

export const isLive = true;
let found;

export async function view() {
  found = await ask("overview", rangeOf());
  const by = query().get("by") === "time" ? "time" : "bytes";
  return [
    h("div", { class: "head row between" },
      h("div", {}, h("h1", {}, "What limits this link"), h("p", { class: "soft" }, `${moment(found.from_ms)} to ${moment(found.to_ms)} UTC`)),
      rangePicker(found)),
    found.done < 1 ? h("p", { class: "notice" }, `The store is being read, ${Math.floor(100 * found.done)} % so far; this page follows.`) : null,
    summary(found),
    h("section", { class: "card" },
      h("div", { class: "row between" },
        h("h2", {}, by === "time" ? "Sending directions by limitation" : "Goodput by limitation"),
        h("div", { class: "row" }, ["bytes", "time"].map((one) =>
          h("button", { type: "button", "aria-pressed": String(one === by), onclick: () => go("/", withChanges({ by: one === "bytes" ? null : one })) }, `by ${one}`)))),
      h("div", { class: "chart-box", id: "over-time" }),
      h("p", { class: "soft" }, "Drag over the chart to choose a range.")),
    now(found),
    shares(found),
    gains(found),
  ].filter(Boolean);
}

export function drawn(place) {
  const box = place.querySelector("#over-time");
  if (!box || !found) return;
  if (!found.columns.length && found.done < 1) return;
  if (!found.columns.length) {
    box.replaceChildren(h("p", { class: "soft" }, "No connection moved data in this range."));
    return;
  }
  const by = query().get("by") === "time" ? "time" : "bytes";
  const choose = (from, to) => go("/", withChanges({ from, to, last: null }));
  stacked(box, found, { by, choose });
}

// Intervals have the bytes of connections that go on; only flows have medians and confidence.
function summary({ counts, shares: rows, from_ms: from, to_ms: to }) {
  const total = (chosen) => chosen.reduce((sum, row) => sum + row.bytes, 0);
  const part = (amount, whole) => (whole ? amount / whole : null);
  const isOfIntervals = rows.length > 0;
  const moved = isOfIntervals ? total(rows) : counts.bytes;
  const judged = isOfIntervals ? total(rows.filter((row) => row.limitation !== "none")) : counts.judged_bytes;
  return tiles([
    [count(counts.flows), meta.live ? "connections that ended" : "connections"],
    [bytes(moved), "moved"],
    [rate((moved * 8e3) / Math.max(1, to - from)), "on average"],
    [rate(counts.median_throughput_bps), "median throughput"],
    [duration(counts.median_rtt_ns), "median round-trip time"],
    [share(part(judged, moved)), "of the bytes have a verdict"],
    [share(part(counts.sure_bytes, counts.bytes)), "with high confidence"],
  ]);
}

function joined(shares) {
  const sums = new Map();
  for (const row of shares) {
    const one = sums.get(row.limitation) ?? { time_ns: 0, bytes: 0 };
    sums.set(row.limitation, { time_ns: one.time_ns + row.time_ns, bytes: one.bytes + row.bytes });
  }
  return [...sums].sort((a, b) => b[1].time_ns - a[1].time_ns);
}

function shares({ shares: rows }) {
  const total = (name) => rows.reduce((sum, row) => sum + row[name], 0) || 1;
  const [time, size] = [total("time_ns"), total("bytes")];
  const sums = joined(rows);
  const link = (row) => h("a", { href: `/flows?${withChanges({ limitation: row.limitation }, rangeOf())}` }, limit(row.limitation, row.cause));
  return h("section", { class: "card" },
    h("div", { class: "row between" }, h("h2", {}, "Where the time and the bytes went"), files("shares", rangeOf())),
    h("div", { class: "soft" }, "of the time"), bar(sums.map(([word, sum]) => [word, sum.time_ns]), "Shares of the time"),
    h("div", { class: "soft" }, "of the bytes"), bar(sums.map(([word, sum]) => [word, sum.bytes]), "Shares of the bytes"),
    table("Time and bytes by limitation",
      ["limited by", number("time"), number("share"), { content: "", class: "wide" }, number("bytes"), number("share", "wide"), number("intervals", "wide")],
      rows.map((row) => [link(row), number(duration(row.time_ns)), number(share(row.time_ns / time)),
        { content: meter(row.time_ns / time, row.limitation), class: "wide" },
        number(bytes(row.bytes)), number(share(row.bytes / size), "wide"), number(count(row.intervals), "wide")])));
}

const pair = (row, link, more) => ({ content: [link, h("span", { class: "to" }, `→ ${row.dst}:${row.dst_port}`), more], class: "pair" });

// Of a link that is watched: who sends, also connections that go on and have no row of their own yet.
function now({ now: rows }) {
  if (!rows.length) return null;
  const watch = (row) => h("a", { class: "button", href: `/flow/${row.flow_id}/graph/live?seconds=10`, "data-plain": true,
    "aria-label": `Watch ${row.src}:${row.src_port} for 10 seconds and draw it` }, "Graph of the next 10 s");
  const lines = rows.map((row) => [
    pair(row, h("span", {}, `${row.src}:${row.src_port}`), watch(row)), limit(row.limitation, row.cause),
    { content: sure(row.confidence) ?? "", class: "wide" }, number(rate(row.goodput_bps))]);
  return h("section", { class: "card", id: "now" }, h("h2", {}, "Sending now"),
    table("Connections that sent most in the last seconds",
      ["sender and receiver", "limited by", { content: "sure", class: "wide" }, number("goodput")], lines));
}

function gains({ gains: rows }) {
  const heads = ["sender and receiver", "limited by", { content: "sure", class: "wide" }, number("bytes", "wide"), number("now"), number("then"), { content: "change", class: "wide" }];
  const lines = rows.map((row) => [
    pair(row, h("a", { href: `/flow/${row.flow_id}` }, `${row.src}:${row.src_port}`), h("span", { class: "narrow" }, row.remedy ?? "")),
    limit(row.limitation, row.cause), { content: sure(row.confidence) ?? "", class: "wide" }, number(bytes(row.bytes), "wide"),
    number(rate(row.goodput_bps)), number(rate(row.headroom_bps)), { content: row.remedy ?? "", class: "wide" }]);
  return h("section", { class: "card" }, h("h2", {}, "What would gain most"),
    rows.length ? table("Connections that would gain most time", heads, lines)
      : h("p", { class: "soft" }, "No connection of this range is known to gain anything by a change."));
}
