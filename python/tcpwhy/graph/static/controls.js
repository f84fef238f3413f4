// Mouse, touch, keyboard and buttons.

import { copies, acknowledged, nextEvent, placeOf } from "./pick.js";
import { byId, element } from "./tables.js";

const STEP = 1.6;

/** Connect the page with whoever looks at it. */
export function controls(page) {
  const canvas = byId("graph");
  selects(page);
  buttons(page);
  pointers(page, canvas);
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act(page, event);
  });
  addEventListener("beforeprint", () => {
    page.before = page.theme;
    page.scale = 3;
    page.setTheme("light");
    page.paint();
  });
  addEventListener("afterprint", () => {
    page.scale = undefined;
    page.setTheme(page.before);
  });
}

function selects(page) {
  const option = (trace, index) => element("option", { value: index }, trace.label);
  byId("look").replaceChildren(...page.traces.map(option));
  byId("compare").replaceChildren(element("option", { value: "" }, "nothing"), ...page.traces.map(option));
  byId("compare").value = page.compare ?? "";
  byId("look").addEventListener("change", () => look(page, Number(byId("look").value)));
  byId("compare").addEventListener("change", () => {
    page.compare = byId("compare").value === "" ? null : Number(byId("compare").value);
    page.refresh();
  });
  byId("choices").hidden = page.traces.length < 2;
}

function look(page, index) {
  page.look = index;
  page.pinned = null;
  page.hovered = null;
  byId("look").value = index;
  page.refresh();
}

function buttons(page) {
  const acts = {
    in: () => page.zoom(1 / STEP),
    out: () => page.zoom(STEP),
    whole: () => page.whole(),
    previous: () => toEvent(page, false),
    next: () => toEvent(page, true),
    theme: () => page.setTheme(page.colours === page.palette.dark ? "light" : "dark"),
    print: () => print(),
  };
  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
}

/** Go to the next event, far enough away to see it among its neighbours. */
function toEvent(page, isForward) {
  const from = page.pinned ? placeOf(page.trace, page.pinned).t : (page.view.t0 + page.view.t1) / 2;
  const found = nextEvent(page.trace, from, isForward);
  if (!found) {
    byId("live").textContent = "no further event";
    return;
  }
  const length = Math.min(page.view.t1 - page.view.t0, page.span / 50);
  page.lookAt(found.t - length / 2, found.t + length / 2, undefined);
  page.pin({ kind: found.kind, index: found.index });
}

const KEYS = {
  ArrowLeft: (page, { shiftKey }) => page.pan(shiftKey ? -0.5 : -0.1),
  ArrowRight: (page, { shiftKey }) => page.pan(shiftKey ? 0.5 : 0.1),
  ArrowUp: (page) => page.zoom(1 / STEP),
  ArrowDown: (page) => page.zoom(STEP),
  "+": (page) => page.zoom(1 / STEP),
  "=": (page) => page.zoom(1 / STEP),
  "-": (page) => page.zoom(STEP),
  0: (page) => page.whole(),
  Home: (page) => page.whole(),
  n: (page) => toEvent(page, true),
  p: (page) => toEvent(page, false),
  d: (page) => look(page, (page.look + 1) % page.traces.length),
  t: () => byId("theme").click(),
  a: (page) => goTo(page, (place) => acknowledged(page.trace, place.high, place.t)),
  r: (page) => goTo(page, (place) => otherCopy(page, place)),
  Escape: (page) => page.pin(null),
};

/** Go from the segment that is pinned to what belongs to it. */
function goTo(page, find) {
  if (!page.pinned) return;
  const found = find(placeOf(page.trace, page.pinned));
  if (!found) {
    byId("live").textContent = "none was seen";
    return;
  }
  const length = page.view.t1 - page.view.t0;
  page.lookAt(found.t - length / 2, found.t + length / 2, undefined);
  if (found.kind) page.pin({ kind: found.kind, index: found.index });
}

/** The copy of the same bytes that comes next, or else the first. */
function otherCopy(page, place) {
  const found = copies(page.trace, place.low, place.high);
  return found.find(({ t }) => t > place.t) ?? found.find(({ t }) => t !== place.t) ?? null;
}

function pointers(page, canvas) {
  const held = new Map();
  let moved = 0;
  let box = null;
  const at = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = at(event);
    const panel = page.panelAt(x, y) ?? page.placed?.[0];
    if (!panel) return;
    const scale = event.deltaMode === 1 ? 0.05 : 0.0015;
    const [along, across] = [event.deltaX * scale, event.deltaY * scale];
    if (event.ctrlKey) zoomValues(page, panel, panel.valueAt(y), Math.exp(across));
    else if (Math.abs(along) > Math.abs(across)) page.pan(along);
    else page.zoom(Math.exp(across), panel.timeAt(page.view, x));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, at(event));
    moved = 0;
    box = event.shiftKey ? at(event) : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = held.get(event.pointerId);
    if (!before) return page.point(now.x, now.y);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (!box) drag(page, held, event.pointerId, before, now);
    held.set(event.pointerId, now);
  });
  const release = (event) => {
    const start = held.get(event.pointerId);
    held.delete(event.pointerId);
    if (!start || event.type === "pointercancel") return;
    const now = at(event);
    if (box && moved > 8) zoomTo(page, box, now);
    else if (moved < 5) page.pin(page.picked(now.x, now.y));
    box = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => held.size || page.point(null));
  canvas.addEventListener("dblclick", () => page.whole());
}

/** Move with one pointer, zoom with two. */
function drag(page, held, id, before, now) {
  const panel = page.placed?.[0];
  if (!panel) return;
  const others = [...held.entries()].filter(([other]) => other !== id).map(([, place]) => place);
  if (!others.length) {
    page.pan((before.x - now.x) / panel.w);
    return;
  }
  const [other] = others;
  const [was, is] = [Math.abs(before.x - other.x), Math.abs(now.x - other.x)];
  if (was > 5 && is > 5) page.zoom(was / is, panel.timeAt(page.view, (now.x + other.x) / 2));
}

/** Look at a box: its times, and its values if it is drawn in one panel. */
function zoomTo(page, from, to) {
  const panel = page.panelAt(from.x, from.y);
  if (!panel || Math.abs(from.x - to.x) < 4) return;
  const times = [from.x, to.x].map((x) => panel.timeAt(page.view, x)).sort((a, b) => a - b);
  const values = [from.y, to.y].map((y) => panel.valueAt(y)).sort((a, b) => a - b);
  const isTall = Math.abs(from.y - to.y) > 12 && panel === page.panelAt(to.x, to.y);
  page.lookAt(...times, isTall ? { ...page.view.y, [panel.spec.id]: values } : page.view.y);
}

function zoomValues(page, panel, at, factor) {
  const y = { ...page.view.y, [panel.spec.id]: [at + (panel.lo - at) * factor, at + (panel.hi - at) * factor] };
  page.lookAt(page.view.t0, page.view.t1, y);
}
