// Return against one shift.

function sweepSection() {
  const title = "Return against the shift";
  if (meta.rows.sweeps === 0) {
    return absent(title, "mixedne evaluate RUN --mass paper");
  }
  const section = new Section("sweep", title);
  const box = new FigureBox("sweep");
  const published = new Switch("published", "Published curves");
  const caption = element("h3", {});
  const controls = element("div", { class: "tablehead" }, caption, published.node);
  section.body.append(controls, box.node);
  return section.drawnBy(async () => {
    const spec = sweepSpec();
    caption.textContent = `${described()}: ${statisticName()} of returns`;
    published.show(spec.published.on, spec.published.there);
    showOrSay(section, [controls, box.node], spec.rows.length > 0,
      `No sweep of ${described()}: mixedne evaluate RUN --mass paper would make it.`);
    if (spec.rows.length > 0) await box.show(spec);
  });
}

function sweepSpec() {
  const { task, axis: name, statistic } = selection;
  const place = { task, axis: name, statistic };
  const rows = shown(table("sweeps"), place);
  const runs = shown(table("sweep_runs"), place);
  for (const each of [rows, runs]) each.sort((one, other) => one.x - other.x);
  const methods = byMethod(rows);
  const published = publishedCurves(methods, rows);
  const visible = published.on ? published.groups : [];
  return {
    rows: [...rows, ...visible.flatMap((x) => x.rows)].map(sameColumns(rows[0], visible)),
    published,
    traces: [
      ...visible.flatMap((x) => publishedTraces(x)),
      ...methods.flatMap((x) => spread(x, "x", runs)),
      ...methods.map((x) => curve(x.rows, "x", "value", x.look, (row) => sweepHover(x, row))),
    ],
    layout: {
      height: plotHeight(460, methods.length + visible.length),
      ...shiftAxis(name, rows.map((row) => row.x)),
      yaxis: axis(`return of an episode, ${statisticName()}`),
    },
    notes: [
      "Trained policies, tested in changed worlds without learning further. Lines are means over training seeds, bands their 95 % intervals.",
      comparisonNote(),
      ...cautions(rows, (row) => row.x, { hasLines: true }),
      ...unique(visible.map((x) => x.rows[0].source)).map((x) => `Grey: published by ${x}.`),
      published.isFar ? "Published curves lie so far from these that they would flatten the figure: they start switched off." : null,
    ].filter((note) => note !== null),
    label: `Return against ${axisOf(name).label}: ${described()}`,
  };
}

function sweepHover({ look }, row) {
  return hoverLines(
    look.name,
    `${row.axis} ${exact(row.x)}: ${exact(row.value)}`,
    seedLine(row),
    episodeLine(row),
  );
}

/** Curves that others published for the task, agent, axis and δ shown; of means only. */
function publishedCurves(methods, own) {
  const { task, agent, axis: name, statistic } = selection;
  const deltas = [null, ...methods.map((x) => x.rows[0].delta)];
  const all = statistic === "mean" ? table("published").where({ task, agent, axis: name }) : [];
  const rows = all.filter((row) => deltas.includes(row.delta)).sort((one, other) => one.x - other.x);
  const groups = [...groupBy(rows, (x) => JSON.stringify([x.label, x.source, x.delta])).values()];
  const isFar = rows.length > 0 && wouldFlatten(own, rows);
  return {
    there: rows.length > 0,
    isFar,
    on: selection.published === null ? !isFar : selection.published === "on",
    groups: groups.map((each) => ({ rows: each, look: greyLook(each[0], hasSeveralDeltas(rows)) })),
  };
}

/** Whether the view would be more than twice as high with the others' curves. */
function wouldFlatten(own, others) {
  const [low, high] = extent(own.map((row) => row.value));
  const [least, most] = extent([...own, ...others].map((row) => row.value));
  return most - least > 2 * (high - low);
}

function greyLook(row, withDelta) {
  const { dash, symbol } = solverLook(row.solver) ?? meta.styles.further[0];
  return { color: pageColor("grey"), dash, symbol: `${symbol}-open`, name: methodName(row, withDelta) };
}

function publishedTraces({ rows, look }) {
  const hover = (row) =>
    hoverLines(look.name, `${row.axis} ${exact(row.x)}: ${exact(row.value)}`, seedLine(row),
      counted(row.seeds, "seed"), row.source);
  const line = curve(rows, "x", "value", look, hover);
  line.line.width = 1.4;
  const around = hasFewSeeds(rows) ? [] : band(rows, "x", look);
  return [...around, { ...line, kind: "published", legendrank: 2000 }];
}

/** Rows with the same columns, so that they can stand in one CSV file. */
function sameColumns(first, visible) {
  const names = Object.keys({ ...first, ...visible[0]?.rows[0] });
  return (row) => Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}
