// All tasks at a glance: each method's number over a whole sweep, each task on its own scale.

function overviewSection() {
  const title = "All tasks at a glance";
  if (meta.rows.summary === 0) {
    return null; // it needs what the sweep needs
  }
  if (unique(combinations.filter((x) => x.kind === "sweep").map((x) => x.task)).length < 2) return null;
  const section = new Section("overview", title,
    "One number for a whole sweep, with its 95 % interval where there are five seeds or more. Every task has its own scale. Choose a task to see its curves.");
  const caption = element("h3", {});
  const panels = new Panels("overview", "wide");
  const shownRows = [];
  const save = csvButton("overview", () => shownRows);
  const notes = element("div", { class: "notes" });
  section.body.append(caption, panels.node, notes, save);
  return section.drawnBy(async () => {
    const { axis: name, statistic } = selection;
    const rows = shown(table("summary"), { axis: name, statistic })
      .filter((row) => row.task !== null);
    shownRows.splice(0, shownRows.length, ...rows);
    caption.textContent = `${agentName(selection.agent)}: ${statisticName()} over the sweep of ${axisName(name)}`;
    replaceChildren(notes, ...cautions(rows, (row) => row.task).map((x) => element("p", {}, x)));
    showOrSay(section, [caption, panels.node, save, notes], rows.length > 0,
      "Nothing to sum up for this selection: mixedne evaluate RUN --mass paper would make a sweep.");
    await panels.show([...groupBy(rows, (row) => row.task)].map(([task, own]) => taskPanel(task, own)));
    for (const { plot } of panels.plots) selectOnClick(plot);
  });
}

function taskPanel(task, rows) {
  const methods = byMethod(rows);
  const button = element("button", {
    type: "button", class: "task", "aria-pressed": String(task === selection.task),
    onclick: () => choose({ task }),
  }, task);
  return {
    head: [button],
    label: `${task}: ${methods.map((x) => `${x.look.name} ${brief(x.rows[0].value)}`).join(", ")}`,
    traces: methods.map((method) => dot(method, task)),
    layout: {
      height: 44 + 30 * methods.length,
      showlegend: false,
      margin: { l: 8, r: 16, t: 4, b: 24 },
      xaxis: { ...axis("", { nticks: innerWidth < 600 ? 4 : 5, tickangle: 0 }), title: undefined },
      yaxis: axis("", { autorange: "reversed", showgrid: false, ticks: "", fixedrange: true }),
    },
  };
}

/** A mean and its interval. */
function dot({ rows: [row], look }, task) {
  const bounds = hasFewSeeds([row]) || row.low === null || !Number.isFinite(row.value)
    ? {}
    : {
      error_x: {
        type: "data", symmetric: false, color: look.color, thickness: 2, width: 5,
        array: [row.high - row.value], arrayminus: [row.value - row.low],
      },
    };
  return {
    type: "scatter", mode: "markers", name: plain(look.name),
    x: [drawable(row.value)], y: [plain(look.name)], ...bounds, customdata: [task],
    marker: { color: look.color, symbol: look.symbol, size: 10 },
    hovertext: [hoverLines(look.name, `${exact(row.value)}`, seedLine(row),
      `${counted(row.seeds, "seed")}, ${counted(row.shifts, "shift")}`)],
    hoverinfo: "text", hoverlabel: { bordercolor: look.color }, kind: "dot",
  };
}

function selectOnClick(plot) {
  plot.removeAllListeners?.("plotly_click");
  plot.on("plotly_click", ({ points }) => choose({ task: points[0].customdata }));
}
