// The case study: two numbers that play a game.

function saddleSection() {
  const title = "Case study: a game of two numbers";
  if (meta.rows.values === 0) {
    return absent(title, "mixedne saddle --start both --out saddle");
  }
  const section = new Section("saddle", title,
    "The agent θ maximises f, the adversary ω minimises it. Thin lines: the first seed. Bold, with a band: median and 5 to 95 % over seeds.");
  const objective = new SelectBox("objective", "Objective");
  const start = new SelectBox("start", "Start");
  const values = new FigureBox("saddle-values");
  const plane = new FigureBox("saddle-paths");
  section.body.append(
    element("div", { class: "controls" }, objective.node, start.node),
    element("div", { class: "pair" }, values.node, plane.node),
  );
  return section.drawnBy(async () => {
    chooseCase(objective, start);
    const chosen = { objective: selection.objective, start: selection.start };
    await values.show(valuesSpec(table("values").where(chosen)));
    await plane.show(planeSpec(table("paths").where(chosen)));
  });
}

function chooseCase(objective, start) {
  const from = table("values");
  const names = unique(from.where({}).map((row) => row.objective));
  objective.show(names.map((x) => [x, `f = ${meta.objectives[x].label}`]), pick("objective", names));
  const starts = unique(from.where({ objective: selection.objective }).map((row) => row.start));
  const words = { far: "far from the equilibrium", near: "near the equilibrium" };
  const label = (x) => x.replace(/^\S+/, (name) => words[name] ?? `(${name})`);
  start.show(starts.map((x) => [x, label(x)]), pick("start", starts));
}

function byCase(rows) {
  return [...groupBy(rows, (x) => JSON.stringify([x.solver, x.inner])).values()].map((own) => {
    const { solver, inner } = own[0];
    const look = meta.caseStyles.find((x) => x.solver === solver && x.inner === inner);
    const plainest = { color: "#7f7f7f", dash: "solid", symbol: "circle", label: solver };
    return { rows: own, look: { ...(look ?? plainest), name: (look ?? plainest).label } };
  });
}

function valuesSpec(rows) {
  const hover = (look, key) => (row) =>
    hoverLines(look.name, `step ${row.step}: ${key === "first" ? "first seed" : "median"} ${exact(row[key])}`,
      row.low === null ? null : `5 to 95 %: ${interval(row)}`, counted(row.seeds, "seed"));
  const traces = byCase(rows).flatMap(({ rows: own, look }) => {
    const several = own[0].middle !== null;
    const line = (key, width, more) => ({
      ...curve(own, "step", key, look, hover(look, key)), mode: "lines",
      line: { color: look.color, dash: width < 1 ? "solid" : look.dash, width }, ...more,
    });
    if (!several) return [line("first", 2.2, { kind: "first" })];
    return [
      ...band(own, "step", look),
      line("first", 0.8, { showlegend: false, opacity: 0.7, kind: "first" }),
      line("middle", 2.4, { kind: "middle" }),
    ];
  });
  return {
    rows, traces,
    layout: {
      height: 420,
      xaxis: axis("outer step (logarithmic)", { type: "log", dtick: 1 }),
      yaxis: axis("f(θ, ω)", { zeroline: true, zerolinecolor: pageColor("muted") }),
    },
    notes: ["At the equilibrium f is 0."],
    label: "The objective against the outer step",
  };
}

function planeSpec(rows) {
  const { curve: level, box } = meta.objectives[selection.objective];
  const traces = byCase(rows).flatMap(({ rows: own, look }) => pathTraces(own, look));
  const first = rows[0];
  traces.push({
    type: "scatter", mode: "markers", name: "start", x: [first.start_theta], y: [first.start_omega],
    marker: { symbol: "x", size: 11, color: pageColor("ink") }, kind: "start",
    hovertext: [hoverLines("start", `θ ${exact(first.start_theta)}, ω ${exact(first.start_omega)}`)],
    hoverinfo: "text",
  });
  return {
    rows,
    traces: [...stationary(level, box), ...traces],
    layout: {
      height: 420,
      xaxis: axis("θ (agent, maximises)", { range: [-box, box], constrain: "domain" }),
      yaxis: axis("ω (adversary, minimises)", { range: [-box, box], scaleanchor: "x", constrain: "domain" }),
    },
    notes: ["Lines as in the other figure; larger marks are where the paths end."],
    label: "Paths in the plane",
  };
}

function pathTraces(own, look) {
  const hover = (row) =>
    hoverLines(look.name, `step ${row.step}`, `θ ${exact(row.theta)}, ω ${exact(row.omega)}`);
  const path = curve(own, "theta", "omega", look, hover);
  const end = curve([own.at(-1)], "theta", "omega", look, hover);
  const noisy = own[0].inner !== null;
  return [
    {
      ...path, mode: "lines", kind: "path", showlegend: false, opacity: noisy ? 0.7 : 1,
      line: { color: look.color, dash: look.dash, width: noisy ? 0.9 : 2 },
    },
    {
      ...end, mode: "markers", showlegend: false, kind: "end",
      marker: { color: look.color, symbol: look.symbol, size: 12, line: { width: 1.5, color: pageColor("ink") } },
    },
  ];
}

/** The equilibria, and the curve of stationary points that are none. */
function stationary(level, box) {
  const grey = { color: pageColor("muted"), width: 1.2, dash: "dash" };
  const line = (x, y, name, more = {}) => ({
    type: "scatter", mode: "lines", x, y, name, line: grey, hoverinfo: "skip", kind: "stationary", ...more,
  });
  if (level === null) {
    return [line([-box, box], [0, 0], "equilibria (ω = 0)", { line: { ...grey, width: 3, dash: "solid" } })];
  }
  const branch = Array.from({ length: 80 }, (_, place) => level / box + (place / 79) * (box - level / box));
  const x = [...branch.map((t) => -t).reverse(), null, ...branch];
  const point = {
    mode: "markers", marker: { symbol: "star", size: 13, color: pageColor("ink") },
  };
  return [
    line(x, x.map((t) => (t === null ? null : level / t)), `stationary, no equilibrium (θω = ${level})`),
    line([0], [0], "equilibrium (0, 0)", point),
  ];
}
