// Paints a scene on a canvas, as `svg.py` does on a document.

const FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** Paint the marks in the colours of a theme. The canvas is scaled to pixels of the page. */
export function paint(context, spec, marks, colours, width, height) {
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, width, height);
  const grounds = {};
  for (const mark of marks) {
    if (mark.what === "ground") grounds[mark.panel] = mark.data;
    const ground = mark.op === "text" || mark.what === "ground" ? null : grounds[mark.panel];
    context.save();
    if (ground) {
      context.beginPath();
      context.rect(...ground);
      context.clip();
    }
    const colour = colours[mark.colour] ?? colours["limit:unknown"];
    context.fillStyle = colour;
    context.strokeStyle = colour;
    context.lineWidth = mark.width ?? 1;
    PAINTERS[mark.op](context, mark, spec);
    context.restore();
  }
}

const PAINTERS = {
  rect: (context, { data }) => context.fillRect(...data),
  rects: (context, { data }) => {
    context.globalAlpha = 0.28;
    for (let i = 0; i < data.length; i += 4) context.fillRect(...data.slice(i, i + 4));
  },
  bars: (context, { data }) => {
    context.beginPath();
    for (let i = 0; i < data.length; i += 3) {
      context.moveTo(data[i], data[i + 1]);
      context.lineTo(data[i], data[i + 2]);
    }
    context.stroke();
  },
  path: (context, { data, dash }) => {
    context.setLineDash(dash ?? []);
    context.lineJoin = "round";
    context.beginPath();
    let isDown = false;
    for (let i = 0; i < data.length; i += 2) {
      if (Number.isNaN(data[i])) isDown = false;
      else if (isDown) context.lineTo(data[i], data[i + 1]);
      else {
        context.moveTo(data[i], data[i + 1]);
        isDown = true;
      }
    }
    context.stroke();
  },
  dots: (context, { data, width: r }) => {
    for (let i = 0; i < data.length; i += 2) context.fillRect(data[i] - r, data[i + 1] - r, 2 * r, 2 * r);
  },
  glyphs: (context, { data, glyph }, spec) => {
    const shape = spec.glyphs[glyph];
    const size = spec.geometry.glyph;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let i = 0; i < data.length; i += 2) {
      for (const line of shape.lines) {
        for (let k = 0; k < line.length; k += 2) {
          const [x, y] = [data[i] + line[k] * size, data[i + 1] + line[k + 1] * size];
          if (k) context.lineTo(x, y);
          else context.moveTo(x, y);
        }
        if (shape.fill || shape.close) context.closePath();
      }
    }
    if (shape.fill) context.fill();
    else context.stroke();
  },
  text: (context, mark, spec) => {
    context.font = `${spec.geometry.font}px ${FONT}`;
    context.textAlign = { start: "left", middle: "center", end: "right" }[mark.anchor];
    context.fillText(mark.text, ...mark.data);
  },
};
