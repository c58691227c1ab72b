// Sections of the page. Those near the view are drawn at once, all others as soon as there is time
// or somebody prints, so that nothing is blank in a picture of the whole page. Drawing never waits
// for anything outside of it: what is asked for is drawn before the next event.

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
    drawTheRest();
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

let resting = null;

/** Draw what is stale, section by section, letting the page answer between them. */
function drawTheRest() {
  clearTimeout(resting);
  resting = setTimeout(async () => {
    const next = sections.find((section) => section.stale && !section.busy);
    if (next === undefined) return;
    await next.refresh();
    drawTheRest();
  });
}

const absentParts = [];

/** Remember a part that the report has not, and what would make it; there is no section then. */
function absent(title, text) {
  absentParts.push([title, text]);
  return null;
}

/** One line for every part that the report has not. */
function absentSection() {
  if (absentParts.length === 0) return null;
  const section = new Section("absent", "Not in this report");
  section.body.append(...absentParts.map(([title, text]) =>
    element("div", { class: "absent" }, element("span", {}, title), command(text))));
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
  if (compare === "every") return `${task}, ${agentName(agent)}`;
  const withSac = compare === "agents" ? " and SAC" : "";
  const strength = agent === "sac" || delta === null ? "" : `, δ = ${delta}`;
  return `${task}, ${agentName(agent)}${withSac}${strength}`;
}

function statisticName() {
  return meta.statistics[selection.statistic] ?? selection.statistic ?? "";
}

/** What is known of a shift: label, short name, nominal value, whether its axis is logarithmic. */
function axisOf(name) {
  return meta.axes[name] ?? { label: name ?? "", short: name ?? "", nominal: null, log: false };
}

function axisName(name) {
  return axisOf(name).short;
}

/** Notes that every figure over seeds needs: single seeds and numbers that are none. */
function cautions(rows, placeOf, { hasLines = false } = {}) {
  const notes = [];
  const few = byMethod(rows).filter((x) => hasFewSeeds(x.rows));
  const single = few.filter((x) => x.rows.every((row) => row.seeds === 1)).map((x) => x.look.name);
  const several = few.map((x) => x.look.name).filter((name) => !single.includes(name));
  if (single.length > 0) notes.push(`One seed, so no interval: ${single.join(", ")}.`);
  if (several.length > 0) {
    notes.push(`Fewer than ${meta.bandSeeds} seeds, too few for a band: ${several.join(", ")}.${hasLines ? " Thin lines are single runs." : ""}`);
  }
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
  if (row.seeds === 1) return "one seed: no interval";
  if (row.seeds < meta.intervalSeeds) return "too few seeds for an interval";
  return within === null ? "no interval" : `95 % interval ${within}`;
}

function episodeLine(row) {
  const episodes = `${counted(row.seeds, "seed")}, ${counted(row.episodes, "episode")}`;
  return `${episodes}, ${row.invalid} invalid`;
}
