"""Points in time as YARN's texts write them (org.apache.hadoop.yarn.util.Times, org.apache.hadoop.util.Time).

All are in the ResourceManager's own time zone, as Hadoop's are.
"""

from __future__ import annotations

import re
from datetime import MAXYEAR, datetime

from yodel.errors import Refused

_ISO_8601 = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}[+-]\d{4}", re.ASCII)


def iso_8601(at_ms: int) -> str:
    """``yyyy-MM-dd'T'HH:mm:ss.SSSZ`` of epoch milliseconds."""
    moment = datetime.fromtimestamp(at_ms // 1000).astimezone()
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}{moment:%z}"


def parse_iso_8601(text: str) -> int:
    """Epoch milliseconds.

    Raises:
        Refused: another format, in the words of RMServerUtils.validateISO8601AndConvertToLocalTimeEpoch.
    """
    try:
        if not _ISO_8601.fullmatch(text):
            raise ValueError(text)
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")
        if moment.year == MAXYEAR:
            raise ValueError(text)  # elsewhere on earth it may be the year after, which no report could name
        return int(moment.replace(microsecond=0).timestamp()) * 1000 + moment.microsecond // 1000
    except (ValueError, OverflowError) as error:
        raise Refused(
            "Expire time is not in ISO8601 format. ISO8601 supported format is yyyy-MM-dd'T'HH:mm:ss.SSSZ. "
            f"Configured timeout value is {text}"
        ) from error


def log_time(at_ms: int) -> str:
    """``yyyy-MM-dd HH:mm:ss,SSSZ``: how errors about delegation tokens name a time."""
    moment = datetime.fromtimestamp(at_ms // 1000).astimezone()
    return f"{moment:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03d}{moment:%z}"


def user_time(at_ms: int) -> str:
    """``EEE MMM dd HH:mm:ss Z yyyy``: how diagnostics name a time."""
    return f"{datetime.fromtimestamp(at_ms // 1000).astimezone():%a %b %d %H:%M:%S %z %Y}"
