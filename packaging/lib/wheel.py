"""Writes a wheel that carries a program, so that `pip install` puts it among the commands of an environment.

    wheel.py --name NAME --version VERSION --tag TAG --program FILE --readme FILE [--licence FILE]... [--sbom FILE] FOLDER

The tag is that of the platform, such as `manylinux_2_28_x86_64`; the program needs no certain Python. The path of the wheel is
printed. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

SUMMARY = "Larder's program: compares caches on the same verified work, and serves one to the clients of memcached"


def metadata(options: argparse.Namespace) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {options.name}",
        f"Version: {options.version}",
        f"Summary: {SUMMARY}",
        "License-Expression: MIT OR Apache-2.0",
        *(f"License-File: {licence.name}" for licence in options.licence),
        "Keywords: cache,benchmark,memcached,redis",
        "Classifier: Environment :: Console",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Rust",
        "Requires-Python: >=3.9",
        "Description-Content-Type: text/markdown",
        "",
        options.readme.read_text(),
    ]
    return "\n".join(lines)


def files_of(options: argparse.Namespace) -> dict[str, tuple[bytes, int]]:
    """The content and the mode of each file in the wheel but the record of them."""
    base = f"{options.name.replace('-', '_')}-{options.version}"
    info = f"{base}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: packaging/release\nRoot-Is-Purelib: false\nTag: py3-none-{options.tag}\n"
    files = {
        f"{base}.data/scripts/larder": (options.program.read_bytes(), 0o755),
        f"{info}/METADATA": (metadata(options).encode(), 0o644),
        f"{info}/WHEEL": (wheel.encode(), 0o644),
    }
    for licence in options.licence:
        files[f"{info}/licenses/{licence.name}"] = (licence.read_bytes(), 0o644)
    if options.sbom:
        files[f"{info}/sboms/{options.sbom.name}"] = (options.sbom.read_bytes(), 0o644)
    record = [f"{name},sha256={sum_of(data)},{len(data)}" for name, (data, _) in sorted(files.items())]
    # The record comes last, and has no sum of itself.
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,", ""]).encode(), 0o644)
    return files


def sum_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a wheel that carries a program.")
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--tag", required=True)
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--readme", required=True, type=Path)
    parser.add_argument("--licence", action="append", default=[], type=Path)
    parser.add_argument("--sbom", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    path = options.folder / f"{options.name.replace('-', '_')}-{options.version}-py3-none-{options.tag}.whl"
    # A zip begins in 1980.
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315_532_800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in files_of(options).items():
            member = zipfile.ZipInfo(name, moment)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100000 | mode) << 16
            archive.writestr(member, data)
    print(path)


if __name__ == "__main__":
    main()
