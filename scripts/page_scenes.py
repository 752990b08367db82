"""What a person does with the dashboard, in a browser; and what the server does with requests that no browser sends."""
import json
import os
import pathlib
import socket
import urllib.error
import urllib.parse
import urllib.request

# Browsers allow six connections to a server.
WINDOWS = 9
# The most streams of a dashboard (Limits.streams), and how many more a scene asks for
STREAMS, OTHERS = 1_000, 10


def badge(check, site):
    """The badge says live, paused, polling and live again; a pause stops all requests."""
    tab, where = check.tab, "badge"
    tab.open(site.home)
    tab.until("document.getElementById('badge').classList.contains('live')")
    tab.click("#pause", loads=False)
    check.expect(where, "paused", tab.evaluate("document.getElementById('badge').className") == "badge paused")
    tab.evaluate("document.getElementById('page').isFirst = true")
    before = len(tab.requests)
    site.enqueue({"name": "noop", "queue": "billing"})
    let_updates_come(tab)
    check.expect(where, "a pause is a pause", tab.evaluate("document.getElementById('page').isFirst") and len(tab.requests) == before)
    tab.click("#pause", loads=False)
    tab.until("document.getElementById('badge').classList.contains('live')")
    check.take_problems(where)
    # A browser without shared workers, whose stream is cut
    script = tab.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.SharedWorker")["identifier"]
    tab.open(site.home)
    tab.until("document.getElementById('badge').classList.contains('live')")
    tab.call("Network.setBlockedURLs", urls=[site.home + "/live*"])
    tab.open(site.home)
    tab.until("document.getElementById('badge').classList.contains('polling')")
    tab.evaluate("document.getElementById('page').isFirst = true")
    tab.until("!document.getElementById('page').isFirst")
    tab.call("Network.setBlockedURLs", urls=[])
    tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    for text in tab.take_problems():
        if "/live" not in text:
            check.fail(where, text)


def aged(check, site):
    """A page without updates does not claim to be live, and counts the age of its data on."""
    tab, where = check.tab, "age"
    for address in "/about", "/doctor", "/ops/new":
        tab.open(site.home + address)
        tab.until("document.getElementById('badge-text').textContent.endsWith(' ago')")
        let_updates_come(tab)
        check.expect(where, f"{address} is not live", tab.evaluate("document.getElementById('badge').className") == "badge read")
        check.expect(where, f"{address} has no pause", tab.evaluate("document.getElementById('pause').hidden"))
    check.take_problems(where)


def outage(check, site):
    """A page whose dashboard does not answer says so, with the age of its data, and is current again after."""
    tab, where = check.tab, "outage"
    script = tab.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.SharedWorker")["identifier"]
    tab.open(site.home)
    tab.until("document.getElementById('badge').classList.contains('live')")
    check.expect(where, "no message before", tab.evaluate("document.getElementById('outage').hidden"))
    tab.call("Network.setBlockedURLs", urls=[site.home + "/*"])
    tab.until("document.getElementById('badge').classList.contains('offline')")
    check.expect(where, "a message", tab.evaluate("document.getElementById('outage').textContent").startswith("The dashboard does not answer."))
    check.expect(where, "an age", tab.evaluate("/^data .+ old$/.test(document.getElementById('badge-text').textContent)"))
    tab.call("Network.setBlockedURLs", urls=[])
    tab.until("document.getElementById('outage').hidden && !document.getElementById('badge').classList.contains('offline')")
    tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    tab.take_problems()


def let_updates_come(tab):
    """Lets a time pass in which updates come: the badge counts the age on, second by second."""
    for _ in range(3):
        text = tab.evaluate("document.getElementById('badge-text').textContent")
        tab.until(f"document.getElementById('badge-text').textContent !== {text!r}")


def still(check, site):
    """Nothing moves while text is selected, a field has the focus, or the pointer is over a row of a list."""
    tab = check.tab
    begins = {
        "the pointer over a row": "",
        "a selection": "getSelection().selectAllChildren(document.querySelector('main table'))",
        "a field": "document.querySelector('form.search input').focus()",
    }
    for what, begin in begins.items():
        tab.open(site.home + "/ops")
        tab.until("document.getElementById('badge').classList.contains('live')")
        if begin:
            tab.evaluate(begin)
        else:
            place = tab.evaluate("(() => { const box = document.querySelector('main tbody tr').getBoundingClientRect(); return [box.x + 9, box.y + 9]; })()")
            tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
            tab.until("document.querySelector('main tbody:hover')")
        tab.evaluate("document.getElementById('page').isFirst = true")
        let_updates_come(tab)
        check.expect("still", f"no update with {what}", tab.evaluate("document.getElementById('page').isFirst"))
        tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        tab.evaluate("getSelection().removeAllRanges(), document.activeElement.blur()")
    check.take_problems("still")


def windows(check, site):
    """More windows than a browser has connections to a server are all kept current."""
    tabs = []
    for _ in range(WINDOWS):
        tab = check.tab.browser.tab(site.home, is_window=True)
        tab.open(site.home)
        tabs.append(tab)
    for tab in tabs:
        tab.until("document.getElementById('badge').classList.contains('live')")
        tab.evaluate("document.getElementById('page').isFirst = true")
    for tab in tabs:
        tab.until("!document.getElementById('page').isFirst")
        for text in tab.take_problems():
            check.fail("windows", text)
        tab.close()


