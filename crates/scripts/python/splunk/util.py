"""`splunk.util`: values of settings, times, and texts in addresses."""

import calendar
import urllib.parse

TRUE = {"1", "t", "true", "y", "yes", "on", "enabled"}
FALSE = {"0", "f", "false", "n", "no", "off", "disabled"}
DIGITS = {"0", "1"}


def normalizeBoolean(value, enableStrictMode=False, includeIntegers=True):
    """Returns the Boolean that a text means; other values are returned unchanged, or fail with `enableStrictMode`."""
    text = str(value).strip().lower()
    if includeIntegers or text not in DIGITS:
        if text in TRUE:
            return True
        if text in FALSE:
            return False
    if enableStrictMode:
        raise ValueError("cannot cast to a Boolean: %s" % value)
    return value


def mktimegm(parts):
    """Returns the seconds since 1970 of a time in UTC."""
    return calendar.timegm(parts)


def toUnicode(value, decodeFrom="utf-8"):
    """Returns a text."""
    return value.decode(decodeFrom) if isinstance(value, bytes) else str(value)


def toUTF8(value, decodeFrom="utf-8"):
    """Returns the bytes of a text in UTF-8."""
    return toUnicode(value, decodeFrom).encode("utf-8")


def safeURLQuote(value, safe="/", decodeFrom="utf-8"):
    """Returns a text for the path of an address."""
    return urllib.parse.quote(toUnicode(value, decodeFrom), safe)


def safeURLQuotePlus(value, safe="", decodeFrom="utf-8"):
    """Returns a text for the query of an address."""
    return urllib.parse.quote_plus(toUnicode(value, decodeFrom), safe)
