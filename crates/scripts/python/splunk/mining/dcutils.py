"""`splunk.mining.dcutils`: a logger. Warnings and errors go to stderr, whose end is part of error messages."""

import logging


def getLogger(*_arguments, **_options):
    return logging.getLogger("splunk")
