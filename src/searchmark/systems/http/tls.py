"""What a system trusts and shows of itself on an encrypted connection."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchmark.errors import InputError


@dataclass(frozen=True, slots=True)
class Tls:
    """Options of TLS; files are relative to the project's folder."""

    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    server_name: str | None = None
    verify: bool = True

    def options(self, folder: Path) -> dict[str, Any]:
        """Return what the connection pool takes; a file that is missing or wrong is an error."""
        context = ssl.create_default_context()  # takes 70 ms: one for all connections
        if self.ca_file is not None:
            _load(folder / self.ca_file, "ca_file", lambda p: context.load_verify_locations(p))
        if self.client_cert is not None:
            key = None if self.client_key is None else folder / self.client_key
            if key is not None and not key.is_file():
                raise InputError("client_key: there is no such file", path=key)
            _load(
                folder / self.client_cert,
                "client_cert",
                # a key that wants a password is an error: nobody is there to type it
                lambda p: context.load_cert_chain(p, key, password=lambda: b""),
            )
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        found: dict[str, Any] = {"ssl_context": context}
        if not self.verify:
            found["cert_reqs"] = "CERT_NONE"
        if self.server_name is not None:
            found["server_hostname"] = self.server_name
        return found


def _load(path: Path, key: str, load: Any) -> None:
    if not path.is_file():
        raise InputError(f"{key}: there is no such file", path=path)
    try:
        load(path)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise InputError(f"{key}: holds no certificate that can be used", path=path) from error
