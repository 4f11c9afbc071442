"""Writes the archive that standard input describes (xtask/src/packages/archive.rs). The same input gives the same bytes."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import stat
import sys
import tarfile
import time
import zipfile


def content(file: dict) -> bytes:
    if "text" in file:
        return file["text"].encode()
    with open(file["path"], "rb") as opened:
        return opened.read()


def write_tarball(plan: dict) -> None:
    with open(plan["out"], "wb") as out:
        # Neither the name nor the time of the file are in the header.
        with gzip.GzipFile("", "wb", plan["level"], out, mtime=0) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
                for file in plan["files"]:
                    data = content(file)
                    entry = tarfile.TarInfo(file["name"])
                    entry.size, entry.mode, entry.mtime = len(data), file["mode"], plan["time"]
                    archive.addfile(entry, io.BytesIO(data))


def write_wheel(plan: dict) -> None:
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(plan["out"], "w") as archive:
        for file in plan["files"]:
            data = content(file)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow([file["name"], f"sha256={digest}", len(data)])
            add(archive, plan, file["name"], file["mode"], data)
        rows.writerow([plan["record"], "", ""])
        add(archive, plan, plan["record"], 0o644, record.getvalue().encode())


def add(archive: zipfile.ZipFile, plan: dict, name: str, mode: int, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, time.gmtime(plan["time"])[:6])
    # 3 is Unix, whatever this system is.
    entry.create_system, entry.external_attr = 3, (stat.S_IFREG | mode) << 16
    method = zipfile.ZIP_DEFLATED if plan["level"] else zipfile.ZIP_STORED
    archive.writestr(entry, data, method, plan["level"] or None)


def main() -> None:
    plan = json.load(sys.stdin)
    if plan["record"] is None:
        write_tarball(plan)
    else:
        write_wheel(plan)


if __name__ == "__main__":
    main()
