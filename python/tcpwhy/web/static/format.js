// Quantities as people read them, as everywhere else in tcpwhy.
function scaled(value, units) {
  const [scale, unit] = units.find(([size]) => Math.abs(value) >= size * 0.9995) ?? units.at(-1);
  const shown = value / scale;
  const isWhole = Number.isInteger(shown) && scale <= 1 && ["B", "bit/s", "ns"].includes(unit);
  const digits = isWhole || Math.abs(shown) >= 99.95 ? 0 : Math.abs(shown) >= 9.995 ? 1 : 2;
  return `${shown.toFixed(digits)} ${unit}`;
}

const known = (show) => (value) => (value === null || value === undefined ? "–" : show(Number(value)));

export const bytes = known((size) =>
  scaled(size, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]));

export const rate = known((bps) =>
  scaled(bps, [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]));

export const duration = known((ns) => {
  if (ns >= 48 * 3600e9) return `${(ns / 86400e9).toFixed(1)} d`;
  if (ns >= 3600e9) return `${(ns / 3600e9).toFixed(1)} h`;
  if (ns >= 600e9) return `${Math.round(ns / 60e9)} min`;
  return scaled(ns / 1e9, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
});

export const share = known((part) => {
  const percent = part * 100;
  if (percent === 0 || percent === 100) return `${percent} %`;
  if (percent >= 99.95) return "> 99.9 %";
  return percent >= 1 ? `${percent.toFixed(1)} %` : `${Number(percent.toPrecision(2))} %`;
});

export const count = known((amount) => amount.toLocaleString("en-US"));

export const points = known((part) => `${part > 0 ? "+" : part < 0 ? "−" : ""}${Math.abs(part * 100).toFixed(1)} points`);

const iso = (ms) => new Date(ms).toISOString();

export const moment = known((ms) => iso(ms).slice(0, 19).replace("T", " "));
export const clock = (ms, step) =>
  step >= 86400e3 ? iso(ms).slice(0, 10) : step >= 60e3 ? iso(ms).slice(11, 16) : iso(ms).slice(11, 19);

// A time as people write it into a field, always in UTC.
export const field = (ms) => iso(ms).slice(0, 19).replace("T", " ");

export function unfield(text) {
  const ms = Date.parse(`${text.trim().replace(" ", "T")}Z`);
  if (Number.isNaN(ms)) throw new Error(`${text} is not a time: write it like 2026-11-22 14:30:00, in UTC`);
  return ms;
}

export const TIME = String.raw`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?`;
