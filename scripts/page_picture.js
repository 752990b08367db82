// An expression with the open page as an SVG: boxes, borders, drawings, and text as it is laid out. scripts/pictures
// evaluates it in the browser. A picture in text form shows what changed, and needs no binary file.
((height) => {
  const svg = "http://www.w3.org/2000/svg";
  const round = (value) => Math.round(value * 10) / 10;
  const make = (name, attributes) => {
    const element = document.createElementNS(svg, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, typeof value === "number" ? round(value) : value);
    return element;
  };
  const isClear = (color) => !color || color === "transparent" || /, 0\)$/.test(color);
  const width = document.documentElement.clientWidth;
  const end = Math.min(height, document.documentElement.scrollHeight);
  const picture = make("svg", { xmlns: svg, viewBox: `0 0 ${width} ${end}`, "font-family": "DejaVu Sans, Verdana, sans-serif" });
  picture.append(make("rect", { width, height: end, fill: getComputedStyle(document.body).backgroundColor }));

  const box = (element, style) => {
    const at = element.getBoundingClientRect();
    const place = { x: at.left, y: at.top, width: at.width, height: at.height };
    const border = parseFloat(style.borderTopWidth);
    const isFramed = border > 0 && parseFloat(style.borderLeftWidth) > 0 && !isClear(style.borderTopColor);
    if (!isClear(style.backgroundColor) || isFramed) {
      const paint = { ...place, fill: isClear(style.backgroundColor) ? "none" : style.backgroundColor };
      if (parseFloat(style.borderTopLeftRadius) > 0) paint.rx = parseFloat(style.borderTopLeftRadius);
      if (isFramed) Object.assign(paint, { stroke: style.borderTopColor, "stroke-width": border });
      picture.append(make("rect", paint));
    }
    if (isFramed) return;
    const line = (side, x1, y1, x2, y2) => {
      const thickness = parseFloat(style[`border${side}Width`]);
      const color = style[`border${side}Color`];
      if (thickness > 0 && !isClear(color) && style[`border${side}Style`] !== "none") {
        picture.append(make("line", { x1, y1, x2, y2, stroke: color, "stroke-width": thickness }));
      }
    };
    line("Top", at.left, at.top, at.right, at.top);
    line("Bottom", at.left, at.bottom, at.right, at.bottom);
    line("Left", at.left, at.top, at.left, at.bottom);
    line("Right", at.right, at.top, at.right, at.bottom);
  };

  // A text node has a line for each row of its layout.
  const text = (node, style, edge) => {
    const range = document.createRange();
    const lines = [];
    for (let index = 0; index < node.length; index += 1) {
      range.setStart(node, index);
      range.setEnd(node, index + 1);
      const at = range.getClientRects()[0];
      if (!at || at.width === 0) continue;
      const [last, isSpace] = [lines.at(-1), /\s/.test(node.data[index])];
      if (!last || Math.abs(last.top - at.top) >= 2) {
        // An SVG drops a space at the beginning.
        if (!isSpace) lines.push({ words: node.data[index], left: at.left, right: at.right, top: at.top, bottom: at.bottom });
      } else if (at.right > edge) {
        last.words = last.words.slice(0, -1) + "…";
        break;
      } else {
        last.words += node.data[index];
        if (!isSpace) last.right = at.right;
      }
    }
    for (const line of lines) {
      const words = line.words.replace(/\s+/g, " ").trim();
      if (line.top > end) continue;
      const size = parseFloat(style.fontSize);
      const element = make("text", {
        x: line.left, y: (line.top + line.bottom) / 2 + size * 0.35, "font-size": size, fill: style.color,
        textLength: line.right - line.left, lengthAdjust: "spacingAndGlyphs",
      });
      if (Number(style.fontWeight) >= 600) element.setAttribute("font-weight", "bold");
      if (/mono/i.test(style.fontFamily)) element.setAttribute("font-family", "DejaVu Sans Mono, Menlo, monospace");
      element.textContent = words;
      picture.append(element);
    }
  };

  const painted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "text-anchor"];
  const drawing = (element) => {
    const at = element.getBoundingClientRect();
    const copy = element.cloneNode(true);
    const parts = [...copy.querySelectorAll("*")];
    [...element.querySelectorAll("*")].forEach((original, index) => {
      const style = getComputedStyle(original);
      for (const name of painted) parts[index].setAttribute(name, style.getPropertyValue(name));
      parts[index].removeAttribute("class");
    });
    for (const title of copy.querySelectorAll("title")) title.remove();
    for (const [key, value] of Object.entries({ x: at.left, y: at.top, width: at.width, height: at.height })) copy.setAttribute(key, round(value));
    copy.removeAttribute("class");
    picture.append(copy);
  };

  const progress = (element) => {
    const at = element.getBoundingClientRect();
    const place = { x: at.left, y: at.top + at.height / 2 - 2, width: at.width, height: 4, rx: 2 };
    picture.append(make("rect", { ...place, fill: "rgb(128, 128, 128)", "fill-opacity": 0.35 }));
    picture.append(make("rect", { ...place, width: at.width * element.position, fill: getComputedStyle(element).accentColor }));
  };

  const walk = (element, edge) => {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.getBoundingClientRect().top > end) return;
    const style = getComputedStyle(element);
    if (element.localName === "svg") return drawing(element);
    if (element.localName === "progress") return progress(element);
    const at = element.getBoundingClientRect();
    // What is clipped to nothing is for screen readers.
    if (at.width <= 1 || at.height <= 1) return;
    box(element, style);
    if (style.overflowX !== "visible") edge = Math.min(edge, at.right);
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) text(child, style, edge);
      if (child.nodeType === Node.ELEMENT_NODE) walk(child, edge);
    }
  };
  scrollTo(0, 0);
  for (const child of document.body.children) walk(child, width);
  return new XMLSerializer().serializeToString(picture).replaceAll("><", ">\n<") + "\n";
})
