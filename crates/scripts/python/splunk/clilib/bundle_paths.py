"""`splunk.clilib.bundle_paths`: paths below the directory of the installation."""

import os


def etc():
    """Returns the directory of configuration."""
    return os.environ.get("SPLUNK_ETC") or os.path.join(os.environ.get("SPLUNK_HOME", ""), "etc")


def make_splunkhome_path(parts):
    """Returns the path of a file below `$SPLUNK_HOME`.

    `etc` is the directory of configuration. `var` is a temporary directory of the run, with the parent directories
    of the file, because programs write their logs there.
    """
    parts = os.path.normpath(os.path.join(*parts)).split(os.sep)
    if parts[0] == "etc":
        return os.path.join(etc(), *parts[1:])
    if parts[0] == "var" and "TMPDIR" in os.environ:
        path = os.path.join(os.environ["TMPDIR"], *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # A path without an extension is the directory of a log.
        if not os.path.splitext(path)[1]:
            os.makedirs(path, exist_ok=True)
        return path
    return os.path.join(os.environ.get("SPLUNK_HOME", ""), *parts)
