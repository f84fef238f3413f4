// The list of flows: searched, filtered and sorted by the server, a page at a time.
import { ask, go, meta, query, rangePicker, told, withChanges } from "./app.js";
import { files, h, limit, limits, number, plain, sure, swatch, table } from "./dom.js";
import { bytes, count, duration, rate, share } from "./format.js";

export const isLive = true;

export async function view() {
  const given = query();
  const found = await ask("flows", given);
  const range = { from_ms: Number(given.get("from") ?? meta.store.from_ms ?? 0), to_ms: Number(given.get("to") ?? meta.store.to_ms ?? 0) };
  const shown = h("p", { class: "soft", role: "status" }, `${told(found.total, "direction")} of connections`);
  return [
    h("div", { class: "head row between" }, h("div", {}, h("h1", {}, "Flows"), shown), rangePicker(range)),
    h("section", { class: "card" }, filters(given)),
    h("section", { class: "card" },
      h("div", { class: "row between" }, sorts(given), files("flows", given)),
      found.rows.length ? listing(found, given) : h("p", { class: "soft" }, "Nothing is like that. Fewer words or filters find more."),
      pager(found, given)),
  ];
}

const change = (changes) => go("/flows", withChanges({ page: null, ...changes }));

function filters(given) {
  const search = h("input", { type: "search", name: "q", value: given.get("q") ?? "", "aria-label": "Search",
    placeholder: "address, host:port, :port, flow id, Community ID, limit" });
  const port = h("input", { inputmode: "numeric", size: 6, value: given.get("port") ?? "", "aria-label": "Port", placeholder: "port" });
  const level = h("select", { "aria-label": "Confidence" },
    [["", "any confidence"], ["high", "high"], ["medium", "medium"], ["low", "low"]].map(([value, name]) =>
      h("option", { value, selected: value === (given.get("confidence") ?? "") }, name)));
  const least = h("select", { "aria-label": "Least bytes" },
    [["", "any size"], ["100000", "from 100 kB"], ["1000000", "from 1 MB"], ["100000000", "from 100 MB"]].map(([value, name]) =>
      h("option", { value, selected: value === (given.get("least") ?? "") }, name)));
  const submit = (event) => {
    event?.preventDefault();
    change({ q: search.value.trim(), port: port.value.trim(), confidence: level.value, least: least.value });
  };
  for (const one of [level, least]) one.addEventListener("change", submit);
  const chosen = new Set((given.get("limitation") ?? "").split(",").filter(Boolean));
  const chips = limits().map((word) => h("li", {},
    h("button", { type: "button", "aria-pressed": String(chosen.has(word)), "data-word": word, onclick: () => {
      if (!chosen.delete(word)) chosen.add(word);
      change({ limitation: [...chosen].join(",") });
    } }, swatch(word), plain(word))));
  return h("form", { role: "search", onsubmit: submit },
    h("div", { class: "row" }, search, port, level, least, h("button", { type: "submit", class: "main" }, "Search")),
    h("ul", { class: "chips", "aria-label": "Limited by" }, chips));
}

function sorts(given) {
  const now = given.get("sort") ?? "weight";
  const choice = h("select", { "aria-label": "Sort by" },
    [["weight", "slow and big first"], ["gain", "most to gain first"], ["start", "newest first"], ["bytes", "biggest first"],
      ["duration", "longest first"], ["throughput", "fastest first"], ["rtt", "longest round trip first"], ["loss", "most sent again first"]]
      .map(([value, name]) => h("option", { value, selected: value === now }, name)));
  choice.addEventListener("change", () => change({ sort: choice.value === "weight" ? null : choice.value, order: null }));
  return choice;
}

function listing(found, given) {
  const now = given.get("sort") ?? "weight";
  const isUp = given.get("order") === "asc";
  const head = (key, title, more = "") => {
    const isHere = key === now;
    const order = isHere && !isUp ? "asc" : null;
    return { content: h("button", { type: "button", onclick: () => change({ sort: key, order }) }, title),
      class: `n ${more}`.trim(), "aria-sort": isHere ? (isUp ? "ascending" : "descending") : null };
  };
  const heads = ["sender and receiver", "limited by", { content: "sure", class: "wide" }, head("bytes", "bytes", "wide"), head("duration", "time", "wide"),
    head("throughput", "throughput"), head("rtt", "RTT", "wide"), head("loss", "sent again", "wide"), head("gain", "could be", "wide")];
  const rows = found.rows.map((row) => [
    { content: [h("a", { href: `/flow/${row.flow_id}`, title: row.evidence ?? row.null_reason ?? "" }, `${row.src}:${row.src_port}`),
      h("span", { class: "to" }, `→ ${row.dst}:${row.dst_port}`), h("span", { class: "narrow" }, bytes(row.unique_bytes))], class: "pair" },
    limit(row.limitation, row.cause), { content: sure(row.confidence) ?? "", class: "wide" },
    number(bytes(row.unique_bytes), "wide"), number(duration(row.end_ns - row.start_ns), "wide"), number(rate(row.throughput_bps)),
    number(duration(row.rtt_mean_ns), "wide"),
    number(row.payload_bytes ? share(row.retransmitted_bytes / row.payload_bytes) : "–", "wide"),
    number(row.headroom_bps > 1.05 * row.goodput_bps ? rate(row.headroom_bps) : "–", "wide")]);
  return table("Flows", heads, rows);
}

function pager(found, given) {
  const last = Math.min(found.most_pages, Math.max(1, Math.ceil(found.total / found.page_rows)));
  const to = (page, name) => h("button", { type: "button", disabled: page < 1 || page > last,
    onclick: () => go("/flows", withChanges({ page: page === 1 ? null : page })) }, name);
  const first = (found.page - 1) * found.page_rows;
  return h("div", { class: "row pager" }, to(found.page - 1, "← Before"), to(found.page + 1, "Next →"),
    h("span", { class: "soft" }, found.rows.length ? `${count(first + 1)} to ${count(first + found.rows.length)} of ${count(found.total)}` : ""));
}
