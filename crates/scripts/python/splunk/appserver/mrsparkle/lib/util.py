"""`splunk.appserver.mrsparkle.lib.util`: paths below the directory of the installation."""

import os

from splunk.clilib.bundle_paths import etc, make_splunkhome_path  # noqa: F401


def get_apps_dir():
    """Returns the directory of the apps."""
    return os.path.join(etc(), "apps")
