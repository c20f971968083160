"""Pages of the documentation as their readers follow them: the commands in order, and what a page shows of
their output, where numbers, and texts that end with `...`, are left open."""

import dataclasses
import re

# A line of a code block that is typed, not printed, unless the block has prompts.
TYPED = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:(?:aws|cp|curl|docker|echo|find|karst|karst-forwarder|kubectl|make|python3|uname"
    r"|\S*/bin/\w+) |export [A-Z]|source <)"
)
NUMBER = r"\d+(?:\.\d+)?"
OPEN = re.compile(rf"(\w*\.\.\.|{NUMBER})")
RULE = re.compile(r"[─═]{4,}")

# An app with the name that pages use.
WEB_APP = r"""
mkdir -p splunk_ta_web/default
printf '[ui]\nlabel = Web\n[launcher]\nversion = 1.0.0\n' >splunk_ta_web/default/app.conf
printf '[web_shop]\nEVAL-is_slow = if(latency_ms > 1000, 1, 0)\n' >splunk_ta_web/default/props.conf
tar -czf splunk_ta_web.tgz splunk_ta_web
"""


@dataclasses.dataclass
class Command:
    """A command of a page, and the lines of output below it."""

    line: int
    typed: str
    shown: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Plan:
    """What differs from typing a page as it is. Commands are named by their beginnings; a name that no command
    has is a mistake."""

    # Commands that are not typed, and why.
    skipped: dict = dataclasses.field(default_factory=dict)
    # Texts of commands, and what is typed for them.
    instead: dict = dataclasses.field(default_factory=dict)
    # Exit codes other than 0.
    ends: dict = dataclasses.field(default_factory=dict)
    # Texts that the output has.
    prints: dict = dataclasses.field(default_factory=dict)
    # Commands that stay in the foreground, and the command that succeeds once they are ready.
    stays: dict = dataclasses.field(default_factory=dict)
    # What is typed after a command and has to succeed: it checks the effect, or prepares what comes next.
    after: dict = dataclasses.field(default_factory=dict)


def blocks(page):
    """The code blocks of a page, indented or fenced: lists of lines with their numbers."""
    found, fenced, indented, before = [], False, False, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced, indented = not fenced, False
            if fenced:
                found.append([])
        elif fenced:
            found[-1].append((number, line))
        elif line.startswith("    ") and (indented or not before.strip()):
            if not indented:
                found.append([])
            indented = True
            found[-1].append((number, line[4:]))
        elif line.strip():
            indented = False
        before = line
    return found


def commands(block):
    """The commands of a block; none if its first line is not one."""
    has_prompts = any(line.startswith("$ ") for _, line in block)
    found = []
    for number, line in block:
        if found and not found[-1].shown and found[-1].typed.endswith("\\"):
            found[-1].typed += "\n" + line
        elif line.startswith("$ ") or (not has_prompts and TYPED.match(line)):
            found.append(Command(number, line.removeprefix("$ ")))
        elif not found:
            return []
        elif line.strip():
            found[-1].shown.append(line)
    return found


def is_shown(shown, printed):
    """Whether a command printed what its page shows. The rows of a table with rules are in any order and width,
    because both follow from the numbers."""
    printed = [line.rstrip() for line in printed.splitlines() if line.strip()]
    if any(RULE.search(line) for line in shown):
        return outlined(shown) == outlined(printed)
    return len(shown) == len(printed) and all(map(is_like, shown, printed))


def outlined(lines):
    numberless = [re.sub(NUMBER, "0", line).strip() for line in lines]
    return sorted(re.sub(r"([─═ ])\1+", r"\1", line) for line in numberless)


def is_like(shown, printed):
    parts = OPEN.split(shown.rstrip())
    for at, part in enumerate(parts):
        opened = r"\S*" if part.endswith("...") else NUMBER
        parts[at] = opened if at % 2 else re.escape(part)
    return re.fullmatch("".join(parts), printed)


def follow(terminal, page, plan=None):
    """Types the commands of a page in order; each has to end as the page says."""
    plan = plan or Plan()
    used = set()

    def planned(field, typed):
        for name, value in getattr(plan, field).items():
            if typed.startswith(name):
                used.add((field, name))
                return value
        return None

    count = 0
    for command in (one for block in blocks(page) for one in commands(block)):
        if planned("skipped", command.typed):
            continue
        typed = command.typed
        for written, wanted in plan.instead.items():
            if written in typed:
                used.add(("instead", written))
                typed = typed.replace(written, wanted)
        typed = terminal.addressed(typed)
        where = f"{page.name}:{command.line}: {typed}"
        ready = planned("stays", command.typed)
        if ready:
            terminal.stay(typed, ready)
        else:
            ended = terminal.type(typed)
            expected = planned("ends", command.typed) or 0
            assert ended.code == expected, f"{where}\nended with {ended}\n{terminal.told()}"
            if command.shown:
                shown = "\n".join(command.shown)
                assert is_shown(command.shown, ended.text), f"{where}\nshows\n{shown}\nnot {ended}"
            text = planned("prints", command.typed)
            assert not text or text in ended.text, f"{where}\nprints {text}, not {ended}"
        after = planned("after", command.typed)
        if after:
            terminal.has(terminal.addressed(after))
        count += 1
    fields = [field.name for field in dataclasses.fields(Plan)]
    unused = {(field, name) for field in fields for name in getattr(plan, field)} - used
    assert not unused, f"{page.name} has no such commands: {unused}"
    return count
