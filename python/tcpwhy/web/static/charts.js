// Drawings of the dashboard. Each says in words what it shows; tables beside it have the numbers.
import { h, hideTip, limits, limit, plain, s, showTip } from "./dom.js";
import { clock, duration, rate, share } from "./format.js";

const LEFT = 74;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 24;

// Round numbers from 0 to the top.
function ticks(top, wanted = 4) {
  const raw = top / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
}

const STEPS_MS = [1, 2, 5, 10, 15, 30].map((n) => n * 1e3)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * 60e3), [1, 2, 3, 6, 12].map((n) => n * 3600e3),
    [1, 2, 7, 14, 28, 91, 182, 364, 1820, 3640].map((n) => n * 86400e3));

function timeTicks(from, to, most) {
  const step = STEPS_MS.find((length) => (to - from) / length <= most) ?? STEPS_MS.at(-1);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return [step, found];
}

function frame(width, height, label) {
  return s("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

// Columns over time, stacked by limitation; dragging over them chooses a range.
export function stacked(place, data, { by, choose }) {
  const width = Math.max(300, place.clientWidth);
  const height = width < 500 ? 220 : 280;
  const { from_ms: from, to_ms: to, step_ms: step } = data;
  const value = by === "time" ? (row) => row[2] / (step * 1e6) : (row) => (row[3] * 8e3) / step;
  const order = new Map(limits().map((word, at) => [word, at]));
  const groups = Map.groupBy(data.columns, (row) => row[0]);
  const top = Math.max(1e-9, ...[...groups.values()].map((rows) => rows.reduce((sum, row) => sum + value(row), 0)));
  const x = (ms) => LEFT + ((ms - from) / (to - from)) * (width - LEFT - RIGHT);
  const y = (part) => height - BOTTOM - (part / top) * (height - TOP - BOTTOM);
  const words = new Set(data.columns.map((row) => row[1]));
  const svg = frame(width, height,
    `${by === "time" ? "Directions that send" : "Goodput"} over time by ${words.size} limitations; the table below has the sums`);
  for (const tick of ticks(top)) {
    svg.append(s("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      s("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" },
        by === "time" ? String(Number(tick.toPrecision(3))) : tick ? rate(tick).replace(/\.0+ |(\.\d*?)0+ /, "$1 ") : "0"));
  }
  const [apart, marks] = timeTicks(from, to, Math.max(2, width / 110));
  for (const at of marks) {
    svg.append(s("text", { x: Math.min(Math.max(x(at), LEFT), width - 26), y: height - 6, "text-anchor": "middle" }, clock(at, apart)));
  }
  for (const [at, rows] of groups) {
    let base = 0;
    const left = Math.max(x(at), LEFT);
    const right = Math.min(x(at + step), width - RIGHT);
    for (const row of rows.sort((a, b) => (order.get(a[1]) ?? 99) - (order.get(b[1]) ?? 99))) {
      const upper = base + value(row);
      svg.append(s("rect", { class: `l-${row[1]}`, x: left.toFixed(2), width: Math.max(0.5, right - left - 0.4).toFixed(2),
        y: y(upper).toFixed(2), height: Math.max(0, y(base) - y(upper)).toFixed(2) }));
      base = upper;
    }
  }
  brush(svg, { width, height, from, to, choose, tell: (ms, event) => {
    const rows = groups.get(Math.floor(ms / step) * step);
    if (!rows) return hideTip();
    const lines = [...rows].reverse().map((row) => h("tr", {}, h("td", {}, limit(row[1])),
      h("td", { class: "n" }, by === "time" ? value(row).toFixed(2) : rate(value(row)))));
    showTip(event, h("div", { class: "soft" }, `${clock(Math.floor(ms / step) * step, 1)}, ${duration(step * 1e6)}`),
      h("table", {}, h("tbody", {}, lines)));
  } });
  place.replaceChildren(svg);
}

function brush(svg, { width, height, from, to, choose, tell }) {
  let begin = null;
  const area = s("rect", { class: "brush", y: TOP, height: height - TOP - BOTTOM, width: 0 });
  svg.append(area);
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    return Math.min(Math.max(x, LEFT), width - RIGHT);
  };
  const time = (x) => from + ((x - LEFT) / (width - LEFT - RIGHT)) * (to - from);
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") return;
    begin = at(event);
    svg.setPointerCapture(event.pointerId);
    svg.dataset.dragging = "";
  });
  svg.addEventListener("pointermove", (event) => {
    const now = at(event);
    tell(time(now), event);
    if (begin === null) return;
    area.setAttribute("x", Math.min(begin, now));
    area.setAttribute("width", Math.abs(now - begin));
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("pointerup", (event) => {
    if (begin === null) return;
    const ends = [begin, at(event)].sort((a, b) => a - b);
    begin = null;
    delete svg.dataset.dragging;
    hideTip();
    area.setAttribute("width", 0);
    if (ends[1] - ends[0] > 4) choose(Math.floor(time(ends[0])), Math.ceil(time(ends[1])));
  });
}

// A bar of shares; `parts` are [word, amount].
export function bar(parts, label) {
  const total = parts.reduce((sum, [, amount]) => sum + amount, 0) || 1;
  let at = 0;
  const rects = parts.map(([word, amount]) => {
    const width = (amount / total) * 1000;
    const rect = s("rect", { class: `l-${word}`, x: at, width: Math.max(0.5, width - 2), height: 28 },
      s("title", {}, `${plain(word)}: ${share(amount / total)}`));
    at += width;
    return rect;
  });
  const told = parts.slice(0, 5).map(([word, amount]) => `${plain(word)} ${share(amount / total)}`).join(", ");
  return s("svg", { class: "stack", viewBox: "0 0 1000 28", preserveAspectRatio: "none", role: "img", "aria-label": `${label}: ${told}` }, rects);
}

// Powers of ten between two logarithms, with 2 and 5 or all digits between them where there is room.
function decadeTicks(low, high, most) {
  const every = Math.ceil((Math.ceil(high) - Math.floor(low)) / most);
  for (const digits of [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1]]) {
    const found = [];
    for (let power = Math.floor(low); power <= high; power++) {
      if (digits.length === 1 && (power - Math.floor(low)) % every) continue;
      found.push(...digits.map((digit) => digit * 10 ** power).filter((value) => Math.log10(value) >= low && Math.log10(value) <= high));
    }
    if (digits.length === 1 || found.length <= most) return found;
  }
  return [];
}

