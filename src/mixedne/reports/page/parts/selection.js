// What is selected: kept possible, and kept in the address so that a view can be shared.

const COMPARISONS = {
  solvers: "solvers",
  every: "every method",
  players: "one player against two",
  agents: "agents: with SAC",
};

const KEYS = [
  "task", "agent", "delta", "axis", "statistic", "compare", "acting", "mass_mode", "published",
  "pair", "baseline", "progress", "source", "objective", "start", "everywhere",
];

const selection = Object.fromEntries(KEYS.map((key) => [key, null]));

let combinations = []; // rows of the index

function agentName(agent) {
  return agent === null ? "agent not known" : agent.toUpperCase();
}

/** The values that a key can have, given those of the keys before it. */
function options(key, kinds, fixed) {
  const rows = combinations.filter(
    (row) => (!kinds || kinds.includes(row.kind)) && fixed.every((x) => row[x] === selection[x]),
  );
  return unique(rows.map((row) => row[key]));
}

const STEPS = [
  { key: "task", fixed: [] },
  { key: "agent", fixed: ["task"] },
  { key: "delta", fixed: ["task", "agent"], preferred: 0.1 },
  { key: "acting", fixed: ["task", "agent", "delta"], kinds: ["sweep", "map"], preferred: "mean" },
  { key: "mass_mode", fixed: ["task", "agent", "delta", "acting"], kinds: ["sweep", "map"] },
  {
    key: "axis", fixed: ["task", "agent", "delta", "acting", "mass_mode"], kinds: ["sweep"],
    order: Object.keys(meta.axes),
  },
  {
    key: "statistic", fixed: ["task", "agent", "delta", "acting", "mass_mode"],
    kinds: ["sweep", "map"], order: Object.keys(meta.statistics),
  },
];

/** What is offered for each key; impossible choices fall back to possible ones. */
function repair() {
  const offered = {};
  const isDeltaChosen = selection.delta !== null;
  for (const { key, fixed, kinds, order, preferred } of STEPS) {
    const values = inOrder(options(key, kinds, fixed), order);
    if (!values.includes(selection[key])) {
      selection[key] = values.includes(preferred) ? preferred : (values[0] ?? null);
    }
    offered[key] = values;
  }
  offered.compare = Object.keys(COMPARISONS).filter(isComparable);
  if (!offered.compare.includes(selection.compare)) {
    const isFew = offered.compare.includes("every") && methodCount() <= MOST_AT_ONCE;
    selection.compare = isFew && !isDeltaChosen ? "every" : "solvers";
  }
  return offered;
}

/** Up to so many methods of an agent are shown together, whatever their δ, unless one is chosen. */
const MOST_AT_ONCE = 5;

/** The results of the task and agent chosen. */
function ownCombinations() {
  const { task, agent } = selection;
  return combinations.filter((x) => x.task === task && x.agent === agent && x.kind !== "search");
}

function methodCount() {
  return unique(ownCombinations().map((x) => JSON.stringify([x.solver, x.delta, x.label]))).length;
}

function inOrder(values, order) {
  if (!order) return values;
  const place = (value) => (order.includes(value) ? order.indexOf(value) : order.length);
  return [...values].sort((one, other) => place(one) - place(other));
}

function isComparable(compare) {
  const rows = combinations.filter((row) => row.task === selection.task && row.kind !== "search");
  if (compare === "agents") {
    return selection.agent !== "sac" && rows.some((row) => row.agent === "sac");
  }
  if (compare === "solvers") return true;
  const own = ownCombinations();
  if (compare === "every") return hasSeveralDeltas(own);
  return own.some(isOnePlayer) && own.some(isTwoPlayer);
}

function isOnePlayer(row) {
  return row.solver === "mixedne-ld" && row.delta === 0;
}

function isTwoPlayer(row) {
  return ["gad", "extra-adam"].includes(row.solver) && row.delta === 0.1;
}

/** The methods to be compared, as conditions on a table's columns. */
function compared() {
  const { agent, delta } = selection;
  if (selection.compare === "players") {
    return [
      { agent, solver: "mixedne-ld", delta: 0 },
      { agent, solver: ["gad", "extra-adam"], delta: 0.1 },
    ];
  }
  if (selection.compare === "every") return [{ agent }];
  const chosen = { agent, delta };
  return selection.compare === "agents" ? [chosen, { agent: "sac" }] : [chosen];
}

/** The rows of the methods compared. */
function shown(from, conditions) {
  return compared().flatMap((method) => testedAlike(from, { ...method, ...conditions }));
}

/** Rows tested as selected; SAC's as they were tested, if not so. */
function testedAlike(from, conditions) {
  const { acting, mass_mode } = selection;
  if (!from.has("acting")) return from.where(conditions);
  const alike = from.where({ ...conditions, acting, mass_mode });
  return alike.length > 0 || conditions.agent !== "sac" ? alike : from.where(conditions);
}

/** Rows by method: its name, its look, and the rows. */
function byMethod(rows) {
  const withDelta = hasSeveralDeltas(rows);
  const keyOf = (x) => JSON.stringify([x.agent, x.solver, x.delta, x.label]);
  const groups = [...groupBy(rows, keyOf).values()];
  groups.sort(([one], [other]) => standing(one) - standing(other) || other.delta - one.delta);
  const looks = looksFor(groups.map((own) => own[0]));
  return groups.map((own, i) => ({
    rows: own,
    look: { ...looks[i], name: methodName(own[0], withDelta) },
  }));
}

/** Solvers in the order of the legend; of one solver, its plain name first. */
function standing({ solver, label }) {
  const place = meta.styles.solvers.findIndex((x) => x.solver === solver);
  if (place < 0) return meta.styles.solvers.length;
  return place + (meta.styles.solvers[place].label === label ? 0 : 0.5);
}

/** Looks for methods drawn together: the first of a solver has its own, all others further ones. */
function looksFor(methods) {
  const taken = new Set();
  let next = 0;
  return methods.map(({ solver }) => {
    const own = taken.has(solver) ? undefined : solverLook(solver);
    const look = own ?? meta.styles.further[next++ % meta.styles.further.length];
    taken.add(solver);
    return { ...look, color: look.color === "#000000" ? pageColor("ink") : look.color };
  });
}

function solverLook(solver) {
  return meta.styles.solvers.find((x) => x.solver === solver);
}

/** SAC has no δ, nor have games whose adversary has no share of the action. */
function hasSeveralDeltas(rows) {
  return unique(rows.filter((x) => x.agent !== "sac").map((x) => x.delta)).length > 1;
}

function methodName(row, withDelta) {
  const hasDelta = row.agent !== "sac" && row.delta !== null;
  return withDelta && hasDelta ? `${row.label}, δ = ${row.delta}` : row.label;
}

/** Keep a choice within what is there. */
function pick(key, values, preferred = values[0] ?? null) {
  if (!values.includes(selection[key])) {
    selection[key] = values.includes(preferred) ? preferred : (values[0] ?? null);
  }
  return selection[key];
}

/** The address says the whole selection; what it leaves out is chosen anew. */
function readAddress(address = location.href) {
  const said = new URLSearchParams(new URL(address).hash.slice(1));
  for (const key of KEYS) {
    const text = said.get(key) || null;
    selection[key] = key === "delta" && text !== null ? Number(text) : text;
  }
}

function writeAddress() {
  const entries = Object.entries(selection).filter(([, value]) => value !== null);
  const hash = `#${new URLSearchParams(entries)}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

/** Change the selection, and all that shows it. */
function choose(changes) {
  Object.assign(selection, changes);
  showSelection();
}
