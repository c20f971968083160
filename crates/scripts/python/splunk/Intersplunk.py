"""`splunk.Intersplunk`: the input and output of search commands of protocol 1.

The input is a header of lines `name:value` with an empty line at its end (`enableheader`), and CSV. The output is a
header of lines `<level>_message=<text>` with an empty line at its end, and CSV. Fields with several values are lists
in Python; in CSV, the column `__mv_<field>` has them as `$a$;$b$`.
"""

import csv
import io
import re
import sys
import urllib.parse

MULTI = "__mv_"
GETINFO = "__GETINFO__"
EXECUTE = "__EXECUTE__"
HEADER_LINE = re.compile(r"(\w+):(.*)")
OPTION = re.compile(r"([^\W\d][\w.\-]*)\s*=(.*)", re.DOTALL)
FIRST_VALUE = re.compile(r"\$((?:[^$]|\$\$)*)\$(?:;|\Z)")

csv.field_size_limit(1 << 30)


def readResults(input_buf=None, settings=None, has_header=True):
    """Reads all rows: a list with a dictionary of each row. The values of the header are added to `settings`."""
    if input_buf is None:
        input_buf = sys.stdin
        try:
            # Carriage returns in values stay.
            input_buf.reconfigure(newline="", errors="replace")
        except (AttributeError, io.UnsupportedOperation):
            # The program has already read from it, or has replaced it.
            pass
    first = _read_header(input_buf, {} if settings is None else settings) if has_header else ""
    # A quoted name of a field may have line breaks: the reader takes the following lines itself.
    reader = csv.reader(_chain(first, input_buf))
    names = next(reader, [])
    return [dict(zip(names, cells)) for cells in reader if cells]


def getOrganizedResults(input_str=None):
    """Returns all rows, an empty list, and the values of the header."""
    settings = {}
    buffer = io.StringIO(input_str, newline="") if isinstance(input_str, str) else input_str
    return readResults(buffer, settings, True), [], settings


def _read_header(lines, settings):
    """Reads the header; returns the first line of the rows if there is no header."""
    name = None
    while True:
        line = lines.readline()
        text = line.rstrip("\r\n")
        found = HEADER_LINE.match(text)
        if not text:
            return ""
        if found:
            name = found.group(1)
            settings[name] = urllib.parse.unquote(found.group(2))
        elif name is None:
            return line
        else:
            settings[name] += "\n" + urllib.parse.unquote(text)


def _chain(first, lines):
    if first:
        yield _without_nul(first)
    for line in lines:
        yield _without_nul(line)


def _without_nul(line):
    # Before Python 3.11, the reader of CSV refuses it.
    return line.replace("\0", "\ufffd")


def outputResults(results, messages=None, fields=None, mvdelim="\n", outputfile=None):
    """Writes rows, with messages of `addErrorMessage` and others before them.

    The columns are `fields`, or all fields of the rows in the order in which they are found.
    """
    out = sys.stdout if outputfile is None else outputfile
    rows = [dict(row) for row in results or []]
    for name, texts in (messages or {}).items():
        for text in [texts] if isinstance(texts, str) else texts:
            out.write(name + "=" + " ".join(str(text).split()) + "\n")
    if messages or outputfile is None:
        out.write("\n")
    several = set()
    for row in rows:
        for name, value in list(row.items()):
            if isinstance(value, (list, tuple)):
                values = [_text(value) for value in value]
                row[name] = mvdelim.join(values)
                row[MULTI + name] = getEncodedMV(values) if len(values) > 1 else ""
                several.add(name)
    columns = dict.fromkeys(fields or [name for row in rows for name in row])
    columns.update(dict.fromkeys(MULTI + name for name in columns if name in several))
    if columns:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows([_text(row.get(name)) for name in columns] for row in rows)
    out.flush()


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def getEncodedMV(values):
    """Returns values as `$a$;$b$`, with `$$` for `$`."""
    return ";".join("$" + _text(value).replace("$", "$$") + "$" for value in values)


def decodeMV(text, values):
    """Adds the values of `$a$;$b$` to a list. Returns whether the text has this form."""
    found = []
    at = 0
    while at < len(text):
        value = FIRST_VALUE.match(text, at)
        if not value:
            return False
        found.append(value.group(1).replace("$$", "$"))
        at = value.end()
    values.extend(found)
    return bool(found)


def getKeywordsAndOptions(arguments=None):
    """Returns the arguments of the command: those without a name, and the values of `name=value` by name."""
    keywords, options = [], {}
    arguments = sys.argv[1:] if arguments is None else arguments
    for argument in arguments:
        option = OPTION.fullmatch(argument)
        if option:
            options[option.group(1)] = _unquoted(option.group(2).strip())
        elif argument not in (GETINFO, EXECUTE):
            keywords.append(_unquoted(argument))
    return keywords, options


def _unquoted(text):
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", text[1:-1])
    return text


def isGetInfo(argv):
    """Returns whether the properties of the command are asked for, and the arguments without this question."""
    asked = argv[1] if len(argv) > 1 else ""
    rest = argv[:1] + argv[2:] if asked in (GETINFO, EXECUTE) else argv
    return asked == GETINFO, rest


def outputInfo(
    streaming,
    generating,
    retevs,
    reqsop,
    preop,
    timeorder=False,
    clear_req_fields=False,
    req_fields=None,
):
    """Writes the properties of the command and ends the program."""
    properties = {
        "streaming": streaming,
        "generating": generating,
        "retainsevents": retevs,
        "requires_preop": reqsop,
        "streaming_preop": preop,
        "generates_timeorder": timeorder,
        "clear_required_fields": clear_req_fields,
        "required_fields": req_fields,
    }
    for name, value in properties.items():
        if isinstance(value, bool):
            properties[name] = int(value)
    outputResults([properties])
    sys.exit(0)


def addMessage(messages, text, level):
    messages.setdefault(level + "_message", []).append(text)


def addErrorMessage(messages, text):
    addMessage(messages, text, "error")


def addWarnMessage(messages, text):
    addMessage(messages, text, "warn")


def addInfoMessage(messages, text):
    addMessage(messages, text, "info")


def generateErrorResults(text):
    """Returns a row whose field `ERROR` has the text."""
    return [{"ERROR": text}]


def parseError(text):
    """Refuses the arguments of the command with this text, and ends the program."""
    outputResults([], {"error_message": [text]})
    sys.exit(0)


def win32_utf8_argv():
    """The arguments on Windows; none elsewhere."""
    return None
