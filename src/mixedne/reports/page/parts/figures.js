// What all figures share: colours of the page, legends, hover labels, drawing by Plotly.

// Without Plotly's own buttons: they lie over the data.
const CONFIG = { displayModeBar: false, responsive: true, showLink: false, plotlyServerURL: "" };

// Viridis: it has no grey, which marks invalid cells.
const SEQUENTIAL = [
  "#440154", "#482878", "#3e4989", "#31688e", "#26828e",
  "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
];

const DIVERGING = [
  "#7f3b08", "#b35806", "#e08214", "#fdb863", "#fee0b6", "#f7f7f7",
  "#d8daeb", "#b2abd2", "#8073ac", "#542788", "#2d004b",
];

const dark = matchMedia("(prefers-color-scheme: dark)");

const LETTERS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;" };

/** Plotly reads tags, entities and %{names} in every string that it shows. */
function plain(text) {
  return String(text).replace(/[&<>%]/g, (letter) => LETTERS[letter]);
}

/** Lines of a hover label, the first one bold. */
function hoverLines(title, ...lines) {
  const texts = lines.filter((line) => line !== null).map(plain);
  return [`<b>${plain(title)}</b>`, ...texts].join("<br>");
}

function pageColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function withAlpha(color, alpha) {
  const parts = [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16));
  return `rgba(${parts.join(", ")}, ${alpha})`;
}

/** Words in lines that fit a phone, if the page is on one. */
function wrapped(text, room = innerWidth < 600 ? 28 : 80) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (`${lines.at(-1)} ${word}`.length > room) lines.push(word);
    else lines[lines.length - 1] += ` ${word}`;
  }
  return lines.map((line) => plain(line.trim())).join("<br>");
}

function axis(title, more = {}) {
  return {
    title: { text: wrapped(title), standoff: 10 },
    gridcolor: pageColor("grid"),
    linecolor: pageColor("rule"),
    tickcolor: pageColor("rule"),
    ticks: "outside",
    ticklen: 4,
    zeroline: false,
    automargin: true,
    exponentformat: "none",
    separatethousands: true,
    ...more,
  };
}

/** Above the data; on a phone, where it takes many lines, below. */
function legendPlace() {
  return innerWidth < 600 ? { y: -0.28, yanchor: "top" } : { y: 1.06, yanchor: "bottom" };
}

/** A layout in the page's colours and type. */
function layout(more) {
  return {
    paper_bgcolor: pageColor("paper"),
    plot_bgcolor: "rgba(0, 0, 0, 0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: pageColor("ink") },
    margin: { l: 56, r: 16, t: 16, b: 48 },
    hovermode: "closest",
    hoverlabel: {
      align: "left",
      bgcolor: pageColor("paper"),
      bordercolor: pageColor("rule"),
      font: { color: pageColor("ink"), size: 13 },
      namelength: -1,
    },
    legend: {
      orientation: "h", x: 0, xanchor: "left", tracegroupgap: 0, ...legendPlace(),
      font: { size: innerWidth < 600 ? 12 : 13 },
    },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    ...more,
  };
}

/** A vertical line where the runs were trained, named above the data. */
function trainingMark(x, isLog) {
  if (x === null || x === undefined) return {};
  const line = { color: pageColor("grey"), width: 1.4 };
  return {
    shapes: [{ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, layer: "below", line }],
    annotations: [
      {
        x: isLog ? Math.log10(x) : x, y: 1, yref: "paper", text: "training", showarrow: false,
        xanchor: "center", yanchor: "bottom", font: { size: 12, color: pageColor("muted") },
      },
    ],
  };
}

// Ticks of logarithmic axes, the most welcome first.
const NICE = [
  1, 0.5, 2, 0.1, 10, 0.25, 4, 0.2, 5, 1.5, 0.75, 3, 0.05, 20, 8, 1.25, 0.01, 100, 0.9, 1.1,
];

