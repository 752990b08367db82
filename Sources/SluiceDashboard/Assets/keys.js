// Shortcuts, and suggestions in the query box. Pages are complete without this script.
"use strict";
(() => {
  const most = 12;
  const pages = { v: "Overview", o: "Operations", q: "Queues", w: "Workers", e: "Events", d: "Doctor" };
  const help = [
    ["g o", "operations"], ["g q", "queues"], ["g w", "workers"], ["g v", "overview"], ["g e", "events"], ["g d", "doctor"],
    ["/", "the query, here or of the operations"], ["j k", "next, previous row"], ["Enter", "open the row"], ["x", "mark the row"],
    ["?", "this help"],
  ];

  function make(name, text, attributes = {}) {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  // Shortcuts

  let isGoing = false;

  function linkTo(title) {
    return [...document.querySelectorAll("header nav a")].find((link) => link.textContent === title);
  }

  // A page without a query box leads to the box of the operations.
  function find() {
    const box = document.getElementById("query");
    const operations = linkTo("Operations");
    if (box) box.focus();
    else if (operations) location.href = operations.href + "#query";
  }

  function rows() {
    return [...document.querySelectorAll("#page tbody tr")].filter((row) => row.querySelector("a"));
  }

  function current() {
    return document.activeElement?.closest("#page tbody tr");
  }

  function move(step) {
    const all = rows();
    const index = all.indexOf(current());
    const next = all[index < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(index + step, 0), all.length - 1)];
    const link = next?.querySelector("a.id, a");
    link?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  function showHelp() {
    let dialog = document.getElementById("help");
    if (!dialog) {
      dialog = make("dialog", "", { id: "help", "aria-label": "Shortcuts" });
      dialog.append(make("h2", "Shortcuts"));
      const list = make("dl", "", { class: "facts" });
      for (const [keys, text] of help) {
        const term = make("dt", "");
        term.append(make("kbd", keys));
        list.append(term, make("dd", text));
      }
      const form = make("form", "", { method: "dialog" });
      form.append(make("button", "Close"));
      dialog.append(list, form);
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  }

  function act(key) {
    if (isGoing) {
      isGoing = false;
      if (pages[key]) linkTo(pages[key])?.click();
      return pages[key] !== undefined;
    }
    switch (key) {
      case "g": isGoing = true; setTimeout(() => { isGoing = false; }, 1500); return true;
      case "/": find(); return true;
      case "?": showHelp(); return true;
      case "j": move(1); return true;
      case "k": move(-1); return true;
      case "x": current()?.querySelector("input[type=checkbox]")?.click(); return true;
      default: return false;
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog")) return;
    if (act(event.key)) event.preventDefault();
  });

  // Suggestions

  const box = document.querySelector("input[data-suggest]");
  if (!box) return;
  let words = null;
  let chosen = -1;
  const list = make("ul", "", { id: "suggestions", role: "listbox", hidden: "" });
  box.after(list);
  for (const [key, value] of Object.entries({ role: "combobox", "aria-controls": "suggestions", "aria-autocomplete": "list", "aria-expanded": "false" })) {
    box.setAttribute(key, value);
  }

  async function load() {
    if (words) return;
    try {
      const response = await fetch(box.dataset.suggest, { cache: "no-store" });
      if (response.ok) words = await response.json();
    } catch (error) {
      // Without an answer there are no suggestions.
    }
  }

  // The word before the cursor: its start, the field, and the part that is being typed.
  function typed() {
    const text = box.value.slice(0, box.selectionStart);
    const start = text.search(/\S*$/);
    const word = text.slice(start).replace(/^[-!]/, "");
    const colon = word.indexOf(":");
    if (colon < 0) return { at: text.length - word.length, field: null, part: word };
    const value = word.slice(colon + 1);
    const part = value.slice(value.lastIndexOf(",") + 1);
    return { at: text.length - part.length, field: word.slice(0, colon).toLowerCase(), part };
  }

  function quoted(value) {
    return /[\s",:*'\\]|^[-!<>=]/.test(value) ? '"' + value.replace(/[\\"]/g, "\\$&") + '"' : value;
  }

  function matches() {
    const { field, part } = typed();
    if (!words || (field === null && part === "")) return [];
    const known = field === null ? words.fields : Object.hasOwn(words.values, field) ? words.values[field] : [];
    const start = part.replace(/^["']/, "").toLowerCase();
    return known.filter((word) => word.toLowerCase().startsWith(start) && word !== part).slice(0, most)
      .map((word) => (field === null ? word : quoted(word)));
  }

  function close() {
    list.hidden = true;
    chosen = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function show() {
    const found = matches();
    if (found.length === 0) return close();
    chosen = -1;
    list.replaceChildren(...found.map((word, index) => make("li", word, { role: "option", id: "suggestion-" + index })));
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    box.removeAttribute("aria-activedescendant");
  }

  function choose(step) {
    const options = [...list.children];
    chosen = (chosen + step + options.length + (chosen < 0 && step < 0 ? 1 : 0)) % options.length;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === chosen)));
    options[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", options[chosen].id);
  }

  function take(text) {
    const { at } = typed();
    const rest = box.value.slice(box.selectionStart);
    const end = text.endsWith(":") || text.endsWith(".") ? "" : " ";
    box.value = box.value.slice(0, at) + text + end + rest;
    box.selectionStart = box.selectionEnd = at + text.length + end.length;
    box.focus();
    show();
  }

  box.addEventListener("focus", load);
  box.addEventListener("input", async () => { await load(); show(); });
  box.addEventListener("blur", () => setTimeout(close, 150));
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape" && list.hidden) box.blur();
    if (event.key === "ArrowDown" && list.hidden) load().then(show);
    if (list.hidden) return;
    switch (event.key) {
      case "ArrowDown": choose(1); break;
      case "ArrowUp": choose(-1); break;
      case "Escape": close(); break;
      case "Enter":
      case "Tab":
        if (chosen < 0) return close();
        take(list.children[chosen].textContent);
        break;
      default: return;
    }
    event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => {
    const option = event.target.closest("li");
    if (!option) return;
    event.preventDefault();
    take(option.textContent);
  });
})();
