// The summary as a table that can be sorted.

const SUMMARY_COLUMNS = [
  { title: "Task", sort: (row) => row.task ?? "", text: (row) => row.task ?? "all tasks" },
  { title: "Method", sort: (row) => row.name, text: (row) => row.name },
  { title: "Seeds", sort: (row) => row.seeds, text: (row) => String(row.seeds), number: true },
  { title: "Shifts", sort: (row) => row.shifts, text: (row) => String(row.shifts ?? ""), number: true },
  {
    title: "Interquartile mean", sort: (row) => row.iqm, number: true,
    text: (row) => (row.task === null ? "" : withInterval(row.iqm, row, "iqm_low", "iqm_high")),
  },
  {
    title: "Mean", sort: (row) => row.value, number: true,
    text: (row) => (row.task === null ? "" : withInterval(row.value, row, "low", "high")),
  },
  {
    title: "Probability of improvement", sort: (row) => row.improvement, number: true,
    text: (row) =>
      row.improvement === null ? "" : withInterval(row.improvement, row, "improvement_low", "improvement_high"),
  },
  { title: "Against the baseline", sort: (row) => row.verdict, text: (row) => row.verdict },
];

const sorting = { column: null, falling: false };

function tableSection() {
  const title = "Summary";
  if (meta.rows.summary === 0) {
    return missingSection("table", title, "No summary without a sweep.", "mixedne evaluate RUN --mass paper");
  }
  const section = new Section("table", title,
    "Over a whole sweep, with 95 % intervals in brackets. Where intervals overlap, the methods are not told apart by these runs.");
  const delta = new SelectBox("table_delta", "δ in the table");
  const caption = element("h3", {});
  const host = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Summary table" });
  const shownRows = [];
  const controls = element("div", { class: "controls" }, delta.node);
  const save = csvButton("summary", () => shownRows);
  section.body.append(caption, controls, host, save);
  return section.drawnBy(async () => {
    delta.show([["chosen", "the one chosen above"], ["all", "all"]], pick("table_delta", ["chosen", "all"]));
    const rows = await summaryRows();
    shownRows.splice(0, shownRows.length, ...rows.map(({ name, verdict, ...row }) => ({ ...row, verdict })));
    caption.textContent = `${agentName(selection.agent)}: ${statisticName()} over the sweep of ${axisName(selection.axis)}`;
    showOrSay(section, [caption, controls, host, save], rows.length > 0, "No summary for this selection.");
    showTable(host, rows);
  });
}

async function summaryRows() {
  const from = await table("summary");
  const { axis: name, statistic, agent, compare } = selection;
  const place = { axis: name, statistic };
  const everyDelta = compare === "agents" ? { agent: [agent, "sac"] } : { agent };
  const rows = selection.table_delta === "all"
    ? testedAlike(from, { ...place, ...everyDelta })
    : shown(from, place);
  const withDelta = hasSeveralDeltas(rows);
  const acrossDeltas = compare === "players" && selection.table_delta !== "all";
  const compared = acrossDeltas ? rows.filter((row) => row.task !== null) : rows;
  const together = [...groupBy(compared, (row) => row.task).values()].flat();
  return together.map((row) => ({
    ...(acrossDeltas ? { ...row, ...NOT_COMPARED } : row),
    name: methodName(row, withDelta),
    verdict: acrossDeltas ? verdictAcross(row, rows) : verdict(row, from),
  }));
}

function verdictOverTasks({ improvement_low: low, improvement_high: high, baseline }) {
  if (low === null || high === null) return "one seed: no interval";
  if (low > 0.5) return `more often higher than ${baseline}`;
  return high < 0.5 ? `more often lower than ${baseline}` : `not told apart from ${baseline}`;
}

/** Comparisons are within one δ; of methods with different ones, only the intervals are compared. */
const NOT_COMPARED = {
  baseline: null, improvement: null, improvement_low: null, improvement_high: null, overlap: null,
};

/** In words, whether a method is told apart from GAD with two players. */
function verdictAcross(row, rows) {
  const base = rows.find((x) => x.task === row.task && x.solver === "gad");
  if (base === row) return "compared with";
  if (base === undefined) return "not compared";
  if (row.low === null || base.low === null) return "one seed: no interval";
  const name = `${base.label}, δ = ${base.delta}`;
  if (row.low <= base.high && base.low <= row.high) return `overlaps ${name}: not told apart`;
  return `${row.value > base.value ? "higher" : "lower"} than ${name}`;
}

/** In words, whether the method is told apart from its baseline. */
function verdict(row, from) {
  if (row.task === null) return verdictOverTasks(row);
  if (row.seeds === 1) return "one seed: no interval";
  const { task, agent, delta, acting, mass_mode, axis: name, statistic } = row;
  const alike = { task, agent, delta, acting, mass_mode, axis: name, statistic };
  if (row.baseline === null) {
    return from.where({ ...alike, baseline: row.label }).length > 0 ? "the baseline" : "not compared";
  }
  if (row.overlap === null) return `no interval to compare with ${row.baseline}`;
  if (row.overlap) return "intervals overlap: not told apart";
  const [base] = from.where({ ...alike, label: row.baseline });
  if (base === undefined) return `apart from ${row.baseline}`;
  return `${row.value > base.value ? "higher" : "lower"} than ${row.baseline}`;
}

function withInterval(number, row, low, high) {
  if (row[low] === null || row[high] === null) return brief(number);
  return `${brief(number)} [${brief(row[low])}, ${brief(row[high])}]`;
}

function showTable(host, rows) {
  const head = element("tr", {}, ...SUMMARY_COLUMNS.map((column) => heading(column, host, rows)));
  const body = sorted(rows).map((row) =>
    element("tr", {}, ...SUMMARY_COLUMNS.map((column, place) =>
      element(place === 0 ? "th" : "td", { scope: place === 0 ? "row" : null, class: column.number ? "number" : null },
        column.text(row)))));
  replaceChildren(host, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
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
  return element("th", { scope: "col", "aria-sort": order, class: column.number ? "number" : null }, button);
}

function sorted(rows) {
  if (sorting.column === null) return rows;
  const { sort } = sorting.column;
  const sign = sorting.falling ? -1 : 1;
  const missing = (value) => value === null || Number.isNaN(value);
  return [...rows].sort((one, other) => {
    const [a, b] = [sort(one), sort(other)];
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  });
}
