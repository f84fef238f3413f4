// Elements by calls. Text is text: nothing here reads HTML.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const h = (name, attributes, ...children) =>
  fill(document.createElement(name), attributes, children);

export const s = (name, attributes, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

export function table(caption, heads, rows) {
  const cells = (kind, row) => row.map((cell) => {
    const { content, ...attributes } = cell?.constructor === Object ? cell : { content: cell };
    return h(kind, kind === "th" ? { scope: "col", ...attributes } : attributes, content);
  });
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, cells("th", heads))),
      h("tbody", {}, rows.map((row) => h("tr", {}, cells("td", row))))));
}

export const number = (content, more = "") => ({ content, class: `n ${more}`.trim() });

let words = new Map();

export function learn(limits) {
  words = new Map(limits.map((limit) => [limit.word, limit.plain]));
}

export const limits = () => [...words.keys()];
export const plain = (word) => words.get(word ?? "none") ?? word;

export const swatch = (word) =>
  s("svg", { class: `swatch l-${words.has(word) ? word : "none"}`, viewBox: "0 0 10 10", "aria-hidden": "true" },
    s("rect", { width: 10, height: 10, rx: 2 }));

export function limit(word, cause) {
  const detail = cause?.includes("/") ? cause.split("/")[1].replaceAll("_", " ") : null;
  return h("span", { class: "limit" }, swatch(word ?? "none"), plain(word),
    detail && h("span", { class: "soft" }, ` · ${detail}`));
}

export function sure(level) {
  const dots = { high: 3, medium: 2, low: 1 }[level];
  if (!dots) return null;
  return s("svg", { class: "sure", viewBox: "0 0 32 10", role: "img", "aria-label": `${level} confidence` },
    s("title", {}, `${level} confidence`),
    [0, 1, 2].map((at) => s("circle", { cx: 5 + 11 * at, cy: 5, r: 4, class: at < dots ? "on" : "off" })));
}

export const meter = (share, word) =>
  s("svg", { class: "meter", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "back", width: 100, height: 8, rx: 2 }),
    s("rect", { class: `l-${word}`, width: Math.max(0.8, 100 * share), height: 8, rx: 2 }));

export const tiles = (pairs) =>
  h("div", { class: "tiles" },
    pairs.map(([value, name]) => h("div", { class: "tile" }, h("b", {}, value), h("span", {}, name))));

export const files = (path, query) =>
  h("span", { class: "row" }, ["csv", "parquet"].map((kind) =>
    h("a", { class: "button", href: `/export/${path}.${kind}?${query}`, download: true, "data-plain": true },
      kind === "csv" ? "CSV" : "Parquet")));

const tip = document.getElementById("tip");

export function showTip(event, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 6);
  const top = event.clientY + 16 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

export function hideTip() {
  tip.hidden = true;
}
