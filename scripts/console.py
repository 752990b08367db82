"""The commands of Markdown pages, and their expected output. scripts/check-console describes the syntax."""
import dataclasses
import os
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/decisions/*.md", "Examples/*/README.md", "Sources/*/*.docc/*.md"]
MARK = re.compile(r"<!-- not run: (\S.*\S) -->")
SHELLS = ("sh", "bash", "shell", "zsh")
BACKGROUND = re.compile(r"(?<=[^&])&\s*(#.*)?$|\s# in another terminal\b.*$")


@dataclasses.dataclass
class Command:
    """A command and the lines below it, from line `first` of the page to before line `end` (both count from 0)."""
    text: str
    line: int
    first: int
    end: int
    wanted: list

    @property
    def is_background(self):
        return BACKGROUND.search(self.text) is not None

    @property
    def script(self):
        return BACKGROUND.sub(" &\n", self.text) if self.is_background else self.text + "\n"


def blocks(lines):
    """Yields the fenced blocks of a page: language, mark, and the numbers of the first line and of the one after the
    last.
    """
    begin = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if begin is None:
            begin = number
            continue
        mark = MARK.fullmatch(lines[begin - 1]) if begin else None
        yield lines[begin][3:].strip(), mark, begin + 1, number
        begin = None


def is_of_shell(language, lines):
    return language in SHELLS or (language in ("", "text") and any(re.match(r"(\$ |sluice |scripts/)", line) for line in lines))


def commands(lines, first, end):
    """Returns the commands of a console block."""
    found = []
    for number in range(first, end):
        line = lines[number]
        if line.startswith("$ "):
            found.append(Command(line[2:], number, number + 1, number + 1, []))
        elif not found:
            raise ValueError(f"{number + 1}: output before the first command")
        elif line.startswith("> ") and not found[-1].wanted:
            found[-1].text += "\n" + line[2:]
            found[-1].first = found[-1].end = number + 1
        elif line or found[-1].wanted:
            found[-1].wanted.append(line)
            if line:
                found[-1].end = number + 1
    for command in found:
        del command.wanted[max(0, command.end - command.first):]
        if command.is_background and command.wanted:
            raise ValueError(f"{command.line + 1}: the output of a command in the background is not compared")
    return found


class Page:
    def __init__(self, path):
        self.name, self.path = os.path.relpath(path, root), path
        self.lines = path.read_text().splitlines()
        self.commands, self.marked, self.problems, prose = [], 0, [], list(self.lines)
        for language, mark, first, end in blocks(self.lines):
            prose[first:end] = [""] * (end - first)
            if mark:
                self.marked += 1
            elif language == "console":
                try:
                    self.commands += commands(self.lines, first, end)
                except ValueError as error:
                    self.problems.append(f"{self.name}:{error}")
            elif is_of_shell(language, self.lines[first:end]):
                self.problems.append(
                    f"{self.name}:{first}: these commands are not tested: make the block ```console, "
                    "or say why not in the line before it: <!-- not run: REASON -->"
                )
        text = "\n".join(prose)
        self.mentions = [(text.count("\n", 0, match.start()) + 1, match[1]) for match in re.finditer(r"(?<!`)`sluice\s([^`]+)`", text)]

    def write(self, results):
        """Replaces the output of these commands, the last first, so that earlier line numbers stay right."""
        for command, printed in reversed(results):
            self.lines[command.first:command.end] = printed
        self.path.write_text("\n".join(self.lines) + "\n")


def pattern(wanted):
    def of(line):
        if line.strip() == "…":
            return r"(?:.*\n)*?"
        return ".*?".join(re.escape(part) for part in squeezed(line).split("…")) + r"\n"

    return "".join(map(of, wanted))


def squeezed(line):
    return re.sub(r" +", " ", line.rstrip())


def matches(wanted, printed):
    return re.fullmatch(pattern(wanted), "".join(squeezed(line) + "\n" for line in printed)) is not None
