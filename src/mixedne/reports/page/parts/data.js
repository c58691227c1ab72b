// Tables that travel in the page: unpacking, filtering, and numbers as text.

const meta = JSON.parse(document.getElementById("meta").textContent);

/** A table by columns. Strings are places in a list of words, -1 for null. */
class Table {
  constructor(packed) {
    this.rows = packed.rows;
    this.columns = packed.columns;
    for (const column of Object.values(this.columns)) restoreNumbers(column);
  }

  has(name) {
    return name in this.columns;
  }

  value(name, row) {
    const column = this.columns[name];
    return column.words ? (column.words[column.codes[row]] ?? null) : column[row];
  }

  /** One row as an object. */
  row(row) {
    return Object.fromEntries(Object.keys(this.columns).map((name) => [name, this.value(name, row)]));
  }

  /** The rows in which every named column has the value given, or one of the values. */
  where(conditions) {
    const tests = Object.entries(conditions).map(([name, wanted]) => this.test(name, wanted));
    const found = [];
    for (let row = 0; row < this.rows; row += 1) {
      if (tests.every((test) => test(row))) found.push(this.row(row));
    }
    return found;
  }

  test(name, wanted) {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    const column = this.columns[name];
    if (!column.words) return (row) => values.includes(column[row]);
    const codes = values.map((value) => (value === null ? -1 : column.words.indexOf(value)));
    const known = codes.filter((code, place) => code >= 0 || values[place] === null);
    return (row) => known.includes(column.codes[row]);
  }
}

/** NaN and the infinities are words in JSON. */
function restoreNumbers(column) {
  if (column.words) return;
  for (let row = 0; row < column.length; row += 1) {
    if (typeof column[row] === "string") column[row] = Number(column[row]);
  }
}

const unpacked = new Map();

/** The table of that name; it is unpacked when it is first asked for. */
function table(name) {
  if (!unpacked.has(name)) {
    const text = new TextDecoder().decode(inflate(bytesOf(`table-${name}`)));
    unpacked.set(name, new Table(JSON.parse(text)));
  }
  return unpacked.get(name);
}

/** The bytes that an element holds in base64. */
function bytesOf(id) {
  const letters = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
  return bytes;
}

function unique(values) {
  return [...new Set(values)];
}

/** Rows by the value of a function, in order of appearance. */
function groupBy(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

/** A number with all its digits. */
function exact(number) {
  if (number === null || number === undefined) return "none";
  return Number.isNaN(number) ? "invalid" : String(number).replace("-", "−");
}

/** A number with four significant digits, to be read in a table. */
function brief(number) {
  if (number === null || number === undefined) return "none";
  return Number.isNaN(number) ? "invalid" : exact(Number(number.toPrecision(4)));
}

/** The least and the greatest finite number; a little apart if they are equal. */
function extent(numbers) {
  let [low, high] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (!Number.isFinite(number)) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  if (low > high) return [0, 1];
  return low === high ? [low - 1, high + 1] : [low, high];
}

function interval(row) {
  if (row.low === null || row.high === null) return null;
  return `${exact(row.low)} to ${exact(row.high)}`;
}

function counted(count, word, several = `${word}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? word : several}`;
}

/** What Plotly may be given for a coordinate: it leaves a gap at null. */
function drawable(number) {
  return Number.isFinite(number) ? number : null;
}

function csv(rows) {
  if (rows.length === 0) return "";
  const names = Object.keys(rows[0]);
  const lines = rows.map((row) => names.map((name) => csvCell(row[name])).join(","));
  return [names.map(csvCell).join(","), ...lines, ""].join("\n");
}

function csvCell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
