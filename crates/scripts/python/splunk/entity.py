"""`splunk.entity`: objects of the REST API as dictionaries.

Values are texts: `1` and `0` for Booleans. Lists and dictionaries, such as `eai:acl`, stay what they are.
"""

import json
import urllib.parse
from collections import OrderedDict

import splunk
import splunk.rest

ANY = "-"


class EntityCollection(OrderedDict):
    """Entities by name, with the number of all of them."""

    totalResults = 0
    itemsPerPage = 0
    offset = 0


class Entity(dict):
    """An object: its settings by name.

    `name`, `owner`, `namespace` (the app), `id`, `links`, `updateTime` and `path` are attributes. A new one that
    `setEntity` is given is created; one that was read is changed.
    """

    def __init__(self, entityClass, entityName, contents=None, namespace=None, owner=None):
        super().__init__(contents or {})
        self.path = _joined(entityClass)
        self.name = entityName
        self.namespace = namespace
        self.owner = owner
        self.id = None
        self.links = []
        self.updateTime = None
        self._read = None

    @property
    def properties(self):
        return self

    def getBasePath(self):
        """Returns the path of the objects of its kind."""
        return buildEndpoint(self.path, None, self.namespace, self.owner)

    def getFullPath(self):
        """Returns the path of the object."""
        return buildEndpoint(self.path, self.name, self.namespace, self.owner)

    def getLink(self, name):
        """Returns the path of a link, such as `edit` or `disable`; `None` if there is none."""
        return dict(self.links).get(name)

    def isDisableable(self):
        return self.getLink("disable") is not None or self.getLink("enable") is not None

    def getCommitProperties(self):
        """Returns the settings to send: all of a new object, otherwise those that differ from what was read."""
        own = {name: value for name, value in self.items() if not name.startswith("eai:")}
        if self._read is None:
            return own
        return {name: value for name, value in own.items() if value != self._read.get(name)}


def buildEndpoint(entityClass, entityName=None, namespace=None, owner=None, hostPath=None):
    """Returns the path of an object or of all objects of a kind: `/servicesNS/<owner>/<app>/<kind>/<name>`."""
    namespace = namespace or splunk.getDefault("namespace")
    owner = owner or splunk.getDefault("owner")
    begin = "/services"
    if namespace or owner:
        begin = "/servicesNS/" + _segment(owner or ANY) + "/" + _segment(namespace or ANY)
    path = begin + "/" + _joined(entityClass)
    if entityName is not None:
        path += "/" + _segment(entityName)
    return splunk.mergeHostPath(hostPath) + path if hostPath else path


def _joined(entityClass):
    if isinstance(entityClass, str):
        return entityClass.strip("/")
    return "/".join(_segment(part) for part in entityClass)


def _segment(text):
    # A slash in a name is sent as `%252F`, as by Splunk.
    return urllib.parse.quote(str(text), safe="").replace("%2F", "%252F")


def getEntity(entityPath, entityName, uri=None, namespace=None, owner=None, sessionKey=None, hostPath=None, **kwargs):
    """Returns an object. Fails with `splunk.ResourceNotFound` if there is none."""
    uri = uri or buildEndpoint(entityPath, entityName, namespace, owner, hostPath)
    entries = _read(uri, sessionKey, kwargs)["entry"]
    if not entries:
        raise splunk.ResourceNotFound(uri)
    return _entity(entries[0], entityPath)


def getEntities(
    entityPath,
    namespace=None,
    owner=None,
    search=None,
    count=None,
    offset=None,
    sort_key=None,
    sort_dir=None,
    sessionKey=None,
    uri=None,
    unique_key="title",
    hostPath=None,
    **kwargs,
):
    """Returns objects by name, or by the setting `unique_key`. Without `count`, the server returns the first 30."""
    uri = uri or buildEndpoint(entityPath, None, namespace, owner, hostPath)
    given = {"search": search, "count": count, "offset": offset, "sort_key": sort_key, "sort_dir": sort_dir}
    feed = _read(uri, sessionKey, {**kwargs, **given})
    found = EntityCollection()
    for entry in feed["entry"]:
        entity = _entity(entry, entityPath)
        found[entity.name if unique_key == "title" else entity.get(unique_key, entity.name)] = entity
    paging = feed.get("paging") or {}
    found.totalResults = paging.get("total", len(found))
    found.itemsPerPage = paging.get("perPage", len(found))
    found.offset = paging.get("offset", 0)
    return found


def getEntitiesList(*arguments, **options):
    """Returns the objects of `getEntities` as a list."""
    return list(getEntities(*arguments, **options).values())


def setEntity(entity, sessionKey=None, uri=None, msgObj=None, strictCreate=False, filterArguments=None):
    """Creates a new object, or changes one that was read. Returns True."""
    values = entity.getCommitProperties()
    if filterArguments:
        values = {name: value for name, value in values.items() if name in filterArguments}
    if not uri and (strictCreate or entity._read is None):
        uri = entity.getBasePath()
        values["name"] = entity.name
    uri = uri or entity.getFullPath()
    splunk.rest.simpleRequest(uri, sessionKey, postargs=values, method="POST", raiseAllErrors=True)
    return True


def deleteEntity(entityPath, entityName, namespace, owner, sessionKey=None, hostPath=None):
    """Removes an object. Returns True."""
    uri = buildEndpoint(entityPath, entityName, namespace, owner, hostPath)
    splunk.rest.simpleRequest(uri, sessionKey, method="DELETE", raiseAllErrors=True)
    return True


def controlEntity(action, entityURI, sessionKey=None):
    """Calls `enable`, `disable` or another action at its path, or removes the object (`remove`). Returns True."""
    method = "DELETE" if action == "remove" else "POST"
    splunk.rest.simpleRequest(entityURI, sessionKey, method=method, raiseAllErrors=True)
    return True


def refreshEntities(entityPath, namespace=None, owner=None, sessionKey=None, hostPath=None, **_options):
    """Has the server read changed files of objects of this kind. Returns True."""
    uri = buildEndpoint(entityPath, "_reload", namespace, owner, hostPath)
    splunk.rest.simpleRequest(uri, sessionKey, method="POST", raiseAllErrors=True)
    return True


def _read(uri, sessionKey, arguments):
    given = {**arguments, "output_mode": "json"}
    _, content = splunk.rest.simpleRequest(uri, sessionKey, getargs=given, raiseAllErrors=True)
    return json.loads(content)


def _entity(entry, entityPath):
    contents = {name: _text(value) for name, value in entry.get("content", {}).items()}
    acl = entry.get("acl") or {}
    if acl:
        contents["eai:acl"] = {name: _text(value) for name, value in acl.items()}
    entity = Entity(entityPath, entry["name"], contents, acl.get("app"), acl.get("owner"))
    entity.id = entry.get("id")
    entity.links = list((entry.get("links") or {}).items())
    entity.updateTime = entry.get("updated")
    entity._read = dict(contents)
    return entity


def _text(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    if value is None or isinstance(value, (str, list)):
        return value
    if isinstance(value, dict):
        return {name: _text(one) for name, one in value.items()}
    return str(value)
