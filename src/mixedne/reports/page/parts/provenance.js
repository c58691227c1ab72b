// How the results were made, how to read them, and all of them to take away.

function provenanceSection() {
  const section = new Section("provenance", "How it was made, and how to read it");
  const { commands, versions, machines, seeds, sources } = meta.provenance;
  const parts = [
    commands.length > 0 ? element("h3", {}, "Commands") : null,
    ...commands.map(command),
    facts([
      ["Versions", versions],
      ["Machines", machines.length > 0 || meta.counts.runs === 0 ? machines : ["not recorded"]],
      ["Training seeds", seeds.map(([method, numbers]) => `${method}: ${numbers}`)],
      ["Read from", sources],
    ]),
    reading(),
  ];
  section.body.append(...parts.filter((part) => part !== null));
  section.node.dataset.state = "drawn";
  return section;
}

function facts(pairs) {
  const there = pairs.filter(([, values]) => values.length > 0);
  const rows = there.flatMap(([name, values]) => [
    element("dt", {}, name),
    ...values.map((value) => element("dd", {}, value)),
  ]);
  return rows.length > 0 ? element("dl", {}, ...rows) : null;
}

function reading() {
  const { mean, worst, cvar } = meta.statistics;
  const sentences = [
    `Statistics: ${mean}, ${worst} and ${cvar} (the mean of the worst tenth). At one shift they are taken over a run's episodes, then averaged over training seeds. Over a whole sweep they are taken over the run's mean returns at its shifts.`,
    `Intervals: ${meta.intervals.mean}; ${meta.intervals.iqm}.`,
    `Below ${meta.bandSeeds} seeds figures show single runs and no bands, and below ${meta.intervalSeeds} no interval is printed. Overlapping intervals mean that these runs do not tell the methods apart, not that the methods are equal; and of many comparisons some come out apart by chance.`,
    "The probability of improvement is how often a run of the method beats a run of its baseline. An episode whose return is no number is invalid, and so is every number that it entered.",
  ];
  return element("div", {}, element("h3", {}, "Reading the numbers"),
    ...sentences.map((sentence) => element("p", {}, sentence)));
}

function downloadSection() {
  const section = new Section("download", "Download",
    "Every figure saves its numbers with Save CSV and itself with Save PNG.");
  const buttons = [
    tableButton("summary", "Summary of all sweeps, CSV"),
    tableButton("sweeps", "All sweeps, CSV"),
    tableButton("maps", "All maps, CSV"),
    tableButton("learning", "All learning curves, CSV"),
    meta.runs.embedded ? runsButton() : null,
  ].filter((button) => button !== null);
  section.body.append(element("div", { class: "controls" }, ...buttons));
  if (meta.runs.there && !meta.runs.embedded) {
    section.body.append(element("p", { class: "missing" },
      "The table of single runs is too large for this page: only summaries are here."));
  }
  section.node.dataset.state = "drawn";
  return section;
}

function tableButton(name, text) {
  if (meta.rows[name] === 0) return null;
  const save = () => download(csv(table(name).where({})), `${name}-all.csv`, "text/csv");
  return element("button", { type: "button", class: "plain", id: `save-${name}`, onclick: save }, text);
}

function runsButton() {
  const save = () => download(bytesOf("runs"), "runs.parquet", "application/vnd.apache.parquet");
  return element("button", { type: "button", class: "plain", id: "save-runs", onclick: save },
    "Every run at every shift, Parquet");
}
