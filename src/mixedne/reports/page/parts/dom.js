// Building the page. Text enters as text only, never as HTML.

/** An element with attributes, listeners (on…) and children; strings become text. */
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(key, value === true ? "" : value);
    }
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function replaceChildren(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null));
}

/** A labelled native select that writes its choice into the selection. */
class SelectBox {
  constructor(key, label) {
    this.key = key;
    this.select = element("select", {
      id: `select-${key}`,
      onchange: () => choose({ [key]: this.values[this.select.selectedIndex] }),
    });
    this.node = element(
      "div",
      { class: "choice" },
      element("label", { for: `select-${key}` }, label),
      this.select,
    );
    this.values = [];
  }

  /** Offer pairs of value and text; hidden if there is nothing to choose and it may be. */
  show(options, chosen, { hideSingle = false, disabled = false } = {}) {
    const texts = options.map(([, text]) => text);
    if (texts.join("\n") !== [...this.select.options].map((x) => x.text).join("\n")) {
      this.select.replaceChildren(...texts.map((text) => element("option", {}, text)));
    }
    this.values = options.map(([value]) => value);
    this.select.selectedIndex = this.values.indexOf(chosen);
    this.select.disabled = disabled || options.length === 0;
    this.node.hidden = options.length === 0 || (hideSingle && options.length < 2);
  }
}

/** A labelled checkbox that writes "on" or "off" into the selection. */
class Switch {
  constructor(key, label) {
    this.input = element("input", {
      type: "checkbox",
      id: `switch-${key}`,
      onchange: () => choose({ [key]: this.input.checked ? "on" : "off" }),
    });
    this.node = element(
      "div",
      { class: "switch" },
      this.input,
      element("label", { for: `switch-${key}` }, label),
    );
  }

  show(on, there) {
    this.input.checked = on;
    this.node.hidden = !there;
  }
}

function download(content, name, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A button that saves the rows shown, as they are in the table. */
function csvButton(name, rows) {
  const save = () => download(csv(rows()), `${name}.csv`, "text/csv");
  return element("button", { type: "button", class: "quiet csv", onclick: save }, "Save CSV");
}

/** A command, with a button that copies it. */
function command(text) {
  const code = element("code", {}, text);
  const copy = () => {
    getSelection().selectAllChildren(code);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  };
  const button = element("button", { type: "button", class: "quiet", onclick: copy }, "Copy");
  return element("div", { class: "command" }, code, button);
}
