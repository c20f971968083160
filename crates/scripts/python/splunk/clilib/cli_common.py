"""`splunk.clilib.cli_common`: settings of the files in the directory of configuration.

The files of the app of the program take precedence over those of other apps. Of other apps, the first one in the order
of their names takes precedence. `system/local` takes precedence over all apps. Files that the sandbox denies are left
out: `system/local`, and `local` of other apps.
"""

import os

import splunk
from splunk.clilib.bundle_paths import etc

splunk_home = os.environ.get("SPLUNK_HOME", "")
isWindows = False


def getMergedConf(name):
    """Returns the stanzas of `<name>.conf` of all apps: their settings by name."""
    apps = os.path.join(etc(), "apps")
    others = sorted(os.listdir(apps), reverse=True) if os.path.isdir(apps) else []
    own = os.path.basename(os.path.dirname(os.getcwd()))
    folders = ["system/default"]
    folders += ["apps/" + app + "/default" for app in others]
    folders += ["apps/" + app + "/local" for app in others]
    folders += ["apps/" + own + "/default", "apps/" + own + "/local", "system/local"]
    return _merged(name, folders)


def getAppConf(name, app, *_arguments, **_options):
    """Returns the stanzas of `<name>.conf` of one app."""
    return _merged(name, ["apps/" + app + "/default", "apps/" + app + "/local"])


getConfStanzas = getMergedConf


def getConfStanza(name, stanza):
    """Returns the settings of a stanza, with those of `[default]`; none if there is no such stanza."""
    stanzas = getMergedConf(name)
    return dict(stanzas.get("default", {}), **stanzas.get(stanza, {}))


def getConfKeyValue(name, stanza, key):
    """Returns the value of a setting. Fails with `KeyError` if it is not set."""
    return getConfStanza(name, stanza)[key]


def readConfFile(path):
    """Returns the stanzas of a file; none if it does not exist."""
    stanzas = {}
    if os.path.isfile(path):
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            _read(file, stanzas)
    return stanzas


def getMgmtUri():
    """Returns the address of the management port."""
    return splunk.getLocalServerInfo()


def _merged(name, folders):
    stanzas = {}
    for folder in folders:
        path = os.path.join(etc(), folder, name + ".conf")
        if os.path.isfile(path):
            try:
                with open(path, encoding="utf-8-sig", errors="replace") as file:
                    _read(file, stanzas)
            except PermissionError:
                continue
    return stanzas


def _read(lines, stanzas):
    """Adds the settings of a file. A backslash at the end of a line continues the value on the next line."""
    stanza = "default"
    unfinished = ""
    for line in lines:
        line = unfinished + line.rstrip("\n")
        if line.endswith("\\"):
            unfinished = line[:-1] + "\n"
            continue
        unfinished = ""
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            stanza = text[1:-1]
            stanzas.setdefault(stanza, {})
        elif "=" in text and not text.startswith("#"):
            key, value = text.split("=", 1)
            stanzas.setdefault(stanza, {})[key.strip()] = value.strip()
