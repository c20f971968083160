"""`splunk.util`: values of settings."""

TRUE = {"1", "t", "true", "y", "yes", "on", "enabled"}
FALSE = {"0", "f", "false", "n", "no", "off", "disabled"}


def normalizeBoolean(value):
    """Returns the Boolean that a text means; other values are returned unchanged."""
    text = str(value).strip().lower()
    if text in TRUE:
        return True
    return False if text in FALSE else value
