// Sections of the page: each is drawn when it comes near the view, and again when it must change.

const NEAR = "400px 0px";

const sections = [];

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const section = sections.find((x) => x.node === entry.target);
      section.near = entry.isIntersecting;
      if (section.near) section.refresh();
    }
  },
  { rootMargin: NEAR },
);

/** A heading, a sentence, and what `update` fills in. */
class Section {
  constructor(id, title, intro) {
    this.near = false;
    this.stale = true;
    this.busy = false;
    this.title = title;
    this.body = element("div", { class: "body" });
    this.node = element(
      "section",
      { id, "aria-labelledby": `${id}-title`, "data-state": "new" },
      element("h2", { id: `${id}-title` }, title),
      intro ? element("p", { class: "intro" }, intro) : null,
      this.body,
    );
  }

  /** Watch the section; `update` is called when there is something to draw. */
  drawnBy(update) {
    this.update = update;
    this.node.classList.add("drawn");
    sections.push(this);
    watcher.observe(this.node);
    return this;
  }

  invalidate() {
    this.stale = true;
    if (this.node.dataset.state !== "new") this.node.dataset.state = "waiting";
    if (this.near) this.refresh();
  }

  async refresh() {
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.stale) {
        this.stale = false;
        await this.update();
      }
      this.node.dataset.state = "drawn";
      writeAddress();
    } catch (error) {
      this.node.dataset.state = "failed";
      replaceChildren(this.body, element("p", { class: "missing" }, "This could not be drawn."));
      throw error;
    } finally {
      this.busy = false;
    }
  }
}

/** A section that says what is missing and what would make it. */
function missingSection(id, title, sentence, text) {
  const section = new Section(id, title);
  section.body.append(element("p", { class: "missing" }, sentence), command(text));
  section.node.dataset.state = "drawn";
  return section;
}

/** Show either what there is or, in a sentence, that there is nothing for this selection. */
function showOrSay(section, parts, there, sentence) {
  section.nothing ??= element("p", { class: "missing" });
  section.nothing.textContent = sentence;
  if (!section.nothing.isConnected) section.body.prepend(section.nothing);
  section.nothing.hidden = there;
  for (const part of parts) part.hidden = !there;
}

/** What is shown, in words. */
function described() {
  const { task, compare, agent, delta } = selection;
  if (compare === "players") return `${task}, ${agentName(agent)}, one player against two`;
  const withSac = compare === "agents" ? " and SAC" : "";
  const strength = agent === "sac" || delta === null ? "" : `, δ = ${delta}`;
  return `${task}, ${agentName(agent)}${withSac}${strength}`;
}

function statisticName() {
  return meta.statistics[selection.statistic] ?? selection.statistic ?? "";
}

function axisName(name) {
  return { noise: "action noise", rho: "ρ" }[name] ?? name;
}

function axisTitle(name) {
  return meta.axes[name] ?? name;
}

/** Notes that every figure over seeds needs: single seeds and numbers that are none. */
function cautions(rows, placeOf) {
  const notes = [];
  const single = unique(rows.filter((row) => row.seeds === 1).map((row) => row.label));
  if (single.length > 0) notes.push(`One seed, so no interval: ${single.join(", ")}.`);
  const invalid = rows.filter((row) => Number.isNaN(row.value));
  if (invalid.length > 0) {
    const places = invalid.slice(0, 6).map((row) => `${row.label} at ${placeOf(row)}`);
    const more = invalid.length > 6 ? ` and ${invalid.length - 6} more` : "";
    notes.push(`Invalid, so without a number: ${places.join("; ")}${more}.`);
  }
  return notes;
}

function seedLine(row) {
  const within = interval(row);
  if (within !== null) return `95 % interval ${within}`;
  return row.seeds === 1 ? "one seed: no interval" : "no interval";
}

function episodeLine(row) {
  const episodes = `${counted(row.seeds, "seed")}, ${counted(row.episodes, "episode")}`;
  return `${episodes}, ${row.invalid} invalid`;
}
