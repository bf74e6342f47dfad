"""Lists the crates that a program contains: an SBOM in CycloneDX's JSON, and the notices that their licences ask for.

    inventory.py --manifest FILE --package NAME --target TRIPLE --sbom FILE --notices FILE [--with FILE]...

Each file of `--with` goes to the end of the notices. The crates are those that cargo compiles for the target. The SBOM also has
the crates that only build the program, marked as `excluded`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

Package = dict[str, Any]

# The libraries in C whose sources crates bring: name, package, CPE without its version, and the header that defines the version
# with the names of its parts. The SBOM names them, because faults are published for them and not for the crates.
VENDORED = {
    "libsqlite3-sys": ("SQLite", "pkg:generic/sqlite", "cpe:2.3:a:sqlite:sqlite", "sqlite3/sqlite3.h", ["SQLITE_VERSION"]),
    "liblzma-sys": ("XZ Utils", "pkg:github/tukaani-project/xz", "cpe:2.3:a:tukaani:xz", "xz/src/liblzma/api/lzma/version.h",
                    ["LZMA_VERSION_MAJOR", "LZMA_VERSION_MINOR", "LZMA_VERSION_PATCH"]),
    "lmdb-master-sys": ("LMDB", "pkg:github/LMDB/lmdb", None, "lmdb/libraries/liblmdb/lmdb.h",
                        ["MDB_VERSION_MAJOR", "MDB_VERSION_MINOR", "MDB_VERSION_PATCH"]),
    "zstd-sys": ("Zstandard", "pkg:github/facebook/zstd", "cpe:2.3:a:facebook:zstandard", "zstd/lib/zstd.h",
                 ["ZSTD_VERSION_MAJOR", "ZSTD_VERSION_MINOR", "ZSTD_VERSION_RELEASE"]),
}
# Crates that compile C or assembly of their own.
OWN_C = {"ring"}

NOTICE = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)
APACHE = "Apache-2.0"
RULE = "=" * 100


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def names_of(options: argparse.Namespace, edges: str) -> set[tuple[str, str]]:
    """The names and versions that `cargo tree` has below the package."""
    tree = cargo("tree", "--locked", "--manifest-path", options.manifest, "--package", options.package,
                 "--target", options.target, "--edges", edges, "--prefix", "none", "--format", "{p}")
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in tree.splitlines() if line}


def packages_of(options: argparse.Namespace) -> list[Package]:
    """The packages in the program and those that build it, in the order of their names."""
    built = names_of(options, "normal,build")
    within = names_of(options, "normal,no-proc-macro")
    text = cargo("metadata", "--format-version", "1", "--locked", "--manifest-path", options.manifest,
                 "--filter-platform", options.target)
    metadata = json.loads(text)
    with open(Path(metadata["workspace_root"]) / "Cargo.lock", "rb") as file:
        locked = {(entry["name"], entry["version"]): entry.get("checksum") for entry in tomllib.load(file)["package"]}
    edges = {
        node["id"]: [edge["pkg"] for edge in node["deps"] if any(kind["kind"] != "dev" for kind in edge["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    packages = []
    for package in metadata["packages"]:
        key = (package["name"], package["version"])
        if key in built:
            package |= {"within": key in within, "checksum": locked[key], "edges": edges.get(package["id"], [])}
            packages.append(package)
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def purl(package: Package) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def vendored(package: Package) -> list[dict[str, Any]]:
    """The library in C that a crate brings, as components of the SBOM."""
    name, url, cpe, header, parts = VENDORED[package["name"]]
    text = (Path(package["manifest_path"]).parent / header).read_text(errors="replace")
    found = [re.search(rf'^#define\s+{part}\s+"?([0-9.]+)"?\s*$', text, re.MULTILINE) for part in parts]
    if not all(found):
        sys.exit(f"{package['name']}: {header} defines not all of {', '.join(parts)}")
    version = ".".join(part[1] for part in found)
    made = {"type": "library", "bom-ref": f"{url}@{version}", "name": name, "version": version, "purl": f"{url}@{version}"}
    return [made | {"cpe": f"{cpe}:{version}:*:*:*:*:*:*:*"} if cpe else made]


def component(package: Package) -> dict[str, Any]:
    made = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required" if package["within"] else "excluded",
        "purl": purl(package),
    }
    if package["license"]:
        # Cargo still takes the slash of old manifests, and SPDX does not.
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["checksum"]:
        made["hashes"] = [{"alg": "SHA-256", "content": package["checksum"]}]
    if package["within"] and package["name"] in VENDORED:
        made["components"] = vendored(package)
    return made


def sbom(options: argparse.Namespace, packages: list[Package]) -> dict[str, Any]:
    """The bill of materials; the same sources give the same bytes."""
    refs = {package["id"]: purl(package) for package in packages}
    [compiler] = {package["id"] for package in packages if package["name"] == "cc"} or [None]
    unknown = [package["name"] for package in packages if package["within"] and compiler in package["edges"]
               and package["name"] not in OWN_C | VENDORED.keys()]
    if unknown:
        sys.exit(f"add to VENDORED or OWN_C of inventory.py what these crates compile in C: {', '.join(unknown)}")
    [root] = [package for package in packages if package["name"] == options.package]
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.UTC)
    parts = [component(package) for package in packages if package is not root]
    dependencies = [
        {"ref": purl(package), "dependsOn": sorted({refs[edge] for edge in package["edges"] if edge in refs})}
        for package in packages
    ]
    content = json.dumps([options.target, parts, dependencies], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(root) | {"type": "application"},
            "properties": [{"name": "cargo:target", "value": options.target}],
        },
        "components": parts,
        "dependencies": dependencies,
    }


def texts_of(package: Package) -> list[tuple[str, str]]:
    """The licence files of a crate, with their names."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and NOTICE.match(path.name)]
    return [(path.name, path.read_text(errors="replace").replace("\r\n", "\n").strip()) for path in files]


