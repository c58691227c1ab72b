// Return against two shifts: a map for every method, and its difference from a baseline.

function mapsSection() {
  const title = "Two shifts at once";
  if (meta.rows.maps === 0) {
    return missingSection("maps", title, "No maps of two shifts.",
      "mixedne evaluate RUN --mass paper-heatmap --noise paper-heatmap");
  }
  const section = new Section("maps", title,
    "Each cell is a world with both shifts. Maps share one colour scale; differences share another, centred on zero.");
  const parts = mapParts();
  section.body.append(...Object.values(parts).map((part) => part.node));
  return section.drawnBy(async () => {
    const from = await table("maps");
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

const PANEL_MARGIN = { l: 48, r: 8, t: 24, b: 44 }; // room for Plotly's buttons

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

/** The cells of a map, with those that are invalid and the world of training marked. */
function cells(rows, key, colors, [low, high], hover) {
  const sorted = (name) => unique(rows.map((row) => row[name])).sort((one, other) => one - other);
  const grid = { x: sorted("x"), y: sorted("y") };
  const at = new Map(rows.map((row) => [`${row.x} ${row.y}`, row]));
  const filled = (value) =>
    grid.y.map((y) => grid.x.map((x) => (at.has(`${x} ${y}`) ? value(at.get(`${x} ${y}`)) : null)));
  const map = {
    type: "heatmap", ...grid, kind: "map",
    z: filled((row) => drawable(row[key])),
    hovertext: filled(hover), hoverinfo: "text", hoverongaps: false,
    colorscale: colorscale(colors), zmin: low, zmax: high, showscale: false, xgap: 1, ygap: 1,
  };
  const { axis_x, axis_y } = rows[0];
  const invalid = rows.filter((row) => !Number.isFinite(row[key]));
  return {
    traces: [map, ...invalidCells(invalid, grid, filled, key, hover), ...trainingRing(axis_x, axis_y, grid)],
    layout: {
      height: 300, showlegend: false, margin: PANEL_MARGIN,
      xaxis: shiftAxis(axis_x, grid.x),
      yaxis: shiftAxis(axis_y, grid.y),
    },
  };
}

/** An axis that names some of the shifts that there are, and no others. */
function shiftAxis(name, values) {
  const step = Math.ceil(values.length / 6);
  const title = axisName(name);
  return axis(title, {
    tickvals: values.filter((_, place) => place % step === 0), showgrid: false, ticks: "",
  });
}

function invalidCells(invalid, grid, filled, key, hover) {
  if (invalid.length === 0) return [];
  const grey = {
    type: "heatmap", ...grid, kind: "invalid", z: filled((row) => (Number.isFinite(row[key]) ? null : 0)),
    colorscale: [[0, "#b4b4b4"], [1, "#b4b4b4"]], zmin: 0, zmax: 1, showscale: false,
    hovertext: filled(hover), hoverinfo: "text", hoverongaps: false, xgap: 1, ygap: 1,
  };
  const cross = {
    type: "scatter", mode: "markers", kind: "cross", hoverinfo: "skip",
    x: invalid.map((row) => row.x), y: invalid.map((row) => row.y),
    marker: { symbol: "x-thin", size: 9, line: { width: 1.6, color: "#1d1d1d" } },
  };
  return [grey, cross];
}

function trainingRing(axis_x, axis_y, grid) {
  const [x, y] = [meta.nominal[axis_x], meta.nominal[axis_y]];
  if (!grid.x.includes(x) || !grid.y.includes(y)) return [];
  const ring = (color, width, size) => ({
    type: "scatter", mode: "markers", x: [x], y: [y], hoverinfo: "skip", kind: "training",
    marker: { symbol: "circle-open", size, color, line: { width, color } },
  });
  return [ring("#000000", 4, 12), ring("#ffffff", 2, 12)];
}

function extent(numbers) {
  const finite = numbers.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  return low === high ? [low - 1, high + 1] : [low, high];
}

/** A strip of the colours with its ends named. */
function showScale(node, colors, [low, high], words) {
  const strip = element("span", { class: "strip" });
  strip.style.background = `linear-gradient(to right, ${colors.join(", ")})`;
  replaceChildren(node, element("span", {}, brief(low)), strip, element("span", {}, brief(high)),
    element("span", { class: "words" }, words));
}
