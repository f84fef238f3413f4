// Every chart is there as a picture. Those that come into view become interactive.
const variables = JSON.parse(document.getElementById("colours").textContent);
const style = getComputedStyle(document.documentElement);

function themed(text) {
  for (const [colour, name] of Object.entries(variables)) {
    const value = style.getPropertyValue(name).trim();
    if (value) text = text.replaceAll(`"${colour}"`, `"${value}"`);
  }
  return text;
}

async function enliven(figure) {
  const spec = JSON.parse(themed(figure.querySelector("script").textContent));
  const wide = figure.clientWidth;
  spec.width = Math.max(240, wide - 8);
  spec.autosize = { type: "fit-x", contains: "padding" };
  if (wide < 620) Object.assign(spec.config.legend, { columns: 2, columnPadding: 6, labelLimit: 140 });
  const place = document.createElement("div");
  place.className = "live";
  figure.append(place);
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false,
    tooltip: { disableDefaultStyle: true, theme: "page" },
  };
  try {
    await window.vegaEmbed(place, spec, options);
    figure.querySelector(".still").remove();
  } catch (error) {
    place.remove();
    throw error;
  }
}

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    enliven(target);
  }
}, { rootMargin: "200px" });
for (const figure of document.querySelectorAll("figure.chart[data-live]")) watcher.observe(figure);

// A link to a flow opens it.
function open() {
  const found = location.hash && document.getElementById(location.hash.slice(1));
  if (found instanceof HTMLDetailsElement) found.open = true;
  if (found) found.scrollIntoView();
}
addEventListener("hashchange", open);
open();
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
