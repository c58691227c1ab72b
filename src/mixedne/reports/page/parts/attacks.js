// Who was attacked how: a table for each task, attack and strength.

const ATTACK_COLUMNS = [
  { title: "Method", text: (row) => row.method },
  { title: "No attack", number: true, text: (row) => attackNumber(row, "none") },
  { title: "At random", number: true, text: (row) => attackNumber(row, "random") },
  { title: "Trained attacker", number: true, text: (row) => (isOfAnother(row) ? "" : attackNumber(row, "attacker")) },
  { title: "At most", number: true, text: (row) => (isOfAnother(row) ? "" : brief(atMost(row))) },
  { title: "This attacker", number: true, text: (row) => (isOfAnother(row) ? attackNumber(row, "attacker") : "") },
  { title: "Left", number: true, text: (row) => shareLeft(row) },
  { title: "Seeds", number: true, text: (row) => String(row.seeds) },
];

/** Whether an attacker of some policy, named by its digest, was applied to this one: no search found it. */
function isOfAnother({ attack }) {
  return / by [0-9a-f]{8}$/.test(attack);
}

function attackNumber(row, name) {
  return row[name] === null ? "" : withInterval(row[name], row, `${name}_low`, `${name}_high`);
}

/** The lowest mean return that is known: an attacker may also act at random or, except on parameters, not at all. */
function atMost({ attack, none, random, attacker }) {
  const known = [attacker, random, attack.startsWith("parameters") ? null : none];
  return Math.min(...known.filter((mean) => mean !== null));
}

/** What is left of a return that is above zero. */
function shareLeft(row) {
  if (row.attacker === null || !(row.none > 0)) return "";
  const left = isOfAnother(row) ? row.attacker : atMost(row);
  return left < 0 ? "nothing" : `${Math.round((100 * left) / row.none)} %`;
}

function attacksSection() {
  const title = "Attacks";
  if (meta.rows.attacks === 0) return absent(title, "mixedne attack RUN --on action");
  const section = new Section("attacks", title,
    "Mean return while an attacker acts against the policy; 95 % intervals over training seeds in brackets. At most this good is the policy: the lowest of these means is an upper bound on its worst case, and a better attacker may find worse. As a shift, an attack has its strength on the axis above.");
  const rows = table("attacks").where({});
  const kinds = groupBy(rows, (row) => `${row.task}, attack on ${row.attack}, strength ${brief(row.strength)}`);
  for (const [caption, own] of kinds) {
    section.body.append(element("h3", {}, caption), plainTable(caption, ATTACK_COLUMNS, own));
  }
  section.body.append(csvButton("attacks", () => rows));
  section.node.dataset.state = "drawn";
  return section;
}
