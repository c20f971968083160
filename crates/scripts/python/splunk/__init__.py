"""The modules `splunk.*` that programs of apps import: an implementation of Karst, not Splunk's.

They have what custom search commands and external lookups use most. Packages without a module here, such as
`splunk.search`, cannot be imported.
"""

import os

_defaults = {"sessionKey": None, "namespace": None, "owner": None, "hostPath": None}


def setDefault(name=None, value=None):
    """Sets the value that functions of `splunk.rest` and `splunk.entity` use if they get none, such as `sessionKey`."""
    _defaults[name] = value


def getDefault(name):
    """Returns the value of `setDefault`, or `None`."""
    return _defaults.get(name)


def getLocalServerInfo():
    """Returns the address of the management port, such as `https://127.0.0.1:8089`.

    Fails with `SplunkdConnectionException` if the program has none, as it has no session.
    """
    address = getDefault("hostPath") or os.environ.get("SPLUNKD_URI")
    if not address:
        raise SplunkdConnectionException(
            "this program has no session and no address of the server: set passauth = true and enableheader = true "
            "for its command in commands.conf, or chunked = true; external lookups and programs without network "
            "(sandbox_network in limits.conf [scripts]) have none"
        )
    return address.rstrip("/")


def mergeHostPath(hostPath=None, saveAsDefault=False):
    """Returns an address of a management port with its scheme; without an argument, that of this server."""
    if not hostPath:
        return getLocalServerInfo()
    address = hostPath if "://" in hostPath else "https://" + hostPath
    if saveAsDefault:
        setDefault("hostPath", address)
    return address.rstrip("/")


def getReleaseVersion():
    """Returns the version of Splunk that the server reports."""
    return os.environ.get("SPLUNK_VERSION", "")


def setupSplunkLogger(*_arguments, **_options):
    """Has no effect: Karst has no log settings of Splunk."""


class SplunkdException(Exception):
    """A failed request."""


class SplunkdConnectionException(SplunkdException):
    """The server cannot be reached."""


class RESTException(SplunkdException):
    """An answer with an error."""

    def __init__(self, statusCode, msg=None, extendedMessages=None):
        self.statusCode = statusCode
        self.msg = msg
        self.extendedMessages = extendedMessages
        super().__init__(statusCode, msg, extendedMessages)

    def get_message_text(self):
        return str(self.extendedMessages or self.msg or "")

    def __str__(self):
        return "[HTTP %s] %s" % (self.statusCode, self.get_message_text())


class _OfStatus(RESTException):
    STATUS, TEXT = 500, ""

    def __init__(self, msg=None, extendedMessages=None):
        super().__init__(self.STATUS, msg or self.TEXT, extendedMessages)


class BadRequest(_OfStatus):
    STATUS, TEXT = 400, "Bad request"


class AuthenticationFailed(_OfStatus):
    STATUS, TEXT = 401, "Client is not authenticated"


class LicenseRestriction(_OfStatus):
    STATUS, TEXT = 402, "Current license does not allow the requested action"


class AuthorizationFailed(_OfStatus):
    STATUS, TEXT = 403, "Client is not authorized to perform requested action"


class ResourceNotFound(_OfStatus):
    STATUS, TEXT = 404, "Resource not found"


class InternalServerError(_OfStatus):
    STATUS, TEXT = 500, "Splunkd internal error"
