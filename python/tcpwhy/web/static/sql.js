// Questions of one's own: one SELECT, with limits of time and rows.
import { ask, go, meta, query, told } from "./app.js";
import { files, h, number, table } from "./dom.js";

export const isLive = false;

const EXAMPLE = `SELECT limitation, count(*) AS directions, median(throughput_bps) AS median_bps
FROM flows WHERE data_packets > 0
GROUP BY ALL ORDER BY directions DESC`;

export async function view() {
  const asked = query().get("q");
  const text = h("textarea", { class: "sql", spellcheck: "false", "aria-label": "Question in SQL" }, asked ?? EXAMPLE);
  const run = (question) => go("/sql", new URLSearchParams({ q: question }));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(text.value);
  });
  const stored = Object.entries(meta.questions).map(([name, about]) =>
    h("li", {}, h("button", { type: "button", title: about, onclick: () => run(name) }, name)));
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); run(text.value); } },
    text,
    h("div", { class: "row between" },
      h("span", { class: "row" }, h("button", { type: "submit", class: "main" }, "Ask"), h("span", { class: "soft" }, "or Ctrl+Enter; DuckDB's SQL, read only")),
      asked ? files("sql", new URLSearchParams({ q: asked })) : null),
    h("h3", {}, "Stored questions"), h("ul", { class: "chips" }, stored));
  return [h("div", { class: "head" }, h("h1", {}, "Ask the store")), h("section", { class: "card" }, form),
    asked ? await answer(asked) : null, columns()].filter(Boolean);
}

async function answer(question) {
  try {
    const found = await ask("sql", new URLSearchParams({ q: question }));
    const isNumber = found.types.map((type) => /INT|DOUBLE|FLOAT|DECIMAL/.test(type));
    const rows = found.rows.map((row) => row.map((value, at) => {
      if (value === null) return h("span", { class: "soft" }, "NULL");
      const shown = typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 9 }) : String(value);
      return isNumber[at] ? { ...number(shown), title: String(value) } : shown;
    }));
    return h("section", { class: "card" },
      h("p", { class: "soft", role: "status" }, `${found.is_cut ? "The first " : ""}${told(found.rows.length, "row")}${found.is_cut ? "; the files have more" : ""}`),
      table("Answer", found.names.map((name, at) => (isNumber[at] ? number(name) : name)), rows));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return h("p", { class: "error", role: "alert" }, error.message);
  }
}

function columns() {
  return h("section", { class: "card" }, h("h2", {}, "Tables"),
    Object.entries(meta.tables).map(([name, names]) =>
      h("details", {}, h("summary", {}, h("code", {}, name), ` ${names.length} columns`), h("p", { class: "mono" }, names.join(", ")))));
}
