"""The check of a page in a browser, and of all pages that it links to."""
import pathlib
import re
import urllib.parse

from browser import BrowserError

RULES = (pathlib.Path(__file__).resolve().parent / "page_rules.js").read_text()
# The most pages with the same shape of address: other queries, other operations
ALIKE = 3
WIDTHS, THEMES = (1280, 768, 390), ("light", "dark")
# Texts that stand for one of many in a path
ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{32}|[0-9a-f-]{36}")
NOT_PAGES = {"logout", "login", "live"}


class Check:
    def __init__(self, tab, home, pictures=None, is_quiet=False):
        self.tab, self.home, self.pictures, self.is_quiet = tab, home, pictures, is_quiet
        self.failures, self.pages = [], 0
        # Every address that a page has linked to
        self.known = set()

    def fail(self, where, text):
        self.failures.append((where, text))
        if not self.is_quiet:
            print(f"FAIL {where}: {text}", flush=True)

    def take_problems(self, where):
        for text in self.tab.take_problems():
            self.fail(where, text)

    def expect(self, where, what, condition):
        if not condition:
            self.fail(where, f"not so: {what}")

    # A page

    def page(self, address, needs_command=True):
        """Checks a page that is open."""
        where = address.removeprefix(self.home) or "/"
        self.pages += 1
        self.tab.look()
        self.see_update()
        found = {}
        for width, theme in (1280, "light"), (1280, "dark"), (390, "light"):
            self.tab.look(width=width, theme=theme)
            for text in self.rules(needs_command):
                found.setdefault(text, f"{width} px, {theme}")
        for text, look in found.items():
            self.fail(where, f"{text} ({look})")
        if self.pictures:
            self.picture(where)
        self.tab.look()
        self.take_problems(where)

    def rules(self, needs_command=True):
        return self.tab.evaluate(f"{RULES}({'true' if needs_command else 'false'})")

    def see_update(self):
        """Waits until a live page has asked for an update. The answer may be that nothing has changed."""
        before = self.tab.fetched
        if self.tab.evaluate("document.getElementById('page')?.dataset.live === 'yes'"):
            self.tab.browser.wait(lambda: self.tab.fetched > before, "an update")

    def picture(self, where):
        name = re.sub(r"[^\w.=-]+", "-", ID.sub("ID", urllib.parse.unquote(where))).strip("-")[:80] or "overview"
        for width in WIDTHS:
            for theme in THEMES:
                self.tab.look(width=width, theme=theme)
                path = self.pictures / f"{name}.{width}.{theme}.png"
                number = 2
                while path.exists():
                    path, number = self.pictures / f"{name}.{number}.{width}.{theme}.png", number + 1
                self.tab.picture(path)

    # All pages

    def crawl(self, starts):
        """Checks pages, and those that they link to."""
        waiting, shapes = [self.home + start for start in starts], {}
        chosen = set(waiting)
        while waiting:
            address = waiting.pop(0)
            if address in self.known:
                continue
            self.known.add(address)
            shape = self.shape(address)
            if address not in chosen and shapes.get(shape, 0) >= ALIKE:
                continue
            shapes[shape] = shapes.get(shape, 0) + 1
            waiting += self.visit(address)

    def visit(self, address):
        """Checks a page, and returns its links."""
        where = address.removeprefix(self.home) or "/"
        try:
            kind = self.tab.evaluate(f"fetch({address!r}, {{ method: 'HEAD' }}).then((answer) => answer.headers.get('content-type') || '')")
            if not kind.startswith("text/html"):
                self.expect(where, "the file can be fetched", self.tab.evaluate(f"fetch({address!r}).then((answer) => answer.ok)"))
                self.take_problems(where)
                return []
            self.tab.open(address)
            self.page(address)
            return self.links()
        except BrowserError as error:
            self.fail(where, str(error))
            return []

    def links(self):
        links = self.tab.evaluate("[...new Set([...document.querySelectorAll('a[href]')].map((link) => new URL(link.getAttribute('href'), location.href).href.split('#')[0]))]")
        return [link for link in links if link.startswith(self.home) and urllib.parse.urlsplit(link).path.split("/")[-1] not in NOT_PAGES]

    def shape(self, address):
        parts = urllib.parse.urlsplit(address.removeprefix(self.home))
        path = parts.path.strip("/").split("/")
        verb = path[-1] if len(path) > 2 else ""
        return (path[0] if path else "", len(path), verb, tuple(sorted(name for name, _ in urllib.parse.parse_qsl(parts.query, True))))
