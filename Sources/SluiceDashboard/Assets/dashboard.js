// Keeps the content of a page current. Pages are complete without this script.
"use strict";
(() => {
  const { stream: streamURL, worker: workerURL } = document.currentScript.dataset;
  const badge = document.getElementById("badge");
  const badgeState = document.getElementById("badge-state");
  const badgeText = document.getElementById("badge-text");
  const outage = document.getElementById("outage");
  const icon = document.querySelector("link[rel=icon]");
  const pause = document.getElementById("pause");
  const pollMilliseconds = 5000;
  // Without a message for this time, the stream counts as cut: the server sends one every 10 seconds at least.
  const silenceMilliseconds = 15000;

  // When the shown data was read, why Redis gave no newer data, and why the dashboard gave no newer page.
  let shown = 0;
  let failure = "";
  let silence = "";
  let way = "read";
  let isPaused = false;
  let isFetching = false;
  let stream = null;
  let tag = { address: "", value: "" };
  let heardAt = 0;
  let pollTimer = 0;

  const main = () => document.getElementById("page");

  function takeAge() {
    shown = Date.now() - Number(main().dataset.age);
    failure = main().dataset.failure;
    silence = "";
    document.title = main().dataset.title;
    if (icon.getAttribute("href") !== main().dataset.icon) icon.href = main().dataset.icon;
  }

  function durationText(seconds) {
    if (seconds < 10) return seconds.toFixed(1) + "s";
    const whole = Math.round(seconds);
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
    return hours > 0 ? hours + "h" + minutes + "m" : minutes > 0 ? minutes + "m" + (whole % 60) + "s" : whole + "s";
  }

  function clockText(time) {
    return new Date(time).toISOString().slice(11, 19) + " UTC";
  }

  function showBadge() {
    // A page that says why it has no data, such as that of an operation that was removed.
    badge.hidden = main().dataset.age === "";
    if (badge.hidden) {
      showOutage("");
      pause.hidden = true;
      return;
    }
    const age = durationText(Math.max(0, Date.now() - shown) / 1000);
    const isLive = main().dataset.live === "yes";
    const state = isPaused ? "paused" : silence ? "offline" : failure ? "stale" : isLive ? way : "read";
    if (!isLive) pause.hidden = true;
    const isOld = state === "offline" || state === "stale";
    badge.className = "badge " + state;
    // A screen reader reads each change of the state.
    if (badgeState.textContent !== state) badgeState.textContent = state;
    badgeText.textContent = isOld ? "data " + age + " old" : age + " ago";
    badge.title = silence || failure || "Read at " + clockText(shown);
    showOutage(silence && !isPaused ? silence + " This page shows the state of " + clockText(shown) + ". The page tries again by itself." : "");
  }

  function showOutage(text) {
    outage.hidden = text === "";
    if (outage.textContent !== text) outage.textContent = text;
  }

  // Content stays while someone works with it: a selection, a focused field, or the pointer over a list.
  function isInUse(element) {
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && element.contains(selection.anchorNode)) return true;
    const focused = document.activeElement;
    if (focused && element.contains(focused) && focused.matches("input, textarea, select")) return true;
    return element.dataset.hold === "yes" && element.querySelector("tbody:hover") !== null;
  }

  function parsed(html) {
    const page = new DOMParser().parseFromString(html, "text/html").getElementById("page");
    if (!page) throw new Error("the answer is no page of the dashboard");
    return page;
  }

  function replace(html) {
    const old = main();
    const next = parsed(html);
    for (const details of old.querySelectorAll("details[id]")) {
      const same = next.querySelector("#" + CSS.escape(details.id));
      if (same) same.open = details.open;
    }
    for (const box of old.querySelectorAll("input[type=checkbox]:checked")) {
      const same = [...next.querySelectorAll("input[type=checkbox]")].find((other) => other.name === box.name && other.value === box.value);
      if (same) same.checked = true;
    }
    const focused = document.activeElement && old.contains(document.activeElement) ? pathOf(document.activeElement, old) : null;
    keepLog(old, next);
    // A log that shows its end goes on showing its end.
    const scrolled = [...old.querySelectorAll("pre, .scroll")].map((part) => [part.scrollLeft, isAtEnd(part) ? 1e9 : part.scrollTop]);
    old.replaceWith(document.adoptNode(next));
    next.querySelectorAll("pre, .scroll").forEach((part, index) => {
      if (scrolled[index]) [part.scrollLeft, part.scrollTop] = scrolled[index];
    });
    if (focused) at(focused, next)?.focus({ preventScroll: true });
    prepare(next);
  }

  // Rows of a list stay where they are. Only the cells that the server sent again change.
  function refreshRows(html) {
    const old = main();
    const next = parsed(html);
    const rows = new Map(listRows(old).map((row) => [rowLink(row), row]));
    for (const fresh of listRows(next)) {
      const row = rows.get(rowLink(fresh));
      if (!row || row.matches(":hover")) continue;
      for (const cell of fresh.cells) {
        const place = [...row.cells].find((known) => known.dataset.label === cell.dataset.label);
        if (!place || place.classList.contains("id") || place.innerHTML === cell.innerHTML) continue;
        place.className = cell.className;
        place.replaceChildren(...[...cell.childNodes].map((node) => document.adoptNode(node)));
      }
    }
    const totals = next.querySelectorAll(".tabs .total");
    old.querySelectorAll(".tabs .total").forEach((total, index) => {
      if (totals[index]) total.textContent = totals[index].textContent;
    });
    const news = next.querySelector("#news");
    const place = old.querySelector("#news");
    if (news && place && news.textContent !== place.textContent) place.replaceWith(document.adoptNode(news));
    for (const name of ["age", "failure", "sequence", "title", "icon"]) old.dataset[name] = next.dataset[name];
  }

  function listRows(root) {
    return [...root.querySelectorAll("tbody tr")].filter(rowLink);
  }

  function rowLink(row) {
    return row.querySelector("td a.id")?.getAttribute("href");
  }

  function address() {
    const rows = main().dataset.rows;
    if (!rows) return location.href;
    const url = new URL(rows, location.href);
    const names = listRows(main()).map((row) => {
      const link = new URL(rowLink(row), location.href);
      return link.searchParams.get("queue") + "/" + link.pathname.split("/").pop();
    });
    url.searchParams.set("rows", names.join(" "));
    return url.href;
  }

  function isAtEnd(part) {
    return part.classList.contains("log") && part.scrollTop + part.clientHeight >= part.scrollHeight - 4;
  }

  function pathOf(element, root) {
    const path = [];
    for (let node = element; node !== root; node = node.parentNode) path.unshift([...node.parentNode.children].indexOf(node));
    return path;
  }

  function at(path, root) {
    return path.reduce((node, index) => node?.children[index], root);
  }

  async function refresh() {
    if (isFetching || isPaused || document.hidden) return;
    if (main().dataset.live !== "yes") return;
    if (isInUse(main())) return;
    isFetching = true;
    try {
      const from = address();
      const headers = { "Sluice-Fragment": "1" };
      if (tag.address === from && tag.value) headers["If-None-Match"] = tag.value;
      const response = await fetch(from, { headers, cache: "no-store" });
      silence = "";
      if (response.status === 304) return;
      // A redirect leads to a login page, of the dashboard or of a proxy.
      if (response.status === 401 || response.redirected) return location.reload();
      if (response.status >= 500) throw new Error(response.statusText || "status " + response.status);
      const html = await response.text();
      if (!isPaused && !isInUse(main())) {
        if (main().dataset.rows) refreshRows(html);
        else replace(html);
        tag = { address: from, value: response.headers.get("ETag") };
        takeAge();
      }
    } catch (error) {
      silence = error instanceof TypeError ? "The dashboard does not answer." : "The dashboard cannot read this page: " + error.message + ".";
    } finally {
      isFetching = false;
      showBadge();
    }
  }

  function listen() {
    if (stream || isPaused || document.hidden) return;
    heardAt = Date.now();
    stream = window.SharedWorker ? sharedStream() : ownStream();
  }

  function hear() {
    heardAt = Date.now();
    way = "live";
    stopPolling();
    refresh();
  }

  function beat() {
    heardAt = Date.now();
  }

  function lose() {
    way = "polling";
    startPolling();
  }

  // All pages of a browser share one stream. A worker that cannot start leaves the page with a stream of its own.
  function sharedStream() {
    const worker = new SharedWorker(workerURL);
    const { port } = worker;
    port.onmessage = ({ data }) => (data === "snapshot" ? hear() : data === "beat" ? beat() : lose());
    worker.onerror = () => {
      if (stream?.port === port) stream = ownStream();
    };
    port.postMessage({ listen: streamURL });
    return {
      port,
      close() {
        port.postMessage({});
        port.close();
      },
    };
  }

  function ownStream() {
    const own = new EventSource(streamURL);
    own.addEventListener("snapshot", hear);
    own.addEventListener("beat", beat);
    own.onerror = () => {
      lose();
      // A refused stream is not tried again by the browser.
      if (stream === own && own.readyState === EventSource.CLOSED) close();
    };
    return own;
  }

  function close() {
    stream?.close();
    stream = null;
  }

  function startPolling() {
    if (!pollTimer) pollTimer = setInterval(refresh, pollMilliseconds);
  }

  function stopPolling() {
    clearInterval(pollTimer);
    pollTimer = 0;
  }

  function watch() {
    showBadge();
    if (isPaused || document.hidden) return;
    if (stream && Date.now() - heardAt > silenceMilliseconds) {
      close();
      way = "polling";
      startPolling();
    }
    if (!stream && Date.now() - heardAt > silenceMilliseconds) listen();
  }

  // Controls that do nothing without this script are hidden in the page.
  function prepare(root) {
    for (const control of root.querySelectorAll("button.copy, button.follow, input.all")) control.hidden = false;
    showFollowing(root);
    showMarks(root);
  }

  // The buttons for marked operations need a mark. The box in the head of a table marks all rows that are shown.

  function markBoxes(form) {
    return [...form.querySelectorAll("tbody input[type=checkbox]")];
  }

  function showMarks(root) {
    const form = root.querySelector("form.marks");
    if (!form) return;
    const boxes = markBoxes(form);
    const marked = boxes.filter((box) => box.checked).length;
    const isForAll = form.querySelector("input[name=scope][value=all]")?.checked ?? false;
    const buttons = form.querySelectorAll("button[name=action], button[formaction]");
    for (const button of buttons) button.disabled = marked === 0 && !isForAll;
    const status = form.querySelector(".marked");
    const text = marked === 0 ? "none marked" : marked + " marked";
    status.hidden = false;
    if (status.textContent !== text) status.textContent = text;
    const toggle = form.querySelector("button.mark-all");
    toggle.hidden = false;
    toggle.textContent = marked === 0 ? "Mark all shown" : "Clear marks";
    const head = form.querySelector("input.all");
    if (!head) return;
    head.checked = marked > 0 && marked === boxes.length;
    head.indeterminate = marked > 0 && marked < boxes.length;
  }

  function markAll(form, isOn) {
    for (const box of markBoxes(form)) box.checked = isOn;
    showMarks(document);
  }

  // The log follows its operation until the button is pressed or the log is scrolled up. Then nothing in it moves.

  let isFollowing = true;
  let isHeld = false;

  function keepLog(old, next) {
    const [log, fresh] = [old.querySelector("pre.log"), next.querySelector("pre.log")];
    if (isFollowing || !log || !fresh) return;
    const added = Number(fresh.dataset.end) - Number(log.dataset.end);
    next.querySelector(".follow-news").textContent = added > 0 ? added + (added === 1 ? " new line" : " new lines") : "";
    fresh.replaceWith(log);
  }

  function showFollowing(root) {
    const button = root.querySelector("button.follow");
    if (!button) return;
    button.setAttribute("aria-pressed", String(!isFollowing));
    button.textContent = isFollowing ? "Stop following" : "Follow";
    if (isFollowing) root.querySelector(".follow-news").textContent = "";
  }

  function follow(isOn) {
    if (isFollowing === isOn) return;
    isFollowing = isOn;
    showFollowing(main());
    if (!isOn) return;
    for (const log of main().querySelectorAll("pre.log")) log.scrollTop = log.scrollHeight;
    tag = { address: "", value: "" };
    refresh();
  }

  document.addEventListener("scroll", ({ target }) => {
    if (!(target instanceof Element) || !target.matches("pre.log") || !main().querySelector("button.follow")) return;
    if (!isAtEnd(target)) follow(false);
    else if (!isHeld) follow(true);
  }, true);

  // The current entry of a navigation that is wider than the screen.
  function showCurrent() {
    for (const bar of document.querySelectorAll("nav")) {
      const current = bar.querySelector("[aria-current]");
      if (current) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
    }
  }
  showCurrent();
  addEventListener("resize", showCurrent);

  async function copy(button) {
    const text = button.dataset.copy;
    let isCopied = false;
    try {
      await navigator.clipboard.writeText(text);
      isCopied = true;
    } catch (error) {
      // Without HTTPS there is no clipboard. Selecting the text lets the user copy it.
      const field = document.createElement("textarea");
      field.value = text;
      field.setAttribute("readonly", "");
      document.body.append(field);
      field.select();
      isCopied = document.execCommand("copy");
      field.remove();
    }
    button.textContent = isCopied ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (button) copy(button);
    if (!event.target.closest("button.follow")) return;
    isHeld = isFollowing;
    follow(!isFollowing);
  });

  document.addEventListener("change", ({ target }) => {
    if (target.matches("input.all")) {
      for (const box of target.closest("table").querySelectorAll("tbody input[type=checkbox]")) box.checked = target.checked;
    }
    if (target.closest("form.marks")) showMarks(document);
  });

  document.addEventListener("click", ({ target }) => {
    const button = target.closest("form.marks button.mark-all");
    if (button) markAll(button.form, !markBoxes(button.form).some((box) => box.checked));
  });

  // A browser restores the marks of a page that comes back after its scripts have run.
  addEventListener("pageshow", () => showMarks(document));

  prepare(document);
  for (const log of document.querySelectorAll("pre.log")) log.scrollTop = log.scrollHeight;
  takeAge();
  // A page without updates says how old its data is.
  if (main().dataset.live !== "yes") {
    showBadge();
    setInterval(showBadge, 1000);
    return;
  }
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    pause.textContent = isPaused ? "Resume" : "Pause";
    if (isPaused) {
      close();
      stopPolling();
    } else {
      listen();
      refresh();
    }
    showBadge();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
      stopPolling();
    } else {
      listen();
      refresh();
    }
  });
  // A page that is left, and one that comes back from the browser's memory of pages
  addEventListener("pagehide", close);
  addEventListener("pageshow", listen);
  setInterval(watch, 1000);
  listen();
})();
