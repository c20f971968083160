"""`splunk.models.field`: how the settings of objects become values."""

from splunk.util import normalizeBoolean


class Field:
    """A text. `api_name` is the name of the setting, if it is not that of the attribute."""

    def __init__(self, api_name=None, default_value=None, is_mutable=True, is_mandatory=False):
        self.api_name = api_name
        self.default_value = default_value
        self.is_mutable = is_mutable
        self.is_mandatory = is_mandatory

    def from_api(self, value):
        return value


class BoolField(Field):
    def from_api(self, value):
        return normalizeBoolean(value) is True


class IntField(Field):
    def from_api(self, value):
        return int(value)


class FloatField(Field):
    def from_api(self, value):
        return float(value)


class ListField(Field):
    def from_api(self, value):
        return value if isinstance(value, list) else [value]


class DictField(Field):
    """A dictionary."""
