"""Certificates of a test's own CA."""

import subprocess

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def authority(folder):
    """A CA: its certificate and key."""
    folder.mkdir()
    certificate, key = folder / "ca.pem", folder / "ca.key"
    openssl(
        *("req", "-x509", *CURVE, "-days", "2", "-subj", f"/CN={folder.name}"),
        *("-keyout", key, "-out", certificate),
    )
    return certificate, key


def signed(folder, ca, name, usage="serverAuth"):
    """A certificate for a name, of a server or a client (clientAuth), and its key."""
    who = usage.removesuffix("Auth")
    certificate, key, request = (folder / f"{who}.{end}" for end in ("pem", "key", "csr"))
    extensions = folder / f"{who}.ext"
    extensions.write_text(f"subjectAltName = DNS:{name}\nextendedKeyUsage = {usage}\n")
    openssl("req", "-new", *CURVE, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    openssl(
        *("x509", "-req", "-in", request, "-CA", ca[0], "-CAkey", ca[1], "-CAcreateserial"),
        *("-days", "2", "-extfile", extensions, "-out", certificate),
    )
    return certificate, key
