"""Addresses of Qdrant servers that are misspelt, connections that fail, and what servers say: each with its remedy."""

import contextlib
import datetime
import ipaddress
import json
import ssl
import threading
import warnings

import pytest
from kinsplit_testing import SCHEMA, make_store

from kinsplit.errors import InvalidParameterError, KinsplitWarning, StoreError
from kinsplit.stores import open_store
from kinsplit.stores.engines.qdrant.options import parse_location

pytest.importorskip("qdrant_client")
from kinsplit.stores.engines.qdrant.errors import reason_of
from tests.local_server import QuietHandler, running
from tests.stores.test_qdrant_recordings import recorded


@pytest.mark.parametrize(
    "address",
    ["qdrant:localhost:6333", "qdrant://localhost:6333", "http://localhost:6333", "localhost:6333", "//localhost:6333"],
)
def test_an_address_without_its_scheme_leads_to_the_right_one(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameterError, match="qdrant:http://localhost:6333") as caught:
        open_store(address if address[0] != "/" else f"qdrant:{address}", "cs", SCHEMA)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_advice_names_no_user_and_no_password():
    for address in ("https://me:secret@host:6333", "postgresql://me:secret@host/db"):
        with pytest.raises(InvalidParameterError) as caught:
            open_store(address, "cs")
        assert "secret" not in str(caught.value)
        assert "me@" not in str(caught.value)


@pytest.mark.parametrize("folder", ["data", "./localhost:6333", "host-1", "data/2024:1", ":memory:"])
def test_a_folder_stays_a_folder(folder):
    assert parse_location(folder)[0] == folder


class Refusal:
    def __init__(self, exchange):
        from qdrant_client.http.exceptions import UnexpectedResponse

        answer = exchange["answer"]
        content = answer if isinstance(answer, str) else json.dumps(answer)
        self.error = UnexpectedResponse(exchange["status"], "", content.encode(), None)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("facet_without_index", "was not finished when it was made"),
        (
            "key_of_own_name",
            "refuses access: Access to collection c is required. Set .* KINSPLIT_QDRANT_API_KEY to a key",
        ),
        ("no_key", "refuses access. Set the environment variable KINSPLIT_QDRANT_API_KEY to a key of the server"),
        ("reader_writes", "Global manage access is required"),
        ("replica_down", "a node of the cluster .* is down: http://127.0.0.1:6355/. Start it again"),
    ],
)
def test_the_words_of_the_server_come_with_a_remedy(case, words):
    (exchange,) = (each for each in recorded("refused") if each["case"] == case)
    error = Refusal(exchange).error
    with pytest.raises(StoreError, match=words):
        raise StoreError(reason_of(error))


def test_a_full_disk_is_named():
    answer = {"status": {"error": "Service internal error: No space left on device: WAL buffer size exceeds ..."}}
    assert "the disk of the server is full" in reason_of(Refusal({"status": 500, "answer": answer}).error)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of this machine, which nobody trusts, and its key, in one file."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return file


class Strange(QuietHandler):
    def do_GET(self):
        self.respond(b"hello", 200, {})


def refused(address):
    with pytest.raises(StoreError) as caught:
        make_store(address, "cs", SCHEMA)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.enable_socket
def test_a_certificate_that_is_not_trusted_is_named_with_the_remedy(certificate):
    import socket

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as plain, context.wrap_socket(plain, server_side=True) as server:

        def shake():
            for _ in range(2):
                with contextlib.suppress(OSError):
                    server.accept()[0].close()

        waiting = threading.Thread(target=shake, daemon=True)
        waiting.start()
        message = refused(f"qdrant:https://127.0.0.1:{server.getsockname()[1]}")
        assert "the certificate of the server is not trusted" in message
        assert "SSL_CERT_FILE" in message
        # A server with TLS closes a connection without it.
        message = refused(f"qdrant:http://127.0.0.1:{server.getsockname()[1]}")
        assert "write https:// in the address" in message
        waiting.join(5)


@pytest.mark.enable_socket
def test_a_server_without_tls_is_named_as_such():
    with running(Strange) as port:
        message = refused(f"qdrant:https://127.0.0.1:{port}")
    assert "the server does not use TLS" in message
    assert "Write http://" in message


@pytest.mark.enable_socket
def test_grpc_trusts_what_ssl_cert_file_names(certificate, tmp_path):
    """In processes of their own, since gRPC reads its certificates once."""
    import os
    import subprocess
    import sys

    script = tmp_path / "ask.py"
    script.write_text(_ASK)
    for trusted, words in (({}, "not trusted"), ({"SSL_CERT_FILE": str(certificate)}, "version='1.18.3'")):
        environment = {key: value for key, value in os.environ.items() if key != "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"}
        done = subprocess.run(
            [sys.executable, script, certificate],
            capture_output=True,
            text=True,
            env={**environment, **trusted},
            timeout=60,
        )
        assert words in done.stdout
        assert done.stderr == ""


_ASK = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kinsplit.stores.engines.qdrant import ENGINE
from kinsplit.stores.engines.qdrant.collection import open_client
from kinsplit.stores.engines.qdrant.errors import reason_of
from kinsplit.stores.engines.qdrant.options import parse_location
from qdrant_client import grpc
from qdrant_client.grpc import qdrant_pb2_grpc
import grpc as transport


class Root(qdrant_pb2_grpc.QdrantServicer):
    def HealthCheck(self, request, context):
        return grpc.HealthCheckReply(title="qdrant - vector search engine", version="1.18.3")


server = transport.server(ThreadPoolExecutor(2))
qdrant_pb2_grpc.add_QdrantServicer_to_server(Root(), server)
both = Path(sys.argv[1]).read_bytes()
port = server.add_secure_port("127.0.0.1:0", transport.ssl_server_credentials([(both, both)]))
server.start()
client = open_client(*parse_location(f"https://127.0.0.1:9?grpc=true&grpc_port={port}&timeout=9"))
try:
    print(repr(client.info()))
except Exception as error:
    print(reason_of(error))
server.stop(None)
"""


def test_a_key_without_tls_is_a_line_of_kinsplit_unless_it_stays_on_this_machine(monkeypatch):
    from kinsplit.stores.engines.qdrant.collection import open_client

    monkeypatch.setenv("KINSPLIT_QDRANT_API_KEY", "secret")
    with pytest.warns(KinsplitWarning, match="http://example.org: the API key is sent without encryption") as caught:
        open_client(*parse_location("http://example.org")).close()
    assert len(caught) == 1
    assert "secret" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for here in ("http://localhost:6333", "http://127.0.0.1:6333", "http://[::1]:6333", "https://example.org"):
            open_client(*parse_location(here)).close()
