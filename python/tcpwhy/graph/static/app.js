// The page: what is looked at, and painting it.

import { controls } from "./controls.js";
import { paint } from "./paint.js";
import { acknowledged, copies, nearest, placeOf } from "./pick.js";
import { scene } from "./scene.js";
import { axis } from "./ticks.js";
import { byId, element, legend, tables } from "./tables.js";
import { unpacked } from "./unpack.js";
import { moment, segment, sentence } from "./words.js";


/** Everything that the page shows. Drawing is put off to the next frame. */
export class Page {
  constructor(spec, palette, traces, compare) {
    Object.assign(this, { spec, palette, traces, compare, look: 0 });
    this.hidden = new Set();
    for (const trace of traces) trace.hidden = this.hidden;
    this.theme = null;
    this.pointer = null;
    this.pinned = null;
    this.isPending = false;
    this.whole();
  }

  get trace() {
    return this.traces[this.look];
  }

  get shown() {
    const other = this.compare === null ? null : this.traces[this.compare];
    return other && other !== this.trace ? [this.trace, other] : [this.trace];
  }

  get colours() {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    return this.palette[this.theme ?? (isDark ? "dark" : "light")];
  }

  get span() {
    return Math.max(...this.shown.map((trace) => trace.span_ns));
  }

  whole() {
    const margin = this.spec.geometry.margin * this.span;
    this.view = { t0: -margin, t1: this.span + margin };
    this.draw();
  }

  /** Look at a span of time, not shorter than 100 ns nor far outside the flow. */
  lookAt(t0, t1, y = this.view.y) {
    const length = Math.min(Math.max(t1 - t0, 100), 1.5 * this.span);
    const middle = Math.min(Math.max((t0 + t1) / 2, 0), this.span);
    this.view = { t0: middle - length / 2, t1: middle + length / 2, y };
    this.draw();
  }

  zoom(factor, at = (this.view.t0 + this.view.t1) / 2) {
    const { t0, t1 } = this.view;
    this.lookAt(at + (t0 - at) * factor, at + (t1 - at) * factor);
  }

  pan(share) {
    const { t0, t1, y } = this.view;
    const by = (t1 - t0) * share;
    this.lookAt(t0 + by, t1 + by, y);
  }

  draw() {
    if (this.isPending) return;
    this.isPending = true;
    requestAnimationFrame(() => {
      this.isPending = false;
      this.paint();
    });
  }

  /** Paint now, and note how long it took. */
  paint() {
    const before = performance.now();
    const canvas = byId("graph");
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const scale = this.scale ?? devicePixelRatio;
    const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    const { marks, placed } = scene(this.spec, this.shown, this.view, width, height);
    this.placed = placed;
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paint(context, this.spec, marks, this.colours, width, height);
    this.follow(context);
    this.paintMs = performance.now() - before;
    this.paints = (this.paints ?? 0) + 1;
  }

  /** What would be drawn of a view. */
  sceneOf(view, width, height) {
    return scene(this.spec, this.shown, view, width, height).marks;
  }

  axisOf(lo, hi, count, unit) {
    return axis(lo, hi, count, unit);
  }

  panelAt(x, y) {
    return this.placed?.find((p) => x >= p.x && x <= p.x + p.w && y >= p.y && y <= p.y + p.h) ?? null;
  }

  /** Show what lies under the pointer; the crosshair crosses all panels. */
  point(x, y) {
    this.pointer = x === null ? null : { x, y };
    this.tell();
    this.draw();
  }

  picked(x, y) {
    const panel = this.panelAt(x, y);
    if (panel?.spec.id !== "sequence") return null;
    return nearest(this.spec, panel, this.trace, this.view, x, y);
  }

  pin(picked) {
    this.pinned = picked;
    const live = picked ? sentence(segment(this.spec, this.trace, picked)) : "";
    byId("live").textContent = live;
    this.tell();
    this.draw();
  }

