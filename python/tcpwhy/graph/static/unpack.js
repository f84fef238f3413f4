// Reads what `pack.py` packed: columns of whole numbers, and the traces that they make.

/** The numbers of a column, as doubles: whole numbers up to 2^53. */
export async function column({ n, how, unit, planes, data }) {
  const bytes = await inflate(fromBase64(data));
  const values = new Float64Array(n);
  let weight = 1;
  for (let plane = 0; plane < planes; plane++) {
    const at = plane * n;
    for (let i = 0; i < n; i++) values[i] += weight * bytes[at + i];
    weight *= 256;
  }
  const isDelta = how === "delta";
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const folded = values[i];
    const value = (folded % 2 ? -(folded + 1) / 2 : folded / 2) * unit;
    sum = isDelta ? sum + value : value;
    values[i] = sum;
  }
  return values;
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A trace as the drawing takes it: series and marks by name, each of arrays of equal length. */
export async function unpacked(packed) {
  const series = {};
  for (const [name, entry] of Object.entries(packed.series)) {
    if (!entry.along) series[name] = await seriesOf(entry, series);
  }
  for (const [name, entry] of Object.entries(packed.series)) {
    if (entry.along) series[name] = along(await column(entry.v), series[entry.along].t);
    if (entry.plus) {
      const { v } = series[name];
      const more = series[entry.plus].v;
      for (let i = 0; i < v.length; i++) v[i] += more[i];
    }
  }
  const marks = {};
  for (const [name, entry] of Object.entries(packed.marks)) marks[name] = await markOf(entry);
  return { ...packed, series, marks };
}

async function seriesOf(entry, series) {
  const found = { t: entry.t.same ? series[entry.t.same].t : await column(entry.t) };
  if (entry.frame) found.frame = await column(entry.frame);
  if (entry.v) return { ...found, v: await column(entry.v) };
  const [gap, length] = [await column(entry.gap), await column(entry.len)];
  let end = 0;
  for (let i = 0; i < gap.length; i++) {
    gap[i] += end;
    end = gap[i] + length[i];
    length[i] = end;
  }
  return { ...found, lo: gap, hi: length };
}

/** Of values beside times those that are there: 0 is none, and others are one too large. */
function along(values, times) {
  let n = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > 0) n++;
  const [t, v] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0, k = 0; i < values.length; i++) {
    if (values[i] > 0) {
      t[k] = times[i];
      v[k++] = values[i] - 1;
    }
  }
  return { t, v };
}

async function markOf(entry) {
  const [t, y0, y1] = [await column(entry.t), await column(entry.y0), await column(entry.len)];
  for (let i = 0; i < y0.length; i++) y1[i] += y0[i];
  const found = { t, y0, y1, frame: await column(entry.frame) };
  if (entry.proof) found.proof = await column(entry.proof);
  if (entry.span) {
    found.t1 = await column(entry.span);
    for (let i = 0; i < t.length; i++) found.t1[i] += t[i];
  }
  return found;
}
