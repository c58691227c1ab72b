// What hyperparameter searches found.

function searchesSection() {
  const title = "Hyperparameter searches";
  if (meta.rows.searches === 0) {
    return absent(title, "mixedne study paper-search-ddpg --out studies");
  }
  const section = new Section("searches", title,
    "Nominal return of every setting tried: in the world of training, so the shifts have no say in the choice.");
  const caption = element("h3", {});
  const scale = element("div", { class: "scale" });
  const panels = new Panels("searches");
  const key = element("p", { class: "notes" },
    "Star: chosen by the search. Ring: the value in the paper's tables.");
  const shownRows = [];
  const save = csvButton("searches", () => shownRows);
  section.body.append(caption, scale, panels.node, key, save);
  return section.drawnBy(async () => {
    const { task, agent } = selection;
    const rows = searchRows(table("searches"), task, agent);
    shownRows.splice(0, shownRows.length, ...rows);
    caption.textContent = described();
    const there = rows.length > 0;
    showOrSay(section, [caption, panels.node, key, save], there,
      `No search for ${described()}. There are searches for ${searchedPlaces()}.`);
    const maps = rows.filter((row) => row.setting_y !== null);
    scale.hidden = maps.length === 0;
    const range = extent(maps.map((row) => row.value));
    showScale(scale, SEQUENTIAL, range, "nominal return");
    await panels.show(searchPanels(rows, range));
  });
}

/** Searches of the task and agent, with the δ of the methods compared. */
function searchRows(from, task, agent) {
  const rows = from.where({ task, agent });
  if (selection.compare === "every") return rows;
  const deltas = selection.compare === "players" ? [0, 0.1] : [selection.delta];
  return rows.filter((row) => row.delta === null || deltas.includes(row.delta));
}

function searchedPlaces() {
  const rows = table("searches").where({});
  const places = unique(rows.map((x) => `${x.task} (${agentName(x.agent)}, δ = ${x.delta})`));
  return places.slice(0, 6).join(", ") + (places.length > 6 ? " and others" : "");
}

function searchPanels(rows, range) {
  const keyOf = (x) => JSON.stringify([x.study, x.solver, x.delta, x.fixed, x.setting_x, x.setting_y]);
  const severalStudies = unique(rows.map((row) => row.study)).length > 1;
  const severalDeltas = unique(rows.map((row) => row.delta)).length > 1;
  return [...groupBy(rows, keyOf).values()].map((own) => {
    const head = searchName(own[0], severalStudies, severalDeltas);
    const drawn = own[0].setting_y === null ? searchLine(own, head) : searchMap(own, range, head);
    return { head: [head], label: `Search: ${head}`, ...drawn };
  });
}

function searchName(row, withStudy, withDelta) {
  const solver = solverLook(row.solver)?.label ?? row.solver;
  const parts = [solver, withDelta ? `δ = ${row.delta}` : "", row.fixed, withStudy ? row.study : ""];
  return parts.filter((part) => part).join(", ");
}

function searchHover(head) {
  return (row) =>
    hoverLines(head, `${row.setting_x} ${exact(row.x)}`,
      row.setting_y === null ? null : `${row.setting_y} ${exact(row.y)}`,
      `nominal return ${exact(row.value)}`, seedLine(row), counted(row.seeds, "seed"),
      row.chosen ? "chosen" : null, row.paper ? "the paper's value" : null);
}

function searchMap(rows, range, head) {
  const grid = crossed(rows);
  return {
    traces: [
      heatmap(grid, "value", SEQUENTIAL, range, searchHover(head)),
      ...searchMarks(rows, grid.placeOf),
    ],
    layout: {
      height: 300, showlegend: false, margin: PANEL_MARGIN,
      xaxis: cellAxis(rows[0].setting_x, grid.xs, MOST_NAMED),
      yaxis: cellAxis(rows[0].setting_y, grid.ys, MOST_NAMED),
    },
  };
}

function searchLine(rows, head) {
  const sorted = [...rows].sort((one, other) => one.x - other.x);
  const xs = unique(sorted.map((row) => row.x));
  const look = { ...(solverLook(rows[0].solver) ?? meta.styles.further[0]), name: head };
  const many = xs.length > MOST_NAMED && xs[0] > 0;
  const across = (row) => (many ? row.x : xs.indexOf(row.x));
  const bounded = sorted.map((row) => ({ ...row, place: across(row) }));
  const line = curve(bounded, "place", "value", look, searchHover(head));
  if (many) line.marker.size = 5;
  const place = (row) => [across(row), row.value];
  const named = rows[0].setting_x;
  return {
    traces: [...(hasFewSeeds(rows) ? [] : band(bounded, "place", look)), { ...line, kind: "line" }, ...searchMarks(rows, place)],
    layout: {
      height: 300, showlegend: false, margin: PANEL_MARGIN,
      xaxis: many
        ? axis(named, { type: "log", dtick: 1, exponentformat: "power" })
        : cellAxis(named, xs, MOST_NAMED),
      yaxis: axis("nominal return"),
    },
  };
}

/** Up to so many values of a setting are named on its axis; more are on a logarithmic one. */
const MOST_NAMED = 8;

/** The chosen cell and the paper's. */
function searchMarks(rows, place) {
  const marks = (wanted, name, marker) => ({
    type: "scatter", mode: "markers", hoverinfo: "skip", kind: name,
    x: wanted.map((row) => place(row)[0]), y: wanted.map((row) => drawable(place(row)[1])), marker,
  });
  return [
    marks(rows.filter((row) => row.paper), "paper",
      { symbol: "circle-open", size: 26, color: pageColor("mark"), line: { width: 3, color: pageColor("mark") } }),
    marks(rows.filter((row) => row.chosen), "chosen",
      { symbol: "star", size: 15, color: "#ffffff", line: { width: 1.5, color: "#000000" } }),
  ];
}