def update(check, site):
    """A page shows the end of its operation by itself."""
    tab, where = check.tab, "update"
    site.enqueue({"name": "exec", "queue": "update", "id": "watched", "args": {"argv": ["cat", f"{site.folder}/gate"]}})
    gate = pathlib.Path(site.folder, "gate")
    os.mkfifo(gate)
    site.start(site.binary, "worker", "-q", "update", "--allow", "exec", "--name", "update-1")
    tab.open(f"{site.home}/ops/watched")
    tab.until("document.querySelector('main .state.executing')")
    gate.write_text("done\n")
    tab.until("document.querySelector('main .state.finished')")
    check.take_problems(where)


def log(check, site):
    """The end of a log is followed until it is scrolled up or the button is pressed."""
    tab, where = check.tab, "log"
    gate = pathlib.Path(site.folder, "log-gate")
    os.mkfifo(gate)
    program = f"seq 300; while read word; do echo $word; done < {gate}; exec sleep 7200"
    site.enqueue({"name": "exec", "queue": "update", "id": "logs", "args": {"argv": ["sh", "-c", program]}})
    with gate.open("w", buffering=1) as lines:
        tab.open(f"{site.home}/ops/logs")
        text, end = "document.querySelector('pre.log').textContent", "(log => log.scrollTop + log.clientHeight >= log.scrollHeight - 4)(document.querySelector('pre.log'))"
        tab.until(f"document.querySelector('pre.log') && {text}.includes('300')")
        lines.write("first\n")
        tab.until(f"{text}.includes('first') && {end}")
        tab.evaluate("document.querySelector('pre.log').scrollTop = 0")
        tab.until("document.querySelector('button.follow').textContent === 'Follow'")
        lines.write("second\n")
        tab.until("document.querySelector('.follow-news').textContent === '1 new line'")
        check.expect(where, "nothing moves", tab.evaluate(f"document.querySelector('pre.log').scrollTop === 0 && !{text}.includes('second')"))
        tab.click("button.follow", loads=False)
        tab.until(f"{text}.includes('second') && {end}")
        tab.click("button.follow", loads=False)
        lines.write("third\n")
        tab.until("document.querySelector('.follow-news').textContent === '1 new line'")
        check.expect(where, "the button holds", tab.evaluate(f"!{text}.includes('third')"))
    check.take_problems(where)


def change(check, site, id, with_script):
    """Cancels and retries an operation by clicks."""
    tab, where = check.tab, f"changes {'with' if with_script else 'without'} script"
    tab.run_scripts(with_script)
    tab.open(f"{site.home}/ops/{id}")
    tab.click("a[href*='/cancel']")
    if with_script:
        check.page(tab.evaluate("location.href"))
    tab.click("main form button[type=submit], main form button:not([type])")
    check.expect(where, "the operation is cancelled", state(site, id) == "cancelled" and tab.evaluate("!!document.querySelector('main .notice.good')"))
    tab.click("a[href*='/retry']")
    tab.click("main form button[type=submit], main form button:not([type])")
    check.expect(where, "the operation waits again", state(site, id) == "ready")
    tab.run_scripts(True)
    check.take_problems(where)


def state(site, id):
    return json.loads(site.sluice("show", f"billing/{id}", "-o", "json"))["state"]


def plain(check, site):
    """Without scripts, the list, its query and the pages of the navigation work by links and forms."""
    tab, where = check.tab, "without script"
    tab.run_scripts(False)
    tab.open(site.home)
    check.expect(where, "no mark of updates", tab.evaluate("document.getElementById('badge').className") == "badge read")
    tab.click("nav a[href$='/ops']")
    tab.evaluate("document.querySelector('form.search input').value = 'queue:video state:scheduled'")
    tab.click("form.search button")
    check.expect(where, "the list is filtered", tab.evaluate("document.querySelectorAll('main tbody tr').length") == 1)
    tab.click("main tbody a[href*='/ops/']")
    check.expect(where, "the operation is shown", tab.evaluate("!!document.querySelector('main .state.scheduled')"))
    tab.run_scripts(True)
    check.take_problems(where)


def keys(check, site):
    """The key / leads to the query box from any page, and an own id in the box to its operation."""
    tab, where = check.tab, "keys"
    site.enqueue({"name": "noop", "queue": "billing", "id": "found-by-id"})
    tab.open(site.home + "/workers")
    before = tab.loads
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="/", text="/")
    tab.browser.wait(lambda: tab.loads > before, "the page after the key /")
    check.expect(where, "the query box has the focus", tab.evaluate("document.activeElement.id") == "query")
    tab.call("Input.insertText", text="found-by-id")
    before = tab.loads
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    tab.browser.wait(lambda: tab.loads > before, "the page after Enter")
    tab.click("main .empty a")
    check.expect(where, "the operation is found", tab.evaluate("document.querySelectorAll('main tbody tr').length") == 1)
    check.take_problems(where)


