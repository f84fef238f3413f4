// The frame: which view an address means, the range of time, what the server says of the store.
import { h, learn } from "./dom.js";
import { TIME, count, field, moment, unfield } from "./format.js";

const VIEWS = [
  [/^\/$/, "overview"],
  [/^\/flows$/, "flows"],
  [/^\/flow\/(\d+)$/, "flow"],
  [/^\/compare$/, "compare"],
  [/^\/sql$/, "sql"],
];
const place = document.getElementById("view");
const state = document.querySelector(".state");

export let meta;
let aborter = new AbortController();
let current;

export async function ask(path, query = "", signal = aborter.signal) {
  const answer = await fetch(`/api/${path}?${query}`, { signal });
  const isJson = answer.headers.get("content-type")?.includes("json");
  const content = isJson ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error(content.error ?? `error ${answer.status}`);
  return content;
}

export const told = (amount, noun) => `${count(amount)} ${noun}${amount === 1 ? "" : "s"}`;

export const query = () => new URLSearchParams(location.search);

export function go(path, parameters, { replace = false } = {}) {
  const text = parameters?.toString();
  const address = text ? `${path}?${text}` : path;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  render();
}

// The same address with some parameters changed; null takes one away.
export function withChanges(changes, base = query()) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") base.delete(name);
    else base.set(name, value);
  }
  return base;
}

export function rangeOf(parameters = query()) {
  const kept = new URLSearchParams();
  for (const name of ["from", "to", "last"]) if (parameters.has(name)) kept.set(name, parameters.get(name));
  return kept;
}

export const timeField = (name, ms) => h("input", { class: "time", "aria-label": name, value: field(ms), pattern: TIME,
  title: "like 2026-11-22 14:30:00, in UTC", required: true });

const LASTS = [["", "everything"], ["900", "last 15 minutes"], ["3600", "last hour"],
  ["86400", "last day"], ["604800", "last 7 days"], ["own", "from … to"]];

export function rangePicker(found) {
  const given = query();
  const isOwn = given.has("from") || given.has("to");
  const choice = h("select", { "aria-label": "Range of time" },
    LASTS.map(([value, name]) => h("option", { value, selected: isOwn ? value === "own" : value === (given.get("last") ?? "") }, name)));
  const from = timeField("from, UTC", found.from_ms);
  const to = timeField("to, UTC", found.to_ms);
  const show = (event) => {
    event.preventDefault();
    go(location.pathname, withChanges({ from: unfield(from.value), to: unfield(to.value), last: null, page: null }));
  };
  const own = h("form", { class: "row", hidden: !isOwn, onsubmit: show }, from, h("span", { class: "soft" }, "to"), to,
    h("span", { class: "soft" }, "UTC"), h("button", { type: "submit" }, "Show"));
  choice.addEventListener("change", () => {
    if (choice.value === "own") own.hidden = false;
    else go(location.pathname, withChanges({ last: choice.value, from: null, to: null, page: null }));
  });
  return h("div", { class: "row" }, choice, own);
}

async function render({ isQuiet = false } = {}) {
  aborter.abort();
  aborter = new AbortController();
  const { signal } = aborter;
  const [match, name] = VIEWS.map(([form, view]) => [location.pathname.match(form), view]).find(([found]) => found) ?? [];
  for (const link of document.querySelectorAll("[data-view]")) {
    const isHere = link.dataset.view === (name === "flow" ? "flows" : name);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!isQuiet) place.setAttribute("aria-busy", "true");
  const kept = isQuiet ? scrollY : 0;
  try {
    await ready;
    current = await import(`./${name ?? "overview"}.js`);
    const content = await current.view(match ?? []);
    if (signal.aborted) return;
    place.replaceChildren(...[content].flat());
    document.title = `${place.querySelector("h1")?.textContent ?? "tcpwhy"} · tcpwhy`;
    current.drawn?.(place);
  } catch (error) {
    if (signal.aborted) return;
    place.replaceChildren(h("h1", {}, "That did not work"), h("p", { class: "error", role: "alert" }, error.message));
  }
  place.setAttribute("aria-busy", "false");
  if (!isQuiet) scrollTo(0, 0);
  else scrollTo(0, kept);
}

// A view that shows the newest follows the store; a fixed range does not change.
function follow(store) {
  const isNew = meta.store.version !== store.version || meta.store.done !== store.done;
  meta.store = store;
  state.classList.remove("off");
  state.textContent = store.done < 1 ? `reading, ${Math.floor(100 * store.done)} %`
    : store.to_ms ? `data to ${moment(store.to_ms)} UTC` : "no data yet";
  const isFixed = query().has("to") || !current?.isLive;
  const isBusy = place.contains(document.activeElement) && /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (isNew && !isFixed && !isBusy && !document.querySelector("[data-dragging]")) render({ isQuiet: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.origin !== location.origin) return;
  if (link.dataset.plain !== undefined || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  const kept = link.dataset.view ? rangeOf() : new URLSearchParams(link.search);
  go(link.pathname, kept);
});
addEventListener("popstate", () => render());

const theme = document.getElementById("theme");
const root = document.documentElement;
root.dataset.theme = localStorage.getItem("theme") ?? "";
// What was chosen; else the pictures follow the system by themselves.
export const themeNow = () => root.dataset.theme || "auto";

theme.addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  for (const picture of document.querySelectorAll("img.graph")) picture.src = picture.src.replace(/theme=\w+/, `theme=${themeNow()}`);
});

let resizing;
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(() => current?.drawn?.(place), 150);
});

// What every view waits for, whichever is asked for first.
async function learned() {
  meta = await ask("meta", "", null);
  learn(meta.limits);
  document.querySelector(".brand").textContent = `tcpwhy · ${meta.name}`;
}

const ready = learned();

// Views import this module: it must be there before the first of them is waited for.
async function start() {
  await render();
  const events = new EventSource("/api/events");
  events.addEventListener("store", (event) => follow(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    state.classList.add("off");
    state.textContent = "the server does not answer";
  });
}

start();
