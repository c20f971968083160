"""The modules `splunk.*` that programs of apps import: an implementation of Karst, not Splunk's.

They have what custom search commands of protocol 1 and external lookups use most. Packages without a module here,
such as `splunk.rest`, cannot be imported.
"""


def setupSplunkLogger(*_arguments, **_options):
    """Has no effect: Karst has no log settings of Splunk."""
