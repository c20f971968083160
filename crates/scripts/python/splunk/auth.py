"""`splunk.auth`: sessions and the user of a session."""

import json

import splunk
import splunk.rest


def getSessionKey(username, password, hostPath=None):
    """Logs a user in. Returns the session key, which becomes the default of other functions."""
    uri = splunk.mergeHostPath(hostPath) + "/services/auth/login"
    form = {"username": username, "password": password, "output_mode": "json"}
    _, content = splunk.rest.simpleRequest(uri, postargs=form, raiseAllErrors=True)
    key = json.loads(content)["sessionKey"]
    splunk.setDefault("username", username)
    splunk.setDefault("sessionKey", key)
    return key


def getCurrentUser(sessionKey=None):
    """Returns the user of a session: `name`, `fullName`, `email`, `roles` and `capabilities`."""
    arguments = {"output_mode": "json"}
    path = "/services/authentication/current-context"
    _, content = splunk.rest.simpleRequest(path, sessionKey, getargs=arguments, raiseAllErrors=True)
    found = json.loads(content)["entry"][0]["content"]
    return {
        "name": found.get("username", ""),
        "fullName": found.get("realname", ""),
        "email": found.get("email", ""),
        "roles": found.get("roles", []),
        "capabilities": found.get("capabilities", []),
    }


def ping(hostPath=None, sessionKey=None):
    """Returns whether a session is valid."""
    try:
        uri = splunk.mergeHostPath(hostPath) + "/services/authentication/current-context"
        splunk.rest.simpleRequest(uri, sessionKey, raiseAllErrors=True)
        return True
    except splunk.AuthenticationFailed:
        return False
