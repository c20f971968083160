"""`splunk.appserver.mrsparkle.lib.util`: paths below the directory of the installation."""

from splunk.clilib.bundle_paths import make_splunkhome_path  # noqa: F401
