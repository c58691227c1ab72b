// Scores on uncertainty sets, one table for each task and set, with what others published.

const SET_COLUMNS = [
  { title: "Method", text: (row) => row.method },
  { title: "Worst case", number: true, text: (row) => setNumber(row, "worst") },
  { title: "Average", number: true, text: (row) => setNumber(row, "mean") },
  { title: "Worst case, normalised", number: true, text: (row) => setScore(row.worst_score) },
  { title: "Average, normalised", number: true, text: (row) => setScore(row.mean_score) },
  { title: "Seeds", number: true, text: (row) => String(row.seeds) },
  { title: "Published in", text: (row) => row.source ?? "" },
];

function setNumber(row, name) {
  const spread = row[`${name}_spread`];
  if (row[name] === null) return "";
  return spread === null
    ? withInterval(row[name], row, `${name}_low`, `${name}_high`)
    : `${brief(row[name])} ± ${brief(spread)}`;
}

function setScore(score) {
  return score === null ? "" : score.toFixed(2);
}

function setsSection() {
  const title = "Uncertainty sets";
  if (meta.rows.sets === 0) return absent(title, "mixedne evaluate RUN --set rrls-2d");
  const section = new Section("sets", title,
    "The lowest of the mean returns at the points of a set, and their average; 95 % intervals over training seeds in brackets. Normalised: (value − TD3) / |M2TD3 − TD3|, of one's own runs.");
  const rows = table("sets").where({});
  const tables = [...groupBy(rows, (row) => `${row.task}, ${row.set}, ${row.points} points`)];
  for (const [caption, own] of tables) section.body.append(element("h3", {}, caption), plainTable(caption, SET_COLUMNS, own));
  if (rows.some((row) => row.source !== null)) {
    section.body.append(element("div", { class: "notes" }, element("p", {}, meta.publishedSets)));
  }
  section.body.append(csvButton("sets", () => rows));
  section.node.dataset.state = "drawn";
  return section;
}
