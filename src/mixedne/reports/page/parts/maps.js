// Return against two shifts: a map for every method, and its difference from a baseline.

function mapsSection() {
  const title = "Two shifts at once";
  if (meta.rows.maps === 0) {
    return absent(title, "mixedne evaluate RUN --mass paper-heatmap --noise paper-heatmap");
  }
  const section = new Section("maps", title,
    "Each cell is a world with both shifts. Maps share one colour scale; differences share another, centred on zero.");
  const parts = mapParts();
  section.body.append(...Object.values(parts).map((part) => part.node));
  return section.drawnBy(async () => {
    const from = table("maps");
    const pair = choosePair(from, parts);
    const rows = pair === null ? [] : mapRows(from, pair);
    showOrSay(section, Object.values(parts).map((part) => part.node), rows.length > 0,
      `No maps of ${described()}: mixedne evaluate RUN --mass paper-heatmap --noise paper-heatmap would make them.`);
    if (rows.length > 0) await showMaps(parts, byMethod(rows), rows);
  });
}

function mapParts() {
  const pair = new SelectBox("pair", "Shifts");
  const baseline = new SelectBox("baseline", "Baseline of differences");
  const rows = { values: [], differences: [] };
  return {
    choices: { node: element("div", { class: "controls" }, pair.node, baseline.node), pair, baseline },
    heading: { node: element("h3", {}) },
    scale: { node: element("div", { class: "scale" }) },
    values: new Panels("maps"),
    notes: { node: element("div", { class: "notes" }) },
    saveValues: { node: csvButton("maps", () => rows.values), rows },
    differenceHeading: { node: element("h3", {}) },
    differenceScale: { node: element("div", { class: "scale" }) },
    differences: new Panels("differences"),
    saveDifferences: { node: csvButton("differences", () => rows.differences) },
  };
}

function mapRows(from, pair) {
  const [axis_x, axis_y] = pair.split(" × ");
  const { task, statistic } = selection;
  return shown(from, { task, statistic, axis_x, axis_y });
}

/** Offer the pairs of axes that there are. */
function choosePair(from, parts) {
  const { task, statistic } = selection;
  const rows = shown(from, { task, statistic });
  const pairs = unique(rows.map((row) => `${row.axis_x} × ${row.axis_y}`));
  const pair = pick("pair", pairs);
  parts.choices.pair.show(pairs.map((x) => [x, x]), pair);
  return pair;
}

async function showMaps(parts, methods, rows) {
  const names = methods.map((x) => x.look.name);
  const preferred = methods.find((x) => x.rows[0].solver === "gad")?.look.name;
  const baseline = pick("baseline", names, preferred);
  parts.choices.baseline.show(names.map((x) => [x, x]), baseline, { hideSingle: true });
  parts.heading.node.textContent = `${described()}: ${statisticName()} of returns`;
  const range = extent(rows.map((row) => row.value));
  showScale(parts.scale.node, SEQUENTIAL, range, "return");
  await parts.values.show(methods.map((x) => mapPanel(x, range)));
  const notes = [...cautions(rows, (row) => `${exact(row.x)}, ${exact(row.y)}`), MAP_NOTE];
  replaceChildren(parts.notes.node, ...notes.map((note) => element("p", {}, note)));
  parts.saveValues.rows.values = rows;
  await showDifferences(parts, methods, baseline);
}

const PANEL_MARGIN = { l: 48, r: 8, t: 8, b: 44 };

const MAP_NOTE = "The ring marks the world of training. Grey cells with a cross are invalid.";

async function showDifferences(parts, methods, baseline) {
  const base = methods.find((x) => x.look.name === baseline);
  const others = methods.filter((x) => x !== base).map((x) => differencesOf(x, base));
  const there = others.length > 0;
  for (const part of [parts.differenceHeading, parts.differenceScale, parts.saveDifferences]) {
    part.node.hidden = !there;
  }
  parts.differenceHeading.node.textContent = `Difference from ${baseline}`;
  const largest = Math.max(...extent(others.flatMap((x) => x.rows.map((row) => row.difference))).map(Math.abs));
  const range = [-largest, largest];
  showScale(parts.differenceScale.node, DIVERGING, range, `orange: below ${baseline}; purple: above`);
  await parts.differences.show(others.map((x) => differencePanel(x, baseline, range)));
  parts.saveValues.rows.differences = others.flatMap((x) => x.rows);
}

function differencesOf({ rows, look }, base) {
  const place = (row) => `${row.x} ${row.y}`;
  const of = new Map(base.rows.map((row) => [place(row), row.value]));
  const differences = rows.map((row) => {
    const other = of.get(place(row)) ?? NaN;
    const difference = Number((row.value - other).toPrecision(7));
    return { ...row, method: look.name, baseline: base.look.name, baseline_value: other, difference };
  });
  return { look, rows: differences };
}

function mapPanel({ rows, look }, range) {
  const hover = (row) =>
    hoverLines(look.name, ...placeLines(row), `return ${exact(row.value)}`,
      Number.isNaN(row.value) ? null : seedLine(row), episodeLine(row));
  return {
    head: [look.name],
    label: `Map of returns: ${look.name}`,
    ...cells(rows, "value", SEQUENTIAL, range, hover),
  };
}

