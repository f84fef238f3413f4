// One connection: the argument as `tcpwhy explain` gives it, and every interval.
import { ask, themeNow, told } from "./app.js";
import { files, h, limit, number, sure, table } from "./dom.js";
import { bytes, duration, rate } from "./format.js";

export async function view([, id]) {
  const found = await ask(`flow/${id}`);
  const argument = h("div", {});
  // The server wrote it, and escaped what packets say.
  argument.innerHTML = found.html;
  const [source, target] = found.pair.split(" → ").map((end) => end.replace(/:\d+$/, "").replace(/^\[|\]$/g, ""));
  return [
    h("div", { class: "head" },
      h("h1", {}, found.pair),
      h("p", { class: "soft" }, `${found.lasted} · flow `, h("code", {}, found.flow_id), " · ", h("code", {}, found.community_id)),
      h("p", {}, h("a", { href: `/flows?q=${encodeURIComponent(source)}` }, `all of ${source}`), " · ",
        h("a", { href: `/flows?q=${encodeURIComponent(target)}` }, `all of ${target}`))),
    found.has_graph ? h("section", { class: "card" },
      h("div", { class: "row between" }, h("h2", {}, "Time and sequence"),
        h("a", { class: "button", href: `/flow/${id}/graph`, "data-plain": true }, "Zoom in")),
      h("picture", {},
        h("source", { media: "screen and (max-width: 700px)", srcset: `/flow/${id}/graph.svg?theme=${themeNow()}&size=narrow` }),
        h("img", { class: "graph", src: `/flow/${id}/graph.svg?theme=${themeNow()}`, alt: `Time-sequence graph of ${found.pair}; its page has the numbers` }))) : null,
    ...[...argument.children].map((side) => h("section", { class: "card" }, side)),
    intervals(found),
  ].filter(Boolean);
}

function intervals(found) {
  if (!found.intervals.length) return h("p", { class: "soft" }, "The store has no intervals of this connection.");
  const begin = Math.min(...found.intervals.map((row) => row.start_ns));
  const heads = [number("from"), number("for", "wide"), "direction", "limited by", { content: "sure", class: "wide" }, number("goodput"), number("RTT", "wide"),
    number("in flight", "wide"), number("least window", "wide"), { content: "evidence", class: "wide" }];
  const rows = found.intervals.map((row) => [
    number(row.start_ns > begin ? duration(row.start_ns - begin) : "0 s"), number(duration(row.end_ns - row.start_ns), "wide"),
    row.direction === "orig" ? "→ from opener" : "← to opener", limit(row.limitation, row.cause), { content: sure(row.confidence) ?? "", class: "wide" },
    number(rate((row.unique_bytes * 8e9) / Math.max(1, row.end_ns - row.start_ns))), number(duration(row.rtt_mean_ns), "wide"),
    number(bytes(row.flight_size_max), "wide"), number(bytes(row.rwnd_min), "wide"), { content: row.evidence ?? "", class: "wide" }]);
  return h("section", { class: "card" },
    h("div", { class: "row between" }, h("h2", {}, told(found.intervals.length, "interval")), files("intervals", `flow=${found.flow_id}`)),
    found.is_cut ? h("p", { class: "soft" }, "The first ones; the files have all.") : null,
    h("details", { open: found.intervals.length <= 60 }, h("summary", {}, "One by one"), table("Intervals", heads, rows)));
}
