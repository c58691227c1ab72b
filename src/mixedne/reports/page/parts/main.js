// The page as a whole: header, selectors, sections.

const SELECTORS = {
  task: new SelectBox("task", "Task"),
  agent: new SelectBox("agent", "Agent"),
  delta: new SelectBox("delta", "δ, the adversary's share"),
  axis: new SelectBox("axis", "Shift"),
  statistic: new SelectBox("statistic", "Statistic"),
  compare: new SelectBox("compare", "Compare"),
  acting: new SelectBox("acting", "Acting"),
  mass_mode: new SelectBox("mass_mode", "Mass mode"),
};

const WORDS = {
  agent: agentName,
  delta: (value) => (value === null ? "none" : String(value)),
  axis: axisName,
  statistic: (value) => meta.statistics[value] ?? value,
  compare: (value) => COMPARISONS[value],
  acting: (value) => ({ mean: "mean action", stochastic: "drawn action" })[value] ?? "not known",
  mass_mode: (value) => value ?? "not known",
};

const SINGLE_HIDDEN = ["acting", "mass_mode"];

function isEmpty() {
  return Object.values(meta.rows).every((count) => count === 0)
    && meta.videos.length + meta.videosLeftOut.length === 0;
}

function showHeader() {
  const { runs, tasks, episodes } = meta.counts;
  const counts = [[runs, "run"], [tasks, "task"], [episodes, "episode"]].filter(([x]) => x !== undefined);
  const remarks = meta.missing.length === 0
    ? null
    : element("a", { href: "#missing", onclick: scrollTo("missing") }, counted(meta.missing.length, "remark"));
  replaceChildren(
    document.getElementById("header"),
    element("h1", {}, meta.title),
    element("p", { class: "counts" }, ...counts.map(([count, word]) => tile(count, word)),
      ...(remarks === null ? [] : [element("span", {}, remarks, " on what is missing")])),
  );
}

function tile(count, word) {
  const [number, ...rest] = counted(count, word).split(" ");
  return element("span", {}, element("strong", {}, number), ` ${rest.join(" ")}`);
}

function missingBox() {
  if (meta.missing.length === 0) return null;
  return element("aside", { class: "box", id: "missing", "aria-labelledby": "missing-title" },
    element("h2", { id: "missing-title" }, "What is missing"),
    element("ul", {}, ...meta.missing.map((sentence) => element("li", {}, sentence))));
}

function showEmpty() {
  const commands = [
    "mixedne study smoke --out studies",
    "mixedne train Hopper-v5 --agent td3 --delta 0.1 --out RUN",
    "mixedne evaluate RUN --mass paper",
  ];
  document.getElementById("main").append(element("section", { id: "empty" },
    element("h2", {}, "There are no results to show"),
    element("p", {}, "A small study makes some in about a minute; or train and evaluate a policy:"),
    ...commands.map(command)));
}

/** The selectors; on a phone they fold behind a button that names the selection. */
function buildSelectors() {
  const host = document.getElementById("selectors");
  const bar = element("div", { class: "bar", id: "bar" }, ...Object.values(SELECTORS).map((x) => x.node));
  const fold = element("button", {
    type: "button", id: "fold", "aria-expanded": "false", "aria-controls": "bar",
    onclick: () => {
      const open = host.classList.toggle("open");
      fold.setAttribute("aria-expanded", String(open));
    },
  });
  host.hidden = combinations.length === 0; // nothing depends on a task
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", "Selection");
  replaceChildren(host, fold, bar);
}

function showSelection() {
  const offered = repair();
  for (const [key, box] of Object.entries(SELECTORS)) {
    const texts = offered[key].map((value) => [value, WORDS[key]?.(value) ?? value]);
    box.show(texts, selection[key], {
      hideSingle: SINGLE_HIDDEN.includes(key) || key === "compare",
      disabled: key === "delta" && ["players", "every"].includes(selection.compare),
    });
  }
  const chosen = [described(), WORDS.axis(selection.axis), statisticName()];
  const words = chosen.filter((x) => x).join(" · ");
  replaceChildren(document.getElementById("fold"), element("span", {}, words));
  for (const section of sections) section.invalidate();
  writeAddress();
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

function scrollTo(id) {
  return (event) => {
    event.preventDefault();
    document.getElementById(id).scrollIntoView({ behavior: still.matches ? "auto" : "smooth" });
  };
}

function contents(all) {
  const links = all.map(({ node: { id }, title }) =>
    element("li", {}, element("a", { href: `#${id}`, onclick: scrollTo(id) }, title)));
  return element("nav", { "aria-label": "Contents" }, element("ul", {}, ...links));
}

const BUILDERS = [
  tableSection, sweepSection, mapsSection, overviewSection, setsSection, attacksSection, learningSection, saddleSection,
  searchesSection, videosSection, absentSection, provenanceSection, downloadSection,
];

const NO_VERDICT = "No policy was swept over a shift here, so this report has no verdict on robustness.";

function start() {
  showHeader();
  const main = document.getElementById("main");
  if (isEmpty()) {
    showEmpty();
    main.append(...[missingBox(), provenanceSection().node].filter((node) => node !== null));
    return;
  }
  combinations = table("index").where({});
  readAddress();
  buildSelectors();
  const all = BUILDERS.map((build) => build()).filter((section) => section !== null);
  const first = all.filter(({ node: { id } }) => ["table", "sweep"].includes(id));
  const rest = all.filter((section) => !first.includes(section));
  const verdict = meta.rows.summary > 0 ? null : element("p", { class: "verdict" }, NO_VERDICT);
  const nodes = [verdict, ...first.map((x) => x.node), missingBox(), contents(rest), ...rest.map((x) => x.node)];
  main.append(...nodes.filter((node) => node !== null));
  showSelection();
  listen();
}

function listen() {
  const redraw = () => sections.forEach((section) => section.invalidate());
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => sections.filter((x) => x.stale).forEach((x) => x.refresh()));
  addEventListener("hashchange", ({ newURL }) => {
    readAddress(newURL); // a section that was still being drawn may have written the old one
    showSelection();
  });
}

start();