  /** Fill the box of numbers. */
  tell() {
    const first = this.placed?.[0];
    const box = byId("numbers");
    const { x, y } = this.pointer ?? {};
    const isInside = first && this.pointer && x >= first.x && x <= first.x + first.w;
    const picked = (isInside && this.picked(x, y)) || this.pinned;
    const rows = picked
      ? segment(this.spec, this.trace, picked)
      : isInside
        ? moment(this.trace, first.timeAt(this.view, x))
        : [];
    box.hidden = rows.length === 0;
    this.hovered = picked;
    box.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
    // Data rises from the lower left: the upper left is free, unless the pointer is there.
    const isThere = isInside && x < first.x + 400 && y < first.y + first.h * 0.7;
    box.classList.toggle("right", Boolean(isThere));
  }

  /** Draw the crosshair, and lines from a segment to its acknowledgement and its copies. */
  follow(context) {
    if (!this.placed?.length) return;
    const colours = this.colours;
    const [first, last] = [this.placed[0], this.placed[this.placed.length - 1]];
    if (this.pointer && this.panelAt(this.pointer.x, this.pointer.y)) {
      context.strokeStyle = colours.quiet;
      context.globalAlpha = 0.6;
      context.lineWidth = 1;
      const x = Math.round(this.pointer.x) + 0.5;
      context.beginPath();
      context.moveTo(x, first.y);
      context.lineTo(x, last.y + last.h);
      context.stroke();
      context.globalAlpha = 1;
    }
    const picked = this.hovered ?? this.pinned;
    if (!picked || first.spec.id !== "sequence") return;
    const place = placeOf(this.trace, picked);
    const at = (t, value) => [first.atX(this.view, t), first.atY(value)];
    context.save();
    context.beginPath();
    context.rect(first.x, first.y, first.w, first.h);
    context.clip();
    context.lineWidth = 1.5;
    const answer = acknowledged(this.trace, place.high, place.t);
    if (answer && picked.kind !== "sack") line(context, colours.ack, at(place.t, place.high), at(answer.t, place.high));
    for (const copy of copies(this.trace, place.low, place.high)) {
      if (copy.t === place.t) continue;
      line(context, colours.again, at(place.t, place.low), at(copy.t, place.low), [2, 3]);
    }
    const [x, y] = at(place.t, (place.low + place.high) / 2);
    context.strokeStyle = colours.ink;
    context.setLineDash([]);
    context.beginPath();
    context.arc(x, y, 9, 0, 2 * Math.PI);
    context.stroke();
    context.restore();
  }

  /** Say what is looked at, and rebuild what depends on it. */
  refresh() {
    document.title = `${this.trace.label} · tcpwhy graph`;
    const title = this.shown.map((trace) => trace.label).join(" beside ");
    byId("title").textContent = title;
    byId("graph").setAttribute("aria-label", title);
    byId("summary").textContent = this.trace.summary;
    byId("evidence").textContent = this.trace.evidence ?? "";
    byId("remedy").textContent = this.trace.remedy ? `What to do: ${this.trace.remedy}` : "";
    byId("notes").textContent = this.trace.notes.join(" ");
    const toggle = (ids) => {
      const isHidden = ids.every((id) => this.hidden.has(id));
      for (const id of ids) isHidden ? this.hidden.delete(id) : this.hidden.add(id);
      this.refresh();
    };
    legend(byId("legend"), this.spec, this.shown, this.colours, toggle);
    tables(byId("tables"), this.spec, this.trace);
    this.draw();
  }

  setTheme(theme) {
    this.theme = theme;
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    this.refresh();
  }
}

function line(context, colour, from, to, dash = []) {
  context.strokeStyle = colour;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

/** Unpack the data of the page and show it. */
export async function start() {
  const { spec, palette, traces, compare } = JSON.parse(byId("data").textContent);
  byId("data").remove();
  const read = [];
  for (const packed of traces) read.push(await unpacked(packed));
  const page = new Page(spec, palette, read, compare);
  controls(page);
  page.refresh();
  byId("wait").hidden = true;
  new ResizeObserver(() => page.draw()).observe(byId("graph"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.refresh());
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  page.firstPaintMs = performance.now();
  return page;
}
