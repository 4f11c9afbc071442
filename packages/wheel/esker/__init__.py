"""The binary `esker`, which this package installs as a command."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

_PACKAGE = "esker"


def binary_path() -> str:
    """The path of the binary; FileNotFoundError if it was removed."""
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    recorded = [Path(str(file.locate())) for file in files if file.name == "esker" and file.parent.name == "bin"]
    # `pip install --target` moves the commands, and its record has their former place.
    moved = Path(__file__).resolve().parent.parent / "bin" / "esker"
    for path in [*recorded, moved]:
        if path.is_file():
            return str(path.resolve())
    raise FileNotFoundError("the binary of the package `esker` is missing: install it again (`pip install --force-reinstall esker`)")
