// Return while training.

const PROGRESS = {
  step: "environment steps",
  updates: "inner updates",
  seconds: "seconds of wall-clock time",
};

const LEARNING_SOURCES = {
  evaluation: "evaluation, without noise",
  training: "training episodes",
};

function learningSection() {
  const title = "Learning curves";
  if (meta.rows.learning === 0) {
    return absent(title, "mixedne train Hopper-v5 --out RUN");
  }
  const section = new Section("learning", title,
    "Return in the world of training while the policy learns, against what the learning cost.");
  const progress = new SelectBox("progress", "Against");
  const source = new SelectBox("source", "Returns of");
  const controls = element("div", { class: "controls" }, progress.node, source.node);
  const caption = element("h3", {});
  const box = new FigureBox("learning");
  section.body.append(caption, controls, box.node);
  return section.drawnBy(async () => {
    const rows = learningRows(progress, source);
    caption.textContent = described();
    showOrSay(section, [caption, controls, box.node], rows.length > 0,
      `No learning curves of ${described()}: mixedne train would make them.`);
    if (rows.length > 0) await box.show(learningSpec(rows, learningRuns()));
  });
}

function learningRows(progress, source) {
  const all = shown(table("learning"), { task: selection.task });
  const sources = unique(all.map((row) => row.source));
  const chosen = pick("source", sources, "evaluation");
  source.show(sources.map((x) => [x, LEARNING_SOURCES[x] ?? x]), chosen, { hideSingle: true });
  const measures = Object.keys(PROGRESS).filter((x) => all.some((row) => Number.isFinite(row[x])));
  const measure = pick("progress", measures);
  progress.show(measures.map((x) => [x, PROGRESS[x]]), measure);
  const rows = all.filter((row) => row.source === chosen && Number.isFinite(row[measure]));
  return rows.sort((one, other) => one.step - other.step);
}

function learningRuns() {
  const { task, source, progress } = selection;
  const runs = shown(table("learning_runs"), { task, source });
  return runs.filter((row) => Number.isFinite(row[progress])).sort((one, other) => one.step - other.step);
}

function learningSpec(rows, runs) {
  const measure = selection.progress;
  const methods = byMethod(rows);
  const hover = (look) => (row) =>
    hoverLines(look.name, `${PROGRESS[measure]} ${exact(row[measure])}: ${exact(row.value)}`,
      seedLine(row), counted(row.seeds, "seed"));
  return {
    rows,
    traces: [
      ...methods.flatMap((x) => spread(x, measure, runs)),
      ...methods.map((x) => ({
        ...curve(x.rows, measure, "value", x.look, hover(x.look)),
        marker: { color: x.look.color, symbol: x.look.symbol, size: x.rows.length > 30 ? 4 : 7 },
      })),
    ],
    layout: { height: plotHeight(420, methods.length), xaxis: axis(PROGRESS[measure], { tickformat: measure === "seconds" ? "" : "~s" }), yaxis: axis("return of an episode") },
    notes: cautions(rows, (row) => `step ${exact(row.step)}`, { hasLines: true }),
    label: `Learning curves: ${described()}`,
  };
}
