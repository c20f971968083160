"""`splunk.models.base`: objects of the REST API with declared fields. They are read only."""

import splunk
import splunk.entity
from splunk.models.field import Field


class SplunkRESTModel:
    """An object of the REST API. A subclass has its path in `resource`, and a `Field` for each setting."""

    resource = ""

    def __init__(self, namespace=None, owner=None, name=None, entity=None, **values):
        self.entity = entity
        self.name = entity.name if entity is not None else name
        self.namespace = entity.namespace if entity is not None else namespace
        self.owner = entity.owner if entity is not None else owner
        self.id = entity.getFullPath() if entity is not None else None
        for attribute, field in self.fields().items():
            setting = field.api_name or attribute
            value = entity.get(setting) if entity is not None else values.get(attribute)
            setattr(self, attribute, field.default_value if value is None else field.from_api(value))

    @classmethod
    def fields(cls):
        """Returns the declared fields by the name of the attribute."""
        of_bases = [vars(base) for base in reversed(cls.__mro__)]
        return {name: value for found in of_bases for name, value in found.items() if isinstance(value, Field)}

    @classmethod
    def build_id(cls, name, namespace, owner, host_path=None):
        """Returns the path of an object."""
        return splunk.entity.buildEndpoint(cls.resource, name, namespace, owner, host_path)

    @classmethod
    def get(cls, id=None, sessionKey=None):
        """Returns the object at a path. Fails with `splunk.ResourceNotFound` if there is none."""
        return cls(entity=splunk.entity.getEntity(cls.resource, None, uri=id, sessionKey=sessionKey))

    @classmethod
    def all(cls, namespace=None, owner=None, host_path=None, sessionKey=None):
        """Returns all objects as a list."""
        found = splunk.entity.getEntities(
            cls.resource, namespace, owner, count=-1, sessionKey=sessionKey, hostPath=host_path
        )
        return [cls(entity=entity) for entity in found.values()]

    def save(self):
        """Fails: changes go through `splunk.entity.setEntity`."""
        raise splunk.SplunkdException("objects of splunk.models are read only: use splunk.entity.setEntity")

    create = update = delete = save


class SplunkAppObjModel(SplunkRESTModel):
    """An object of an app."""
