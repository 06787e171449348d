"""Avro files that other projects wrote: as many rows as they say, the first row equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakebed import avro
from lakebed._values import to_json_values
from lakebed.errors import CorruptError, UnsupportedError
from shared_data import SHARED_DATA, _each

