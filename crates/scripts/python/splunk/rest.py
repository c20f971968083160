"""`splunk.rest`: requests to the REST API at the management port."""

import http.client
import json
import ssl
import urllib.parse
import xml.etree.ElementTree

import splunk

DEFAULT_TIMEOUT = 30
FORM = "application/x-www-form-urlencoded"


class Response(dict):
    """The headers of an answer by name in lower case, with `status` as a text; as attributes, status and reason."""

    def __init__(self, answer):
        super().__init__((name.lower(), value) for name, value in answer.getheaders())
        self["status"] = str(answer.status)
        self.status = answer.status
        self.reason = answer.reason


def makeSplunkdUri():
    """Returns the address of the management port, with a slash at its end."""
    return splunk.mergeHostPath() + "/"


def simpleRequest(
    path,
    sessionKey=None,
    getargs=None,
    postargs=None,
    method="GET",
    raiseAllErrors=False,
    proxyMode=False,
    rawResult=False,
    timeout=None,
    jsonargs=None,
    token=False,
):
    """Sends a request. Returns the answer (`status`, headers) and its body in bytes.

    `path` is a path such as `/services/saved/searches`, or an address. With `postargs` (a dictionary, a text or bytes)
    or `jsonargs` (JSON as a text), `GET` becomes `POST`. Answers with the status 401, 402, 403 and 404 are exceptions
    unless `proxyMode` or `rawResult` is set; others with an error are exceptions if `raiseAllErrors` is set.
    """
    address = path if path.startswith(("http://", "https://")) else splunk.mergeHostPath() + "/" + path.lstrip("/")
    if getargs:
        given = {name: value for name, value in getargs.items() if value is not None}
        address += ("&" if "?" in address else "?") + urllib.parse.urlencode(given, doseq=True)
    headers, body = {}, None
    if jsonargs:
        body, headers["Content-Type"] = jsonargs, "application/json"
    elif postargs is not None or method in ("POST", "PUT"):
        given = postargs or {}
        body = given if isinstance(given, (str, bytes)) else _form(given)
        # Bytes, such as events, are no form.
        if not isinstance(body, bytes):
            headers["Content-Type"] = FORM
    if body is not None and method == "GET":
        method = "POST"
    key = sessionKey or splunk.getDefault("sessionKey")
    if key:
        headers["Authorization"] = ("Bearer " if token else "Splunk ") + key
    answer, content = _send(address, method, body, headers, timeout)
    if not rawResult:
        _check(answer, content, address, raiseAllErrors, proxyMode)
    return answer, content


def _form(values):
    return urllib.parse.urlencode({name: value for name, value in values.items() if value is not None}, doseq=True)


def _send(address, method, body, headers, timeout):
    parts = urllib.parse.urlsplit(address)
    timeout = DEFAULT_TIMEOUT if timeout is None else timeout
    if parts.scheme == "https":
        # Programs do not get the certificate of the server, which is on the same machine.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    target = urllib.parse.quote(target, safe="/%?&=+:,;@~!$'()*-._")
    body = body.encode("utf-8") if isinstance(body, str) else body
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        return Response(answer), answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise splunk.SplunkdConnectionException(f"Error connecting to {address}: {error}") from error
    finally:
        connection.close()


def _check(answer, content, address, raiseAllErrors, proxyMode):
    """Fails if the status of an answer is an exception."""
    if answer.status < 400:
        return
    messages = extractMessages(content)
    if not proxyMode:
        if answer.status == 401:
            raise splunk.AuthenticationFailed(extendedMessages=messages)
        if answer.status == 402:
            raise splunk.LicenseRestriction(extendedMessages=messages)
        if answer.status == 403:
            raise splunk.AuthorizationFailed(extendedMessages=messages or address)
        if answer.status == 404:
            raise splunk.ResourceNotFound(address, extendedMessages=messages)
    if raiseAllErrors:
        if answer.status == 400:
            raise splunk.BadRequest(extendedMessages=messages)
        if answer.status == 404:
            raise splunk.ResourceNotFound(address, extendedMessages=messages)
        if answer.status == 500:
            raise splunk.InternalServerError(extendedMessages=messages)
        raise splunk.RESTException(answer.status, answer.reason, messages)


def extractMessages(content):
    """Returns the messages of an answer, in XML or JSON: a list of dictionaries with `type` and `text`."""
    if not isinstance(content, (str, bytes)):
        return []
    try:
        found = json.loads(content).get("messages", [])
        return [{"type": one.get("type"), "text": one.get("text")} for one in found]
    except (ValueError, AttributeError):
        pass
    try:
        found = xml.etree.ElementTree.fromstring(content).iter("msg")
        return [{"type": one.get("type"), "text": (one.text or "").strip()} for one in found]
    except xml.etree.ElementTree.ParseError:
        return []