def marks(check, site):
    """The buttons for marked rows work when a row is marked, and only then."""
    tab, where = check.tab, "marks"
    for address, buttons in ("/ops", "form.marks button[name=action]"), ("/schedules", "form.marks button[formaction]"):
        tab.open(site.home + address)
        disabled = f"[...document.querySelectorAll('{buttons}')].map(button => button.disabled)"
        check.expect(where, f"{address}: nothing is marked", set(tab.evaluate(disabled)) == {True})
        tab.click("form.marks tbody input[type=checkbox]", loads=False)
        tab.until("document.querySelector('.marked').textContent === '1 marked'")
        check.expect(where, f"{address}: a row is marked", set(tab.evaluate(disabled)) == {False})
    check.take_problems(where)


def failures(check, site):
    """Pages that are not there say so, as pages."""
    tab = check.tab
    for address, status in ("/none", 404), ("/ops/nothing-like-it", 404), ("/assets/none", 404):
        tab.expected = {status}
        tab.open(site.home + address)
        check.expect(address, f"status {status}", tab.status == status)
        for text in check.rules(needs_command=False):
            check.fail(address, text)
        check.take_problems(address)
    tab.expected = set()


def reads(check, site):
    """GET and HEAD of every address that any page links to leave Redis as it is."""
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in check.tab.call("Network.getCookies")["cookies"])
    # Work changes Redis, so it ends first, except for the server and the dashboard.
    for child in site.children:
        if child not in (site.server, site.server_process):
            child.kill()
            child.wait()
    check.tab.open("about:blank")
    before = site.contents()
    for address in sorted(check.known):
        for method in "GET", "HEAD":
            request = urllib.request.Request(address, method=method, headers={"Cookie": cookie})
            try:
                with urllib.request.urlopen(request) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                check.expect(address, f"status {error.code} of {method} is below 500", error.code < 500)
    after = site.contents()
    changed = [key for key in before | after if before.get(key) != after.get(key)]
    check.expect("reads", f"{len(check.known)} addresses change nothing, but: {changed}", not changed)
    print(f"     {len(check.known)} addresses, {len(before)} keys", flush=True)


def limits(check, site):
    """Large bodies and headers are refused, streams are limited, and a request that does not arrive is closed."""
    host, port = urllib.parse.urlsplit(site.home).netloc.split(":")
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in check.tab.call("Network.getCookies")["cookies"])

    def connect(text):
        link = socket.create_connection((host, int(port)), timeout=300)
        link.sendall(text.encode())
        return link

    def status(text, more=b""):
        """Returns the status of an answer; 0 if the connection is closed without one."""
        with connect(text) as link:
            try:
                link.sendall(more)
            except OSError:
                pass  # The answer comes before the end of the request.
            try:
                line = link.recv(65_536).split(b"\r\n")[0].split()
            except ConnectionResetError:
                return 0
            return int(line[1]) if len(line) > 1 else 0

    head = f"Host: {host}:{port}\r\nCookie: {cookie}\r\n"
    form = f"POST /theme HTTP/1.1\r\n{head}Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    body = b"theme=" + b"x" * 2_000_000
    check.expect("limits", "a body of 2 MB is refused", status(f"{form}Content-Length: {len(body)}\r\n\r\n", body) in (0, 413))
    check.expect("limits", "a header of 100 KB is refused", status(f"GET / HTTP/1.1\r\n{head}X: {'x' * 100_000}\r\n\r\n") in (0, 400, 413, 431))
    check.expect("limits", "1,000 headers are refused", status(f"GET / HTTP/1.1\r\n{head}" + "X: x\r\n" * 1000 + "\r\n") in (0, 400, 413, 431))
    check.expect("limits", "an address of 100 KB is refused", status(f"GET /{'x' * 100_000} HTTP/1.1\r\n{head}\r\n") in (0, 400, 404, 413, 414, 431))
    check.expect("limits", "no HTTP is refused", status("hello\r\n\r\n") in (0, 400))
    waiting = connect(f"GET / HTTP/1.1\r\n{head}X-Never: ")
    # The browser has a stream as well, or the end of its last one is not known yet.
    streams = [connect(f"GET /live HTTP/1.1\r\n{head}\r\n") for _ in range(STREAMS + OTHERS)]
    answers = [link.recv(16)[9:12] for link in streams]
    served, refused = answers.count(b"200"), answers.count(b"503")
    check.expect("limits", f"{STREAMS} streams are served, {served} were", STREAMS - OTHERS <= served <= STREAMS)
    check.expect("limits", "all others are refused", served + refused == len(streams))
    check.expect("limits", "pages are served beside them", status(f"GET / HTTP/1.1\r\n{head}\r\n") == 200)
    for link in streams:
        link.close()
    check.expect("limits", "a request that does not arrive is closed", waiting.recv(1 << 16)[:12] in (b"", b"HTTP/1.1 408", b"HTTP/1.1 400"))
    waiting.close()
    check.expect("limits", "the dashboard runs", site.server_process.poll() is None and status(f"GET /healthz HTTP/1.1\r\n{head}\r\n") == 200)
