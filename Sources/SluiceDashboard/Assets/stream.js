// A shared worker: one stream of events for all pages of a browser. Browsers allow six connections to a server, and
// each stream takes one, so with streams of their own a seventh window would not load.
"use strict";
const pages = new Set();
let stream = null;

function report(message) {
  for (const page of pages) page.postMessage(message);
}

function listen(url) {
  stream = new EventSource(url);
  stream.addEventListener("snapshot", () => report("snapshot"));
  stream.addEventListener("beat", () => report("beat"));
  stream.onerror = () => {
    // A refused stream is not tried again by the browser.
    if (stream && stream.readyState === EventSource.CLOSED) close();
    report("cut");
  };
}

function close() {
  stream?.close();
  stream = null;
}

self.onconnect = (event) => {
  const page = event.ports[0];
  page.onmessage = ({ data }) => {
    if (data.listen) {
      pages.add(page);
      if (stream && stream.readyState === EventSource.OPEN) page.postMessage("snapshot");
      if (!stream) listen(data.listen);
    } else {
      pages.delete(page);
      if (pages.size === 0) close();
    }
  };
};