// Two cumulative distributions over one logarithmic axis.
export function cumulative(place, pair, { show, label }) {
  const width = Math.max(280, place.clientWidth);
  const height = 220;
  const values = pair.flat().map(([value]) => value);
  if (!values.length) return place.replaceChildren(h("p", { class: "soft" }, "Nothing to show."));
  const low = Math.log10(Math.min(...values)) - 0.05;
  const high = Math.log10(Math.max(...values)) + 0.05;
  const x = (value) => LEFT + ((Math.log10(value) - low) / (high - low)) * (width - LEFT - RIGHT);
  const y = (part) => height - BOTTOM - part * (height - TOP - BOTTOM);
  const svg = frame(width, height, label);
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(s("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(part), y2: y(part) }),
      s("text", { x: LEFT - 6, y: y(part) + 4, "text-anchor": "end" }, `${part * 100} %`));
  }
  for (const value of decadeTicks(low, high, Math.max(2, width / 110))) {
    svg.append(s("line", { class: "rule", x1: x(value), x2: x(value), y1: TOP, y2: height - BOTTOM }),
      s("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, show(value).replace(/\.0+ /, " ")));
  }
  pair.forEach((points, at) => {
    let path = "";
    let last = 0;
    for (const [value, part] of points) {
      path += `${path ? "L" : "M"}${x(value).toFixed(1)} ${y(last).toFixed(1)}V${y(part).toFixed(1)}`;
      last = part;
    }
    if (path) svg.append(s("path", { class: `line ${"ab"[at]}`, d: `${path}H${width - RIGHT}` }));
  });
  place.replaceChildren(svg);
}
