"""The negative control of scripts/check-pages: a server with pages that each break one rule."""
import http.server
import threading

from browser import Browser
from page_check import Check

GOOD = """<!doctype html><html lang=en><head><title>x</title><meta name=viewport content="width=device-width"></head><body><main id=page data-live=no>
<h1>x</h1>{}</main><footer><p class=command><code>sluice x</code></p></footer></body></html>"""
BROKEN = {
    "good": ("", ""),
    "console": ("<script src=/error.js></script>", "console error: broken"),
    "exception": ("<script src=/throw.js></script>", "exception: Error: broken"),
    "missing": ("<img alt=x src=/none.png>", "status 404"),
    "foreign": ("<img alt=x src=http://127.0.0.2:9/x.png>", "request to a foreign host"),
    "policy": ("<script>var x = 1</script>", "ContentSecurityPolicyIssue"),
    "inline": ('<p style="margin: 0">x</p>', "inline style"),
    "contrast": ("<p class=dim>too dim</p>", "contrast"),
    "label": ("<input name=q>", "a control without a label"),
    "wide": ("<p class=wide>x</p>", "scrolls sideways"),
    "hostile": ("<b data-hostile>x</b>", "markup from an operation"),
    "control": ("<p>x\u202ey</p>", "control characters"),
    "titles": ("<table><caption>x</caption><thead><tr><th scope=col>a<th scope=col>b</thead><tbody><tr><td>1</table>", "1 cells under 2 titles"),
    "axis": ("<p class=axis><span>1h ago</span> <span>now</span></p>", "away from the right end of its axis: 1h ago now"),
    "table": ("<table><tr><td>x</td></tr></table>", "a table without a caption"),
}
FILES = {
    "/error.js": ("text/javascript", "console.error('broken')"), "/throw.js": ("text/javascript", "throw new Error('broken')"),
    "/style.css": ("text/css", ".dim { color: #aaa; background: #fff } .wide { width: 900px }"), "/favicon.ico": ("image/svg+xml", "<svg/>"),
}


class BrokenPages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/")
        kind, text = FILES.get(self.path, ("text/html", None))
        if name in BROKEN:
            text = GOOD.format("<link rel=stylesheet href=/style.css>" + BROKEN[name][0])
        self.send_response(200 if text is not None else 404)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src *")
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_):
        pass


def control():
    """Returns the texts of broken pages that were not found."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), BrokenPages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}"
    browser = Browser()
    missed = []
    try:
        check = Check(browser.tab(home), home, is_quiet=True)
        for name, (_, expected) in BROKEN.items():
            check.failures = []
            check.tab.open(f"{home}/{name}")
            check.page(f"{home}/{name}")
            found = [text for _, text in check.failures]
            if not (any(expected in text for text in found) if expected else not found):
                missed.append(f"{name}: expected {expected!r}, found {found}")
    finally:
        browser.end()
        server.shutdown()
    return missed
