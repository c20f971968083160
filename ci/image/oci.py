"""Writes container images as OCI layouts in a tar file: without a daemon, a registry or root, and always the same
bytes for the same files."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class Layer:
    """Files of an image, sorted by path; owners and times are fixed."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.entries = {}

    def _entry(self, path, kind, mode, owner=0):
        path = path.strip("/")
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.directory(parent)
        info = tarfile.TarInfo(path)
        info.type, info.mode, info.mtime = kind, mode, self.epoch
        info.uid = info.gid = owner
        return path, info

    def directory(self, path, mode=0o755, owner=0):
        path, info = self._entry(path, tarfile.DIRTYPE, mode, owner)
        self.entries[path] = (info, None)

    def file(self, path, data, mode=0o644):
        path, info = self._entry(path, tarfile.REGTYPE, mode)
        info.size = len(data)
        self.entries[path] = (info, data)

    def link(self, path, target):
        path, info = self._entry(path, tarfile.SYMTYPE, 0o777)
        info.linkname = target
        self.entries[path] = (info, None)

    def tree(self, root, keep=lambda path: True):
        """Everything below a directory of this machine."""
        for base, directories, files in os.walk(root):
            for name in directories + files:
                full = os.path.join(base, name)
                path = os.path.relpath(full, root)
                if not keep(path):
                    continue
                if os.path.islink(full):
                    self.link(path, os.readlink(full))
                elif os.path.isfile(full):
                    with open(full, "rb") as file:
                        self.file(path, file.read(), os.stat(full).st_mode & 0o777)

    def tar(self):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in sorted(self.entries):
                info, data = self.entries[path]
                tar.addfile(info, io.BytesIO(data) if data is not None else None)
        return buffer.getvalue()


def _json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def compress(data, how, level):
    if how == "gzip":
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=level, mtime=0) as file:
            file.write(data)
        return packed.getvalue()
    # A program of 200 MB repeats itself over long distances: a window of 128 MB, the largest that every decoder takes.
    command = ["zstd", "-q", f"-{level}", "--long=27", "-T1", "-c"]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def decompress(data, media_type):
    """The tar file of a layer."""
    if media_type.endswith("gzip"):
        return gzip.decompress(data)
    return subprocess.run(["zstd", "-q", "-d", "--long=27", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def write(target, name, layers, config, created, how="gzip", level=9):
    """Writes the image, and gives its digest, compressed and unpacked bytes."""
    blobs = {}

    def blob(data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    descriptors, differences, unpacked = [], [], 0
    for layer in layers:
        tar = layer.tar()
        unpacked += len(tar)
        differences.append("sha256:" + hashlib.sha256(tar).hexdigest())
        descriptors.append(blob(compress(tar, how, level), f"{LAYER}+{how}"))
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    image = {
        "architecture": machine,
        "os": "linux",
        "created": created,
        "rootfs": {"type": "layers", "diff_ids": differences},
        "config": config,
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(_json(image), CONFIG),
        "layers": descriptors,
    }
    listed = blob(_json(manifest), MANIFEST)
    listed["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rsplit(":", 1)[1],
    }
    listed["platform"] = {"architecture": machine, "os": "linux"}
    index = _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [listed]})
    files = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": index}
    files |= {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(files):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(files[path]), 0o644
            tar.addfile(info, io.BytesIO(files[path]))
    compressed = sum(descriptor["size"] for descriptor in descriptors)
    return listed["digest"], compressed, unpacked
