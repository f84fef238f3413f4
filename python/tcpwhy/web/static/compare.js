// Two ranges of time beside each other.
import { ask, go, meta, query, timeField, withChanges } from "./app.js";
import { bar, cumulative } from "./charts.js";
import { h, limit, limits, number, s, table } from "./dom.js";
import { bytes, count, duration, points, rate, share, unfield } from "./format.js";

export const isLive = false;
let found;

function ranges() {
  const given = query();
  const { from_ms: first, to_ms: last } = meta.store;
  const middle = Math.floor((first + last) / 2);
  const of = (name, usual) => Number(given.get(name) ?? usual);
  return { from_a: of("from_a", first), to_a: of("to_a", middle), from_b: of("from_b", middle), to_b: of("to_b", last + 1) };
}

export async function view() {
  if (!meta.store.to_ms) meta.store = (await ask("meta")).store;
  if (!meta.store.to_ms) return h("p", { class: "notice" }, "The store has no data yet.");
  found = await ask("compare", new URLSearchParams(ranges()));
  const [a, b] = found.sides;
  return [
    h("div", { class: "head" }, h("h1", {}, "Compare two ranges of time"), form()),
    h("section", { class: "card" }, h("h2", {}, "As a whole"), totals(a, b)),
    h("section", { class: "card" }, h("h2", {}, "What limited"),
      h("div", { class: "soft" }, "A, of the time"), bar(ordered(a), "Shares of the time in A"),
      h("div", { class: "soft" }, "B, of the time"), bar(ordered(b), "Shares of the time in B"), changes(a, b)),
    h("div", { class: "grid" }, chart("throughput", "Throughput"), chart("rtt", "Round-trip time")),
    h("section", { class: "card" }, h("h2", {}, "Senders that changed most"), movers(found.movers)),
  ];
}

export function drawn(place) {
  if (!found || !place.querySelector("#throughput")) return;
  const pair = (name) => found.sides.map((side) => side.distributions[name]);
  const label = (what) => `Cumulative distribution of ${what} over directions, A and B`;
  cumulative(place.querySelector("#throughput"), pair("throughput_bps"), { show: rate, label: label("throughput") });
  cumulative(place.querySelector("#rtt"), pair("rtt_mean_ns"), { show: duration, label: label("round-trip times") });
}

const chart = (id, title) => h("section", { class: "card" }, h("h2", {}, title),
  h("ul", { class: "legend" }, ["a", "b"].map((side) =>
    h("li", {}, s("svg", { viewBox: "0 0 28 8", "aria-hidden": "true" }, s("line", { class: side, x2: 28, y1: 4, y2: 4 })), side.toUpperCase()))),
  h("div", { id, class: "chart-box" }));

function form() {
  const now = ranges();
  const inputs = Object.fromEntries(Object.entries(now).map(([name, ms]) => {
    const [end, side] = name.split("_");
    return [name, timeField(`${end} of ${side.toUpperCase()}, UTC`, ms)];
  }));
  const show = (event) => {
    event.preventDefault();
    go("/compare", withChanges(Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, unfield(input.value)]))));
  };
  const { from_ms: first, to_ms: last } = meta.store;
  const preset = (name, length) => h("button", { type: "button", disabled: last - first < 2 * length, onclick: () =>
    go("/compare", new URLSearchParams({ from_a: last - 2 * length, to_a: last - length, from_b: last - length, to_b: last + 1 })) }, name);
  return h("form", { onsubmit: show },
    h("div", { class: "row" }, h("b", {}, "A"), inputs.from_a, "to", inputs.to_a),
    h("div", { class: "row" }, h("b", {}, "B"), inputs.from_b, "to", inputs.to_b, h("span", { class: "soft" }, "UTC"),
      h("button", { type: "submit", class: "main" }, "Compare")),
    h("div", { class: "row" }, h("span", { class: "soft" }, "the last against the one before:"),
      preset("hour", 3600e3), preset("day", 86400e3), preset("week", 7 * 86400e3)));
}

function joined(side) {
  const sums = new Map();
  for (const row of side.shares) sums.set(row.limitation, (sums.get(row.limitation) ?? 0) + row.time_ns);
  return [...sums].sort((x, y) => y[1] - x[1]);
}

// The same order in both, so that one sees what grew.
const ordered = (side) => joined(side).sort((x, y) => limits().indexOf(x[0]) - limits().indexOf(y[0]));

function totals(a, b) {
  const times = (x, y) => (x && y ? `${(y / x).toFixed(2)} times` : "–");
  const row = (name, key, show) => [name, number(show(a.counts[key])), number(show(b.counts[key])), number(times(a.counts[key], b.counts[key]))];
  return table("Totals", ["", number("A"), number("B"), number("B over A")], [
    row("connections", "flows", count), row("moved", "bytes", bytes),
    row("median throughput", "median_throughput_bps", rate), row("median round-trip time", "median_rtt_ns", duration)]);
}

function changes(a, b) {
  const parts = [a, b].map((side) => {
    const sums = joined(side);
    const total = sums.reduce((sum, [, time]) => sum + time, 0) || 1;
    return new Map(sums.map(([word, time]) => [word, time / total]));
  });
  const words = [...new Set([...parts[0].keys(), ...parts[1].keys()])];
  const change = (word) => (parts[1].get(word) ?? 0) - (parts[0].get(word) ?? 0);
  words.sort((x, y) => Math.abs(change(y)) - Math.abs(change(x)));
  return table("Change of the shares", ["limited by", number("A"), number("B"), number("change")],
    words.map((word) => [limit(word), number(share(parts[0].get(word) ?? 0)), number(share(parts[1].get(word) ?? 0)), number(points(change(word)))]));
}

function movers(rows) {
  if (!rows.length) return h("p", { class: "soft" }, "No sender has three transfers in each of the ranges.");
  const link = (row) => h("a", { href: `/flows?q=${encodeURIComponent(row.src)}`, class: "mono" }, row.src);
  return table("Senders that changed most",
    ["sender", number("bytes", "wide"), number("A"), number("B"), number("B over A"), { content: "limited in A", class: "wide" }, "limited in B"],
    rows.map((row) => [link(row), number(bytes(row.bytes), "wide"), number(rate(row.rate_a)), number(rate(row.rate_b)),
      number(`${(row.rate_b / row.rate_a).toPrecision(2)} times`), { content: limit(row.limitation_a), class: "wide" }, limit(row.limitation_b)]));
}
