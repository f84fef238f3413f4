"""Kafka over TLS with a password: rows arrive, and what is refused is one line."""

import subprocess
from pathlib import Path

import pytest
from servers import Kafka, free_ports
from test_sink_servers import consume, flow

from tcpwhy.sinks import open_sink

pytestmark = pytest.mark.system

CAPTURE = Path(__file__).parent.parent / "data" / "slow_reader.pcap"

SETTINGS = """
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.pem
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_tcpwhy="right";
"""


class SecureKafka(Kafka):
    """A broker with a second listener, for SASL over TLS."""

    def __init__(self, folder):
        super().__init__(folder)
        (self.secure,) = free_ports(1)
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        command += ["-keyout", "key.pem", "-out", "ca.pem", "-subj", "/CN=127.0.0.1"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        both = (folder / "key.pem").read_text() + (folder / "ca.pem").read_text()
        (folder / "server.pem").write_text(both)
        path = folder / "server.properties"
        text = path.read_text().replace(
            f"PLAINTEXT://127.0.0.1:{self.port}",
            f"PLAINTEXT://127.0.0.1:{self.port},SASL_SSL://127.0.0.1:{self.secure}",
        )
        text = text.replace("map=PLAINTEXT:", "map=SASL_SSL:SASL_SSL,PLAINTEXT:")
        path.write_text(text + SETTINGS.format(folder=folder))

    def properties(self, *, password="right", ca="ca.pem"):
        """Write a client's settings."""
        path = self.folder / f"client-{password}-{ca}.conf"
        path.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=tcpwhy\n"
            f"sasl.password={password}\nssl.ca.location={self.folder / ca}\n"
        )
        return path


@pytest.fixture(scope="module")
def kafka(tmp_path_factory, tool):
    tool("openssl")
    server = SecureKafka(tmp_path_factory.mktemp("secure"))
    yield server.start()
    server.kill()


def test_rows_arrive_over_tls_though_the_first_broker_is_away(
    kafka, batch_of, monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (dead,) = free_ports(1)
    place = f"kafka://127.0.0.1:{dead}/secure?brokers=127.0.0.1:{kafka.secure}"
    target = f"{place}&properties={kafka.properties()}"
    sink = open_sink(target, format=None, tables=["flows"])
    sink.write("flows", batch_of("flows", *map(flow, range(100))))
    sink.close()
    seen, _ = consume(kafka, "secure.flows", 100, lambda message: [message.key()])
    assert len(seen) == 100


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"password": "wrong"}, "Invalid username or password"), ({"ca": "other.pem"}, "certificate")],
)
def test_what_is_refused_is_one_line(kafka, tcpwhy, tmp_path, changed, told):
    if "ca" in changed:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        command += ["-keyout", "other-key.pem", "-out", "other.pem", "-subj", "/CN=other"]
        subprocess.run(command, cwd=kafka.folder, check=True, capture_output=True)
    target = f"kafka://127.0.0.1:{kafka.secure}/x?properties={kafka.properties(**changed)}"
    done = tcpwhy("analyze", CAPTURE, "-o", target)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert told in done.stderr
    assert "right" not in done.stderr
