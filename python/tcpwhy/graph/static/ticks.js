// Where an axis has its ticks, and what they say. `ticks.py` is the same in Python.

const UNITS = {
  bytes: [[0, "B"], [3, "kB"], [6, "MB"], [9, "GB"], [12, "TB"]],
  bps: [[0, "bit/s"], [3, "kbit/s"], [6, "Mbit/s"], [9, "Gbit/s"]],
  ns: [[0, "ns"], [3, "µs"], [6, "ms"], [9, "s"]],
};
const MINUTE_NS = 60e9;
const LONG_STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 1440, 2880, 7200, 14400];
const MOST_DIGITS = 5;

/** About `count` ticks from `lo` to `hi`, which are in the base unit. */
export function axis(lo, hi, count, unit) {
  const raw = (hi - lo) / Math.max(1, count);
  if (unit === "ns" && raw > 50e9) return minutes(lo, hi, raw);
  const [factor, exponent] = nice(raw);
  const step = factor * 10 ** exponent;
  const largest = Math.max(Math.abs(lo), Math.abs(hi));
  const isDeep = largest >= step * 10 ** MOST_DIGITS;
  const [power, name] = unitOf(unit, isDeep ? step * 1000 : largest, exponent);
  const decimals = Math.max(0, power - exponent);
  const block = 1000 * step;
  const base = isDeep ? Math.floor(lo / block) * block : 0;
  const ticks = [];
  const last = Math.floor((hi - base) / step);
  for (let index = Math.ceil((lo - base) / step); index <= last; index++) {
    const text = grouped(scaled(index * factor, exponent - power), decimals);
    ticks.push({ at: base + index * step, label: isDeep ? `+${text}` : text });
  }
  if (!isDeep) return { ticks, unit: name, base: "" };
  const [basePower, baseName] = unitOf(unit, largest, exponent + 3);
  const text = grouped(base / 10 ** basePower, Math.max(0, basePower - exponent - 3));
  return { ticks, unit: name, base: `${text} ${baseName}` };
}

function nice(raw) {
  const exponent = Math.max(0, Math.floor(Math.log10(Math.max(raw, 1))));
  for (const factor of [1, 2, 5]) {
    if (factor * 10 ** exponent >= raw) return [factor, exponent];
  }
  return [1, exponent + 1];
}

function unitOf(unit, value, exponent) {
  const fitting = UNITS[unit].filter(([p]) => 10 ** p <= value && p - exponent <= 3);
  return fitting.length ? fitting[fitting.length - 1] : UNITS[unit][0];
}

function minutes(lo, hi, raw) {
  const found = LONG_STEPS.find((s) => s * MINUTE_NS >= raw);
  const step = (found ?? LONG_STEPS[LONG_STEPS.length - 1]) * MINUTE_NS;
  const ticks = [];
  for (let index = Math.ceil(lo / step); index <= Math.floor(hi / step); index++) {
    ticks.push({ at: index * step, label: grouped((index * step) / MINUTE_NS, 0) });
  }
  return { ticks, unit: "min", base: "" };
}

function scaled(value, power) {
  return power >= 0 ? value * 10 ** power : value / 10 ** -power;
}

/** A number with a comma between thousands. */
export function grouped(value, decimals) {
  const [whole, part] = Math.abs(value).toFixed(decimals).split(".");
  const commas = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return `${value < 0 ? "-" : ""}${commas}${part ? `.${part}` : ""}`;
}

/** A number with three significant digits in a unit that suits it, or a question mark. */
export function quantity(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "?";
  let [power, name] = UNITS[unit][0];
  for (const [p, n] of UNITS[unit]) if (Math.abs(value) >= 0.9995 * 10 ** p) [power, name] = [p, n];
  const number = value / 10 ** power;
  const size = Math.abs(number);
  const digits = power === 0 && Number.isInteger(number) ? 0 : size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return `${number.toFixed(digits)} ${name}`;
}
