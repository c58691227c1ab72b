// What the runs say: verdicts in words, for the sentence on top and for the table.

const MEASURES = {
  mean: "mean return",
  worst: "return at its worst shift",
  cvar: "mean return at the worst tenth of the shifts",
};

/** Whether a number over seeds has an interval that is worth printing. */
function hasInterval(row) {
  return row.seeds >= meta.intervalSeeds && Number.isFinite(row.low) && Number.isFinite(row.high);
}

function overlaps(one, other) {
  return one.low <= other.high && other.low <= one.high;
}

/** One sentence on the methods shown, from their numbers over the sweep. */
function verdictSentence(rows) {
  const ranked = rows.filter((row) => Number.isFinite(row.value)).sort((one, other) => other.value - one.value);
  if (ranked.length === 0) return null;
  const [best, ...others] = ranked;
  const measure = MEASURES[selection.statistic] ?? "return";
  const where = `over ${counted(best.shifts, "value")} of ${axisName(selection.axis)} on ${best.task}`;
  if (others.length === 0) {
    return `${best.name} has a ${measure} of ${brief(best.value)} ${where} (${counted(best.seeds, "seed")}).`;
  }
  const lead = `${best.name} has the highest ${measure} ${where}: ${brief(best.value)}, `
    + `before ${others[0].name} with ${brief(others[0].value)}`;
  return `${lead}${doubt(best, others)}.`;
}

/** How far the lead of the best method can be trusted. */
function doubt(best, others) {
  const poor = [best, ...others].filter((row) => !hasInterval(row));
  if (poor.length > 0) {
    const few = Math.min(...poor.map((row) => row.seeds));
    if (few >= meta.intervalSeeds) return "; not all of them have intervals to compare";
    return `. ${few === 1 ? "One seed is" : `${few} seeds are`} too few to say that it is better`;
  }
  const alike = others.filter((row) => overlaps(best, row)).map((row) => row.name);
  if (alike.length === 0) return "; its interval lies above those of all others";
  const named = alike.length === others.length ? "every other method" : inWords(alike);
  return `, but its interval overlaps that of ${named}: these runs do not show which is better`;
}

function inWords(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Comparisons are within one δ; of methods with different ones, only the intervals are compared. */
const NOT_COMPARED = {
  baseline: null, improvement: null, improvement_low: null, improvement_high: null, overlap: null,
};

/** In words, how a method compares with two-player GAD, whatever its own δ. */
function verdictAcross(row, rows) {
  const baselines = rows.filter((x) => x.task === row.task && x.solver === "gad")
    .sort((x, y) => x.label.length - y.label.length); // GAD as its preset is, if it is there
  const base = baselines.find((x) => x.delta > 0) ?? baselines[0];
  if (base === row) return "the baseline";
  if (base === undefined) return "not compared";
  return verdictBetween(row, base, methodName(base, true));
}

function verdictBetween(row, base, name, overlap = overlaps(row, base)) {
  if (row.seeds === 1 || base.seeds === 1) return "one seed: no interval";
  if (Math.min(row.seeds, base.seeds) < meta.intervalSeeds) return "too few seeds";
  if (!hasInterval(row) || !hasInterval(base)) return `no interval to compare with ${name}`;
  if (overlap) return `not told apart from ${name}`;
  return `${row.value > base.value ? "higher" : "lower"} than ${name}`;
}

/** In words, how a method compares with its baseline. */
function verdict(row, from) {
  if (row.task === null) return verdictOverTasks(row);
  const { task, agent, delta, acting, mass_mode, axis: name, statistic } = row;
  const alike = { task, agent, delta, acting, mass_mode, axis: name, statistic };
  if (row.baseline === null) {
    return from.where({ ...alike, baseline: row.label }).length > 0 ? "the baseline" : "not compared";
  }
  const [base] = from.where({ ...alike, label: row.baseline });
  return base === undefined ? "not compared" : verdictBetween(row, base, row.baseline, row.overlap);
}

function verdictOverTasks({ seeds, improvement_low: low, improvement_high: high, baseline }) {
  if (low === null || high === null) return "one seed: no interval";
  if (seeds < meta.intervalSeeds) return "too few seeds";
  if (low > 0.5) return `more often higher than ${baseline}`;
  return high < 0.5 ? `more often lower than ${baseline}` : `not told apart from ${baseline}`;
}

/** Which methods are compared, and why, where that is not plain from the selection. */
function comparisonNote() {
  if (selection.compare === "players") return meta.players;
  if (selection.compare === "agents") {
    return "The methods of the agent and δ chosen, beside SAC, which has no adversary and no solver.";
  }
  return null;
}
