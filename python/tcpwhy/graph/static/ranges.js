// Fast questions about a series. `ranges.py` answers the same in Python.

const BLOCK = 64;

/** The first index with a time of at least `at`. */
export function lower(t, at) {
  let a = 0;
  let b = t.length;
  while (a < b) {
    const middle = (a + b) >>> 1;
    if (t[middle] < at) a = middle + 1;
    else b = middle;
  }
  return a;
}

/** The first index with a time after `at`. */
export function upper(t, at) {
  let a = 0;
  let b = t.length;
  while (a < b) {
    const middle = (a + b) >>> 1;
    if (t[middle] <= at) a = middle + 1;
    else b = middle;
  }
  return a;
}

/** Where each of so many columns of pixels begins in a series, and where the last ends. */
export function bounds(t, t0, t1, columns) {
  const starts = new Int32Array(columns + 1);
  for (let c = 0; c <= columns; c++) starts[c] = lower(t, t0 + ((t1 - t0) * c) / columns);
  return starts;
}

const pyramids = new WeakMap();

/** Least and largest of blocks of values, and of blocks of blocks, made when first asked for. */
function pyramid(values) {
  let levels = pyramids.get(values);
  if (levels) return levels;
  levels = [];
  let [low, high] = [values, values];
  while (low.length > BLOCK) {
    const size = Math.ceil(low.length / BLOCK);
    const [least, most] = [new Float64Array(size), new Float64Array(size)];
    for (let block = 0; block < size; block++) {
      const end = Math.min(low.length, (block + 1) * BLOCK);
      let a = Infinity;
      let b = -Infinity;
      for (let i = block * BLOCK; i < end; i++) {
        if (low[i] < a) a = low[i];
        if (high[i] > b) b = high[i];
      }
      least[block] = a;
      most[block] = b;
    }
    levels.push([least, most]);
    [low, high] = [least, most];
  }
  pyramids.set(values, levels);
  return levels;
}

/** The least and the largest of the values from index `a` to before `b`. */
export function extremes(values, a, b) {
  const levels = b - a > 4 * BLOCK ? pyramid(values) : [];
  let least = Infinity;
  let most = -Infinity;
  const scan = (low, high, from, to) => {
    for (let i = from; i < to; i++) {
      if (low[i] < least) least = low[i];
      if (high[i] > most) most = high[i];
    }
  };
  let [low, high] = [values, values];
  for (const level of levels) {
    const [from, to] = [Math.ceil(a / BLOCK), Math.floor(b / BLOCK)];
    if (from >= to) break;
    scan(low, high, a, from * BLOCK);
    scan(low, high, to * BLOCK, b);
    [a, b] = [from, to];
    [low, high] = level;
  }
  scan(low, high, a, b);
  return [least, most];
}
