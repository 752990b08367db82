// An expression with the rules that a page of the dashboard breaks, as a list of sentences. scripts/check-pages
// evaluates it in the browser.
((needsCommand) => {
  const found = new Set();
  const name = (element) => {
    const words = [element.localName, ...element.classList].join(".");
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return text ? `${words} "${text}"` : words;
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;

  // Nothing inline and nothing foreign
  for (const element of document.querySelectorAll("[style]")) found.add(`inline style: ${name(element)}`);
  for (const element of document.querySelectorAll("style, script:not([src])")) found.add(`inline ${element.localName}`);
  for (const element of document.querySelectorAll("*")) {
    for (const attribute of element.attributes) {
      if (attribute.name.startsWith("on")) found.add(`inline handler ${attribute.name}: ${name(element)}`);
    }
  }
  for (const element of document.querySelectorAll("[href], [src], [action]")) {
    for (const key of ["href", "src", "action"]) {
      const value = element.getAttribute(key);
      if (value && new URL(value, location.href).origin !== location.origin) found.add(`foreign ${key}: ${value}`);
    }
  }

  // Text of operations is text: scripts/dashboard_site.py puts an element and control characters into it.
  for (const element of document.querySelectorAll("[data-hostile]")) found.add(`markup from an operation: ${element.outerHTML.slice(0, 80)}`);
  const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(node.data)) found.add(`control characters: ${JSON.stringify(node.data.slice(0, 60))}`);
  }

  // Structure
  if (!document.documentElement.lang) found.add("no language");
  if (!document.title.trim()) found.add("no title");
  const headings = document.querySelectorAll("h1");
  if (headings.length !== 1) found.add(`${headings.length} headings of the first level`);
  if (document.querySelectorAll("main").length !== 1) found.add("not one main part");
  if (needsCommand && !document.querySelector("footer .command code")?.textContent.startsWith("sluice ")) found.add("no command line");
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.add(`the id ${id} twice`);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent.trim()) found.add(`a table without a caption: ${name(table)}`);
    if ([...table.querySelectorAll("th")].some((cell) => !cell.scope)) found.add(`a heading without scope: ${table.caption?.textContent}`);
    // Narrow pages leave out columns: a title without its cells would name those of another column.
    const titles = [...(table.tHead?.rows[0]?.cells || [])].filter(isShown).length;
    for (const row of titles ? table.tBodies[0]?.rows || [] : []) {
      const cells = [...row.cells].filter(isShown).reduce((sum, cell) => sum + cell.colSpan, 0);
      if (cells !== titles) found.add(`${cells} cells under ${titles} titles: ${table.caption?.textContent}`);
    }
  }

  // Labels
  const labelOf = (element) => [
    element.getAttribute("aria-label"),
    ...(element.getAttribute("aria-labelledby") || "").split(" ").map((id) => id && document.getElementById(id)?.textContent),
    ...[...(element.labels || [])].map((label) => label.textContent),
  ].find((text) => text && text.trim());
  for (const control of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (control.type === "submit" ? !control.value : !labelOf(control)) found.add(`a control without a label: ${control.localName} ${control.name}`);
  }
  for (const element of document.querySelectorAll("button, a[href], summary")) {
    if (isShown(element) && !element.textContent.trim() && !labelOf(element)) found.add(`a ${element.localName} without a name: ${element.outerHTML.slice(0, 80)}`);
  }
  for (const picture of document.querySelectorAll("img:not([alt]), svg:not([aria-hidden=true]):not([aria-label]):not([role=presentation])")) {
    if (!picture.querySelector(":scope > title")) found.add(`a picture without a text: ${picture.outerHTML.slice(0, 80)}`);
  }
  for (const bar of document.querySelectorAll("progress, meter")) if (!labelOf(bar)) found.add(`a ${bar.localName} without a label`);

  // Width
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll("body *")].filter((element) => {
      for (let parent = element.parentElement; parent && parent !== document.body; parent = parent.parentElement) {
        if (getComputedStyle(parent).overflowX !== "visible") return false;
      }
      return element.getBoundingClientRect().right > root.clientWidth + 1;
    });
    found.add(`scrolls sideways: ${root.scrollWidth} of ${root.clientWidth} px, because of ${wide.slice(0, 3).map(name).join(", ")}`);
  }

  // The outer labels of an axis name its ends. Their texts, since their boxes may be wider
  const text = document.createRange();
  for (const axis of [...document.querySelectorAll(".axis")].filter(isShown)) {
    for (const [label, end] of [[axis.firstElementChild, "left"], [axis.lastElementChild, "right"]]) {
      text.selectNodeContents(label);
      const missing = Math.round(Math.abs(axis.getBoundingClientRect()[end] - text.getBoundingClientRect()[end]));
      if (missing > 1) found.add(`a label ${missing} px away from the ${end} end of its axis: ${axis.textContent}`);
    }
  }

  // Contrast: a canvas turns every notation of a colour into numbers.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const parse = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [red, green, blue, alpha / 255]);
    }
    return known.get(colour);
  };
  const over = (front, back) => [0, 1, 2].map((part) => front[part] * front[3] + back[part] * (1 - front[3])).concat(1);
  const background = (element) => {
    if (!element) return parse(getComputedStyle(root).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "white");
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] >= 1 ? own : over(own, background(element.parentElement));
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.map((part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !isShown(element) || element.closest(".unseen, .skip, script, :disabled")) continue;
    const style = getComputedStyle(element);
    const back = background(element);
    const colour = parse(element instanceof SVGElement ? style.fill : style.color);
    let opacity = 1;
    for (let part = element; part; part = part.parentElement) opacity *= Number(getComputedStyle(part).opacity);
    const front = over([...colour.slice(0, 3), colour[3] * opacity], back);
    const [light, dark] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < needed) found.add(`contrast ${ratio.toFixed(2)} of ${needed}: ${name(element)}`);
  }
  return [...found];
})