/** Welcome values in a range, apart from each other on a logarithmic axis. */
function niceTicks(low, high, room) {
  const apart = (0.95 * Math.log(high / low)) / room;
  const ticks = [];
  for (const tick of NICE) {
    const isFree = ticks.every((other) => Math.abs(Math.log(tick / other)) >= apart);
    if (low <= tick && tick <= high && isFree) ticks.push(tick);
  }
  return ticks;
}

/** The axis of a shift, logarithmic where the registry says so, and the line of training. */
function shiftAxis(name, values) {
  const { label, log, nominal } = axisOf(name);
  const [low, high] = extent(values);
  const isLog = log && low > 0;
  const ticks = isLog ? niceTicks(low, high, innerWidth < 600 ? 5 : 9) : [];
  const named = ticks.length > 2 ? { tickvals: ticks, ticktext: ticks.map(exact) } : {};
  return {
    xaxis: axis(label, { type: isLog ? "log" : "linear", ...named }),
    ...trainingMark(nominal, isLog),
  };
}

/** A closed outline of each unbroken stretch of an interval, apart by nulls. */
function bandOutline(rows, x, low, high) {
  const outline = { x: [], y: [] };
  let stretch = [];
  const close = () => {
    const back = [...stretch].reverse();
    outline.x = outline.x.concat(stretch.map((row) => row[x]), back.map((row) => row[x]), null);
    outline.y = outline.y.concat(stretch.map((row) => row[high]), back.map((row) => row[low]), null);
    stretch = [];
  };
  for (const row of rows) {
    if (Number.isFinite(row[low]) && Number.isFinite(row[high])) stretch.push(row);
    else if (stretch.length > 0) close();
  }
  if (stretch.length > 0) close();
  return outline;
}

/** Whether rows are of too few seeds for a band. */
function hasFewSeeds(rows) {
  return extent(rows.map((row) => row.seeds))[1] < meta.bandSeeds;
}

function band(rows, x, look) {
  const outline = bandOutline(rows, x, "low", "high");
  if (outline.x.length === 0) return [];
  const shown = {
    type: "scatter", mode: "lines", fill: "toself", line: { width: 0 },
    fillcolor: withAlpha(look.color, dark.matches ? 0.24 : 0.16),
    hoverinfo: "skip", showlegend: false, legendgroup: look.name, kind: "band",
  };
  return [{ ...shown, ...outline }];
}

/** The band of a method or, where its seeds are too few for one, a thin line for every run. */
function spread({ rows, look }, x, runs) {
  if (!hasFewSeeds(rows)) return band(rows, x, look);
  const own = runs.filter((run) => METHOD.every((name) => run[name] === rows[0][name]));
  const lines = [...groupBy(own, (row) => row.run).values()];
  if (lines.length < 2) return [];
  return lines.map((line) => ({
    type: "scatter", mode: "lines", kind: "run", opacity: 0.55,
    x: line.map((row) => row[x]), y: line.map((row) => drawable(row.value)),
    line: { color: look.color, dash: look.dash, width: 1 },
    hoverinfo: "skip", showlegend: false, legendgroup: look.name,
  }));
}

// The columns by which a run is known to be of a method.
const METHOD = ["task", "agent", "solver", "delta", "label"];

/** A curve with markers, in the look of its method. */
function curve(rows, x, y, look, hover) {
  return {
    type: "scatter",
    mode: "lines+markers",
    name: plain(look.name),
    legendgroup: look.name,
    x: rows.map((row) => row[x]),
    y: rows.map((row) => drawable(row[y])),
    line: { color: look.color, dash: look.dash, width: 2.2 },
    marker: { color: look.color, symbol: look.symbol, size: 8 },
    hovertext: rows.map(hover),
    hoverinfo: "text",
    hoverlabel: { bordercolor: look.color },
    kind: "curve",
  };
}

