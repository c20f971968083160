"""`splunk.admin`: names that handlers of REST endpoints use.

Commands import this module with code that they share with a handler. The handlers themselves are not run.
"""

import splunk

ACTION_CREATE, ACTION_LIST, ACTION_EDIT, ACTION_REMOVE, ACTION_MEMBERS, ACTION_RELOAD = 1, 2, 4, 8, 16, 32
CONTEXT_NONE, CONTEXT_APP_ONLY, CONTEXT_APP_AND_USER = 1, 2, 3


class AdminManagerException(Exception):
    """A failure of a handler."""


class ArgValidationException(AdminManagerException):
    """An argument that is not valid."""


class NotFoundException(AdminManagerException):
    """An object that does not exist."""


class InternalException(AdminManagerException):
    """Another failure."""


class ConfigInfoItem(dict):
    """The settings of an object."""


class ConfigInfo(dict):
    """Objects by name."""

    def __missing__(self, name):
        self[name] = ConfigInfoItem()
        return self[name]


class MConfigHandler:
    """The base of handlers."""


def init(handler, ctxInfo=CONTEXT_NONE):
    """Fails: Karst does not run handlers of REST endpoints."""
    raise splunk.SplunkdException("REST endpoints of apps are not served: nothing runs the handler of this program")