function differencePanel({ rows, look }, baseline, range) {
  const hover = (row) =>
    hoverLines(`${look.name} minus ${baseline}`, ...placeLines(row),
      `difference ${exact(row.difference)}`,
      `${exact(row.value)} against ${exact(row.baseline_value)}`);
  return {
    head: [`${look.name} minus ${baseline}`],
    label: `Map of differences: ${look.name} minus ${baseline}`,
    ...cells(rows, "difference", DIVERGING, range, hover),
  };
}

function placeLines(row) {
  return [`${row.axis_x} ${exact(row.x)}, ${row.axis_y} ${exact(row.y)}`];
}

/** Cells of one size at crossed values: their places, and a table of some value of theirs. */
function crossed(rows) {
  const sorted = (name) => unique(rows.map((row) => row[name])).sort((one, other) => one - other);
  const [xs, ys] = [sorted("x"), sorted("y")];
  const at = new Map(rows.map((row) => [`${row.x} ${row.y}`, row]));
  return {
    xs,
    ys,
    places: { x: xs.map((_, place) => place), y: ys.map((_, place) => place) },
    placeOf: (row) => [xs.indexOf(row.x), ys.indexOf(row.y)],
    filled: (value) =>
      ys.map((y) => xs.map((x) => (at.has(`${x} ${y}`) ? value(at.get(`${x} ${y}`)) : null))),
  };
}

function heatmap(grid, key, colors, [low, high], hover) {
  return {
    type: "heatmap", ...grid.places, kind: "map",
    z: grid.filled((row) => drawable(row[key])),
    hovertext: grid.filled(hover), hoverinfo: "text", hoverongaps: false,
    colorscale: colorscale(colors), zmin: low, zmax: high, showscale: false, xgap: 1, ygap: 1,
  };
}

/** An axis of cells that names some of their values, and no others. */
function cellAxis(title, values, most = 6) {
  const step = Math.ceil(values.length / most);
  const shown = values.map((_, place) => place).filter((place) => place % step === 0);
  return axis(title, {
    tickvals: shown, ticktext: shown.map((place) => exact(values[place])),
    range: [-0.5, values.length - 0.5], showgrid: false, ticks: "",
  });
}

/** The cells of a map, with those that are invalid and the world of training marked. */
function cells(rows, key, colors, range, hover) {
  const grid = crossed(rows);
  const { axis_x, axis_y } = rows[0];
  const invalid = rows.filter((row) => !Number.isFinite(row[key]));
  return {
    traces: [
      heatmap(grid, key, colors, range, hover),
      ...invalidCells(invalid, grid, key, hover),
      ...trainingRing(position(axisOf(axis_x).nominal, grid.xs), position(axisOf(axis_y).nominal, grid.ys)),
    ],
    layout: {
      height: 300, showlegend: false, margin: PANEL_MARGIN,
      xaxis: cellAxis(axisName(axis_x), grid.xs), yaxis: cellAxis(axisName(axis_y), grid.ys),
    },
  };
}

function invalidCells(invalid, grid, key, hover) {
  if (invalid.length === 0) return [];
  const places = invalid.map(grid.placeOf);
  const grey = {
    type: "heatmap", ...grid.places, kind: "invalid",
    z: grid.filled((row) => (Number.isFinite(row[key]) ? null : 0)),
    colorscale: [[0, "#b4b4b4"], [1, "#b4b4b4"]], zmin: 0, zmax: 1, showscale: false,
    hovertext: grid.filled(hover), hoverinfo: "text", hoverongaps: false, xgap: 1, ygap: 1,
  };
  const cross = {
    type: "scatter", mode: "markers", kind: "cross", hoverinfo: "skip",
    x: places.map(([x]) => x), y: places.map(([, y]) => y),
    marker: { symbol: "x-thin", size: 9, line: { width: 1.6, color: "#1d1d1d" } },
  };
  return [grey, cross];
}

/** Where a value lies in units of cells; null if it is outside of them. */
function position(value, among) {
  if (value === null || value < among[0] || value > among.at(-1)) return null;
  const above = among.findIndex((each) => each >= value);
  if (among[above] === value) return above;
  return above - (among[above] - value) / (among[above] - among[above - 1]);
}

function trainingRing(x, y) {
  if (x === null || y === null) return [];
  const ring = (color, width, size) => ({
    type: "scatter", mode: "markers", x: [x], y: [y], hoverinfo: "skip", kind: "training",
    marker: { symbol: "circle-open", size, color, line: { width, color } },
  });
  return [ring("#000000", 4, 12), ring("#ffffff", 2, 12)];
}

/** A strip of the colours with its ends named. */
function showScale(node, colors, [low, high], words) {
  const strip = element("span", { class: "strip" });
  strip.style.background = `linear-gradient(to right, ${colors.join(", ")})`;
  replaceChildren(node, element("span", {}, brief(low)), strip, element("span", {}, brief(high)),
    element("span", { class: "words" }, words));
}
