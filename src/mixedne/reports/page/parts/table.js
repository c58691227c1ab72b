// The verdict and the summary as a table that can be sorted: what the page begins with.

const SUMMARY_COLUMNS = [
  { title: "Task", sort: (row) => row.task ?? "", text: (row) => row.task ?? "all tasks", many: true },
  { title: "Method", sort: (row) => row.name, text: (row) => row.name },
  {
    title: "Mean", sort: (row) => row.value, number: true,
    text: (row) => (row.task === null ? "" : withInterval(row.value, row, "low", "high")),
  },
  { title: "Against the baseline", sort: (row) => row.verdict, text: (row) => row.verdict },
  {
    title: "Probability of improvement", sort: (row) => row.improvement, number: true,
    text: (row) =>
      row.improvement === null || row.seeds < meta.intervalSeeds ? "" : withInterval(row.improvement, row, "improvement_low", "improvement_high"),
  },
  {
    title: "Interquartile mean", sort: (row) => row.iqm, number: true,
    text: (row) =>
      row.task === null || row.seeds < meta.intervalSeeds ? "" : withInterval(row.iqm, row, "iqm_low", "iqm_high"),
  },
  { title: "Seeds", sort: (row) => row.seeds, text: (row) => String(row.seeds), number: true },
  { title: "Shifts", sort: (row) => row.shifts, text: (row) => String(row.shifts ?? ""), number: true },
];

const sorting = { column: null, falling: false };

function tableSection() {
  if (meta.rows.summary === 0) return null;
  const section = new Section("table", "Verdict");
  const said = element("p", { class: "verdict" });
  const caption = element("span", { class: "caption" });
  const everywhere = new Switch("everywhere", "All tasks");
  const host = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Summary table" });
  const shownRows = [];
  const save = csvButton("summary", () => shownRows);
  const head = element("div", { class: "tablehead" }, caption, everywhere.node, save);
  section.body.append(said, head, host);
  return section.drawnBy(async () => {
    const rows = summaryRows();
    const own = rows.filter((row) => row.task === selection.task);
    const tasks = unique(rows.map((row) => row.task));
    everywhere.show(selection.everywhere === "on", tasks.length > 1);
    const listed = selection.everywhere === "on" ? rows : own;
    shownRows.splice(0, shownRows.length, ...listed.map(({ name, ...row }) => row));
    said.textContent = verdictSentence(own) ?? "";
    caption.textContent = `${statisticName()} over the sweep of ${axisName(selection.axis)}, 95 % intervals in brackets`;
    showOrSay(section, [said, head, host], listed.length > 0, `No sweep of ${described()} to sum up.`);
    showTable(host, listed);
  });
}

function summaryRows() {
  const from = table("summary");
  const rows = shown(from, { axis: selection.axis, statistic: selection.statistic });
  const withDelta = hasSeveralDeltas(rows);
  const compared = withDelta ? rows.filter((row) => row.task !== null) : rows;
  const together = [...groupBy(compared, (row) => row.task).values()].flat();
  return together.map((row) => ({
    ...(withDelta ? { ...row, ...NOT_COMPARED } : row),
    name: methodName(row, withDelta),
    verdict: withDelta ? verdictAcross(row, rows) : verdict(row, from),
  }));
}

function withInterval(number, row, low, high) {
  if (row[low] === null || row[high] === null) return brief(number);
  if (row.seeds < meta.intervalSeeds) return `${brief(number)} (too few seeds)`;
  return `${brief(number)} [${brief(row[low])}, ${brief(row[high])}]`;
}

function showTable(host, rows) {
  const several = unique(rows.map((row) => row.task)).length > 1;
  const columns = SUMMARY_COLUMNS.filter((column) =>
    (several || !column.many) && rows.some((row) => column.text(row) !== ""));
  const head = element("tr", {}, ...columns.map((column) => heading(column, host, rows)));
  const body = sorted(rows).map((row) =>
    element("tr", {}, ...columns.map((column, place) => cell(column.text(row), column, place === 0))));
  replaceChildren(host, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

/** Longer texts, such as the settings of a method, may take several lines. */
const SHORT_TEXT = 32;

function cell(text, column, isFirst) {
  const kind = column.number || text.length <= SHORT_TEXT ? "short" : "long";
  return element(isFirst ? "th" : "td", { scope: isFirst ? "row" : null, class: kind }, text);
}

function heading(column, host, rows) {
  const active = sorting.column === column;
  const button = element("button", {
    type: "button",
    onclick: () => {
      sorting.falling = active ? !sorting.falling : Boolean(column.number);
      sorting.column = column;
      showTable(host, rows);
      host.querySelector("th[aria-sort] button").focus();
    },
  }, column.title);
  const order = active ? (sorting.falling ? "descending" : "ascending") : null;
  return element("th", { scope: "col", "aria-sort": order }, button);
}

/** As asked for; at first the highest of each task leads. */
function sorted(rows) {
  if (sorting.column === null) {
    const byTask = [...groupBy(rows, (row) => row.task).values()];
    return byTask.flatMap((own) => [...own].sort((one, other) => (other.value ?? 0) - (one.value ?? 0)));
  }
  const { sort } = sorting.column;
  const sign = sorting.falling ? -1 : 1;
  const missing = (value) => value === null || Number.isNaN(value);
  return [...rows].sort((one, other) => {
    const [a, b] = [sort(one), sort(other)];
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  });
}

/** A table that is not sorted, without its empty columns. */
function plainTable(caption, all, rows) {
  const columns = all.filter((column) => rows.some((row) => column.text(row) !== ""));
  const head = element("tr", {}, ...columns.map((column) => element("th", { scope: "col" }, column.title)));
  const body = rows.map((row) =>
    element("tr", {}, ...columns.map((column, place) => cell(column.text(row), column, place === 0))));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}
