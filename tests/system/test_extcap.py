"""Inside Wireshark's own machinery: tshark finds the program, and captures through it."""

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

WRAPPER = Path(__file__).parent.parent.parent / "packaging" / "wireshark" / "tcpwhy-extcap"


@pytest.fixture
def environment(tool):
    """Put the wrapper where tshark looks, for as long as the test lasts."""
    told = subprocess.run([tool("tshark"), "-G", "folders"], capture_output=True, text=True).stdout
    folders = [line.partition(":")[2].strip() for line in told.splitlines() if "xtcap" in line]
    writable = [folder for folder in folders if os.access(folder, os.W_OK)]
    if not writable:
        pytest.skip(f"no right to write to {folders}")
    place = Path(writable[0], "tcpwhy-extcap-test")
    shutil.copy(WRAPPER, place)
    yield os.environ | {"TCPWHY_PYTHON": sys.executable}
    place.unlink()


def transfer(seconds, port):
    """Send as much as a reader with a small window takes, which is paused again and again."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        sender = socket.create_connection(("127.0.0.1", port))
        reader, _ = server.accept()
        end = time.monotonic() + seconds

        def read():
            while time.monotonic() < end and reader.recv(4096):
                time.sleep(0.005)
            reader.close()

        thread = threading.Thread(target=read)
        thread.start()
        try:
            while time.monotonic() < end:
                sender.sendall(bytes(4096))
        except OSError:
            pass
        thread.join()
        sender.close()


def test_tshark_captures_packets_with_verdicts(environment, tmp_path, tool):
    if os.geteuid():
        pytest.skip("capturing takes root")
    tshark = tool("tshark")
    listed = subprocess.run([tshark, "-D"], env=environment, capture_output=True, text=True)
    assert "tcpwhy-lo" in listed.stdout, listed.stderr
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    out = tmp_path / "out.pcapng"
    command = [tshark, "-q", "-i", "tcpwhy-lo", "-f", f"tcp port {port}", "-w", out]
    capture = subprocess.Popen(
        [*command, "-a", "duration:20"], env=environment, stderr=subprocess.PIPE, text=True
    )
    time.sleep(5)
    transfer(12, port)
    _, said = capture.communicate(timeout=90)
    read = [tshark, "-r", out, "-T", "fields", "-e", "tcp.port", "-e", "frame.comment"]
    rows = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    assert rows.count(str(port)) > 100, said
    assert "tcpwhy: limited by" in rows or "tcpwhy: no verdict" in rows, said


@pytest.mark.parametrize("end", ["the reader leaves", "a signal comes to a full pipe"])
def test_a_capture_ends_within_a_second(tmp_path, tool, end):
    """No packet comes any more, so no write fails; or nobody takes what is written."""
    tool("dumpcap")
    if os.geteuid():
        pytest.skip("capturing takes root")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tcpwhy.wireshark.extcap", "--capture", "--fifo", fifo]
    command += ["--extcap-interface", "tcpwhy-lo", "--extcap-capture-filter", f"tcp port {port}"]
    program = subprocess.Popen(command)
    with fifo.open("rb", buffering=0) as reader:
        # The capture has begun when packets come.
        while not select.select([reader], [], [], 0.1)[0]:
            assert program.poll() is None
            transfer(0.1, port)
        if end == "the reader leaves":
            reader.close()
        else:
            transfer(3, port)
            program.terminate()
        began = time.monotonic()
        assert program.wait(60) == 0
        assert time.monotonic() - began < 1.5
