"""Servers of other people, started on loopback by the tests, and killed by them."""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PATIENCE_S = 180


def free_ports(count):
    """Find ports that nobody has now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [made.getsockname()[1] for made in sockets]
    for made in sockets:
        made.close()
    return ports


def libraries(name):
    """Have Maven fetch a server by name, once; it needs no more than its own configuration."""
    maven, java = shutil.which("mvn"), shutil.which("java")
    if not maven or not java:
        pytest.skip("mvn and java fetch and run the server")
    recipe = HERE / name / "pom.xml"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tcpwhy", "servers")
    folder = cache / f"{name}-{hashlib.sha256(recipe.read_bytes()).hexdigest()[:8]}"
    if not (folder / "lib").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(recipe, folder / "pom.xml")
        unfinished = folder / f"lib.{os.getpid()}"
        command = [maven, "-q", "-B", "dependency:copy-dependencies"]
        command.append(f"-DoutputDirectory={unfinished}")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Maven could not fetch {name}: {done.stdout[-300:]}")
        unfinished.rename(folder / "lib")
    return folder / "lib"


class Server:
    """A program that answers once it is up."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def command(self):
        raise NotImplementedError

    def is_up(self):
        raise NotImplementedError

    def start(self):
        """Start it, and wait until it answers."""
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            self.command(), cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        log.close()
        until = time.monotonic() + PATIENCE_S
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                said = (self.folder / "log").read_text(errors="replace")[-2000:]
                pytest.fail(f"{self.command()[0]} did not start: {said}")
            time.sleep(0.2)
        return self

    def kill(self):
        """End it as a crash does."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class OpenSearch(Server):
    """A cluster of one node."""

    def __init__(self, folder):
        super().__init__(folder)
        self.libraries = libraries("opensearch")
        self.port, self.transport = free_ports(2)
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self):
        java = ["java", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{self.libraries}/*"]
        main = HERE / "opensearch" / "Main.java"
        return [*java, str(main), str(self.folder / "data"), str(self.port), str(self.transport)]

    def is_up(self):
        try:
            asked = f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=1s"
            with urllib.request.urlopen(asked, timeout=3) as answer:
                return b'"timed_out":false' in answer.read()
        except (OSError, urllib.error.URLError):
            return False


class Kafka(Server):
    """A broker that is its own controller, or the second one of a cluster.

    A cluster keeps every partition at both; the second broker may be killed, the first one leads.
    """

    def __init__(self, folder, *, first=None, is_cluster=False):
        super().__init__(folder)
        self.libraries = libraries("kafka")
        self.port, self.controller = free_ports(2)
        settings = (HERE / "kafka" / "server.properties").read_text()
        if first is not None:
            self.controller = first.controller
            settings = settings.replace("process.roles=broker,controller", "process.roles=broker")
            settings = settings.replace("node.id=1", "node.id=2")
            settings = settings.replace(",CONTROLLER://127.0.0.1:CONTROLLER_PORT", "")
        if is_cluster or first is not None:
            settings += CLUSTER
        settings = settings.replace("CONTROLLER_PORT", str(self.controller))
        settings = settings.replace("BROKER_PORT", str(self.port))
        settings = settings.replace("DATA", str(folder / "data"))
        (folder / "server.properties").write_text(settings)
        format = [*self._java("kafka.tools.StorageTool"), "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg"]
        subprocess.run(
            [*format, "-c", "server.properties"], cwd=folder, check=True, capture_output=True
        )

    def _java(self, main):
        memory = ["-Xms128m", "-Xmx384m", "-XX:+UseSerialGC"]
        return ["java", *memory, "-cp", f"{self.libraries}/*", main]

    def command(self):
        return [*self._java("kafka.Kafka"), "server.properties"]

    def is_up(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


CLUSTER = """
default.replication.factor=2
min.insync.replicas=1
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""
"""Both have all; who does not answer for three seconds is left out."""


class Prometheus(Server):
    """A server that scrapes one address, with rules."""

    def __init__(self, folder, *, scrape, rules):
        super().__init__(folder)
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: ['{rules}']\n"
            "scrape_configs:\n"
            "  - job_name: tcpwhy\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{scrape}']}}]\n"
        )

    def command(self):
        program = shutil.which("prometheus") or pytest.skip("prometheus is not installed")
        options = ["--config.file=prometheus.yml", f"--storage.tsdb.path={self.folder / 'data'}"]
        return [program, *options, f"--web.listen-address=127.0.0.1:{self.port}"]

    def is_up(self):
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2):
                return True
        except (OSError, urllib.error.URLError):
            return False