def notices(options: argparse.Namespace, packages: list[Package]) -> str:
    """A section for each text, with the crates that have it.

    Of a choice between licences, Apache-2.0 is taken, whose text is the same for all. Its NOTICE files stay.
    """
    sections: dict[str, list[str]] = defaultdict(list)
    apache, lacking = [], []
    for package in packages:
        # Larder's own crates have the licence of the program.
        if not package["within"] or package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        texts = texts_of(package)
        choices = re.split(r"\s+OR\s+|/", (package["license"] or "").strip("()"))
        if APACHE in choices:
            apache.append(name)
            texts = [(file, text) for file, text in texts if file.upper().startswith("NOTICE")]
        elif not texts:
            lacking.append(f"{name}: {package['license']}, by {', '.join(package['authors']) or 'its authors'}")
        for _, text in texts:
            sections[text].append(name)
    parts = [f"The parts of {options.package} that others have written, and their licences.\n"]
    add = lambda head, text: parts.append(f"{RULE}\n{head}\n{RULE}\n\n{text}\n")
    with_apache = ["the standard library of Rust", *apache]
    licence = Path(__file__).parents[2] / "LICENSE-APACHE"
    add("Used under the Apache License 2.0: " + ", ".join(with_apache), licence.read_text().strip())
    if lacking:
        add("Crates that bring no text of their licence", "\n".join(lacking))
    for text, names in sorted(sections.items(), key=lambda section: section[1]):
        add(", ".join(names), text)
    for file in options.with_files:
        parts.append(f"{RULE}\n\n{Path(file).read_text().strip()}\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Lists the crates that a program contains.")
    for name in ("manifest", "package", "target", "sbom", "notices"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--with", dest="with_files", action="append", default=[])
    options = parser.parse_args()
    packages = packages_of(options)
    Path(options.notices).write_text(notices(options, packages))
    Path(options.sbom).write_text(json.dumps(sbom(options, packages), indent=1) + "\n")
    n_within = sum(package["within"] for package in packages)
    print(f"{n_within} crates are in {options.package}, and {len(packages) - n_within} more build it", file=sys.stderr)


if __name__ == "__main__":
    main()