function colorscale(colors) {
  return colors.map((color, place) => [place / (colors.length - 1), color]);
}

const CUT_NOTE = "Bands reach beyond the figure: their intervals are wide.";

/** What the vertical axis shows where bands are so wide that they would flatten the curves. */
function rangeOfCurves(traces) {
  const of = (kind) => traces.filter((x) => kind === (x.kind === "band")).flatMap((x) => x.y);
  const [low, high] = extent(of(false));
  const [least, most] = extent([...of(false), ...of(true)]);
  const room = high - low;
  if (least >= low - room && most <= high + room) return null;
  return [Math.max(least, low - room / 2), Math.min(most, high + room / 2)];
}

/** Draw, or change what is drawn; resolves when it stands. */
async function draw(node, traces, more) {
  node.classList.add("plot");
  const isNew = !node.classList.contains("js-plotly-plot");
  await Plotly.react(node, traces, layout(more), CONFIG);
  if (isNew) node.on("plotly_afterplot", () => makeScalable(node));
  makeScalable(node);
}

/** On paper a figure is as wide as there is room, whatever its width on the screen. */
function makeScalable(node) {
  const { width, height } = node._fullLayout;
  node.style.setProperty("--ratio", `${width} / ${height}`);
  for (const picture of node.querySelectorAll(".main-svg")) {
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }
}

/** As high as there is room for on a laptop, below what stands above the first figure. */
function plotHeight(most, curves) {
  const legend = innerWidth < 600 ? 22 * curves : 0;
  return Math.round(Math.max(300, Math.min(most, 0.46 * innerHeight)) + legend);
}

/** A button that saves a figure as a picture. */
function pngButton(name, plot) {
  const save = () => Plotly.downloadImage(plot, { format: "png", filename: name, scale: 2 });
  return element("button", { type: "button", class: "quiet png", onclick: save }, "Save PNG");
}

/** A place for one figure: its plot, notes under it, and buttons. */
class FigureBox {
  constructor(name) {
    this.rows = [];
    this.plot = element("div", { class: "plot", id: `plot-${name}`, role: "img" });
    this.notes = element("div", { class: "notes" });
    const buttons = element("div", { class: "buttons" },
      csvButton(name, () => this.rows), pngButton(name, this.plot));
    this.node = element(
      "figure",
      { class: "figure" },
      this.plot,
      element("figcaption", {}, this.notes, buttons),
    );
  }

  async show({ traces, layout: more, rows, notes: said = [], label }) {
    this.rows = rows;
    const range = rangeOfCurves(traces);
    const notes = range === null ? said : [...said, CUT_NOTE];
    if (range !== null) more.yaxis.range = range;
    this.plot.setAttribute("aria-label", label);
    replaceChildren(this.notes, ...notes.map((note) => element("p", {}, note)));
    await draw(this.plot, traces, more);
  }
}

/** Many small plots side by side; as many as are asked for. */
class Panels {
  constructor(name, kind = "") {
    this.name = name;
    this.node = element("div", { class: `panels ${kind}`, id: `panels-${name}` });
    this.plots = [];
  }

  async show(panels) {
    while (this.plots.length > panels.length) this.remove(this.plots.pop());
    while (this.plots.length < panels.length) this.add();
    for (const [place, panel] of panels.entries()) {
      const { head, plot } = this.plots[place];
      replaceChildren(head, ...panel.head);
      plot.setAttribute("aria-label", panel.label);
      await draw(plot, panel.traces, panel.layout);
    }
  }

  add() {
    const head = element("h4", {});
    const plot = element("div", { class: "plot", role: "img" });
    const save = pngButton(`${this.name}-${this.plots.length + 1}`, plot);
    const box = element("div", { class: "panel" }, head, plot, save);
    this.plots.push({ box, head, plot });
    this.node.append(box);
  }

  remove({ box, plot }) {
    Plotly.purge(plot);
    box.remove();
  }
}
