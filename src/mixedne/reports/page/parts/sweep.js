// Return against one shift.

function sweepSection() {
  const title = "Return against the shift";
  if (meta.rows.sweeps === 0) {
    return missingSection("sweep", title, "No sweep of mass, friction, action noise or ρ.",
      "mixedne evaluate RUN --mass paper");
  }
  const section = new Section("sweep", title,
    "Policies are trained in one world and tested in others. Lines are means over training seeds, bands their 95 % intervals.");
  const box = new FigureBox("sweep");
  const published = new Switch("published", "Published curves");
  const controls = element("div", { class: "controls" }, published.node);
  const caption = element("h3", {});
  section.body.append(caption, controls, box.node);
  return section.drawnBy(async () => {
    const spec = await sweepSpec();
    caption.textContent = `${described()}: ${statisticName()} of returns`;
    published.show(spec.published.on, spec.published.there);
    showOrSay(section, [caption, controls, box.node], spec.rows.length > 0,
      `No sweep of ${described()}: mixedne evaluate RUN --mass paper would make it.`);
    if (spec.rows.length > 0) await box.show(spec);
  });
}

async function sweepSpec() {
  const { task, axis: name, statistic } = selection;
  const rows = shown(await table("sweeps"), { task, axis: name, statistic });
  rows.sort((one, other) => one.x - other.x);
  const methods = byMethod(rows);
  const published = await publishedCurves(methods);
  const visible = published.on ? published.groups : [];
  return {
    rows: [...rows, ...visible.flatMap((x) => x.rows)].map(sameColumns(rows[0], visible)),
    published,
    traces: [
      ...visible.flatMap((x) => publishedTraces(x)),
      ...methods.flatMap((x) => band(x.rows, "x", x.look)),
      ...methods.map((x) => curve(x.rows, "x", "value", x.look, (row) => sweepHover(x, row))),
    ],
    layout: {
      height: 460,
      xaxis: axis(axisTitle(name)),
      yaxis: axis(`return of an episode, ${statisticName()}`),
      ...trainingMark(meta.nominal[name]),
    },
    notes: [
      ...cautions(rows, (row) => row.x),
      ...unique(visible.map((x) => x.rows[0].source)).map((x) => `Grey: published by ${x}.`),
    ],
    label: `Return against ${axisTitle(name)}: ${described()}`,
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
async function publishedCurves(methods) {
  const { task, agent, axis: name, statistic } = selection;
  const deltas = [null, ...methods.map((x) => x.rows[0].delta)];
  const all = statistic === "mean" ? (await table("published")).where({ task, agent, axis: name }) : [];
  const rows = all.filter((row) => deltas.includes(row.delta)).sort((one, other) => one.x - other.x);
  const groups = [...groupBy(rows, (x) => JSON.stringify([x.label, x.source, x.delta])).values()];
  return {
    there: rows.length > 0,
    on: selection.published !== "off",
    groups: groups.map((own) => ({ rows: own, look: greyLook(own[0]) })),
  };
}

function greyLook(row) {
  const { dash, symbol } = solverLook(row.solver) ?? meta.looks.further[0];
  return { color: pageColor("grey"), dash, symbol: `${symbol}-open`, name: row.label };
}

function publishedTraces({ rows, look }) {
  const hover = (row) =>
    hoverLines(look.name, `${row.axis} ${exact(row.x)}: ${exact(row.value)}`, seedLine(row),
      counted(row.seeds, "seed"), row.source);
  const line = curve(rows, "x", "value", look, hover);
  line.line.width = 1.4;
  return [...band(rows, "x", look), { ...line, kind: "published", legendrank: 2000 }];
}

/** Rows with the same columns, so that they can stand in one CSV file. */
function sameColumns(first, visible) {
  const names = Object.keys({ ...first, ...visible[0]?.rows[0] });
  return (row) => Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}
