"""Writes a container image as a tar archive with an OCI layout, for several architectures, without a daemon.

    image.py --version VERSION --source URL --doc FOLDER --output FILE ARCHITECTURE=PROGRAM...

An architecture is `amd64` or `arm64`, and its program is static, because nothing but its documents lies beside it. The same
input gives the same bytes: times are SOURCE_DATE_EPOCH, and files stand in the order of their names.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

Blobs = dict[str, bytes]

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
# A user without rights or files: nobody.
USER = 65534


def entry(name: str, mode: int, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode, info.type, info.size, info.mtime = mode, kind, size, EPOCH
    return info


def layer(program: Path, documents: Path) -> bytes:
    """The one layer of the image: the program, its documents, and a folder for files of a moment."""
    files = {f"usr/share/doc/larder/{path.name}": (path.read_bytes(), 0o644) for path in documents.iterdir()}
    files["usr/bin/larder"] = (program.read_bytes(), 0o755)
    folders = {str(parent) for name in files for parent in Path(name).parents if parent.name}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(folders | files.keys() | {"tmp"}):
            if name in files:
                data, mode = files[name]
                tar.addfile(entry(name, mode, size=len(data)), io.BytesIO(data))
            else:
                tar.addfile(entry(name, 0o1777 if name == "tmp" else 0o755, tarfile.DIRTYPE))
    return buffer.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def kept(blobs: Blobs, media: str, data: bytes) -> dict[str, Any]:
    """Puts data among the blobs, and returns its descriptor."""
    blobs[digest(data)] = data
    return {"mediaType": f"application/vnd.oci.image.{media}", "digest": digest(data), "size": len(data)}


def as_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def labels(options: argparse.Namespace) -> dict[str, str]:
    label = "org.opencontainers.image"
    return {
        f"{label}.title": "larder",
        f"{label}.description": "A cache server for the clients of memcached",
        f"{label}.licenses": "MIT OR Apache-2.0",
        f"{label}.source": options.source,
        f"{label}.version": options.version,
    }


def manifest(blobs: Blobs, architecture: str, program: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The descriptor of the image for one architecture."""
    content = layer(program, options.doc)
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": datetime.datetime.fromtimestamp(EPOCH, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/larder", "serve"],
            # Within a container, its own network is the boundary.
            "Cmd": ["-l", "0.0.0.0"],
            "Env": ["PATH=/usr/bin"],
            "ExposedPorts": {"11211/tcp": {}},
            "StopSignal": "SIGTERM",
            "Labels": labels(options),
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(content)]},
        "history": [{"created_by": "packaging/release"}],
    }
    made = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": kept(blobs, "config.v1+json", as_json(config)),
        "layers": [kept(blobs, "layer.v1.tar+gzip", gzip.compress(content, 6, mtime=0))],
        "annotations": labels(options),
    }
    platform = {"architecture": architecture, "os": "linux"}
    return kept(blobs, "manifest.v1+json", as_json(made)) | {"platform": platform}


def layout(options: argparse.Namespace) -> dict[str, bytes]:
    """The files of the layout. The index names one image, which has a manifest for each architecture."""
    blobs: Blobs = {}
    manifests = []
    for pair in options.programs:
        architecture, _, program = pair.partition("=")
        manifests.append(manifest(blobs, architecture, Path(program), options))
    head = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}
    image = kept(blobs, "index.v1+json", as_json(head | {"manifests": manifests, "annotations": labels(options)}))
    names = {
        "org.opencontainers.image.ref.name": options.version,
        # The name by which containerd, and so docker, loads the archive.
        "io.containerd.image.name": f"docker.io/library/larder:{options.version}",
    }
    files = {f"blobs/sha256/{name.removeprefix('sha256:')}": data for name, data in blobs.items()}
    files["index.json"] = as_json(head | {"manifests": [image | {"annotations": names}]})
    files["oci-layout"] = as_json({"imageLayoutVersion": "1.0.0"})
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a container image as an OCI layout.")
    parser.add_argument("--version", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--doc", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("programs", nargs="+", metavar="ARCHITECTURE=PROGRAM")
    options = parser.parse_args()
    files = layout(options)
    with tarfile.open(options.output, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in ("blobs", "blobs/sha256"):
            tar.addfile(entry(name, 0o755, tarfile.DIRTYPE))
        for name, data in sorted(files.items()):
            tar.addfile(entry(name, 0o644, size=len(data)), io.BytesIO(data))


if __name__ == "__main__":
    main()
