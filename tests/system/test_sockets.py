"""`tcpwhy sockets`: the sockets of this host as the kernel's diagnostics show them."""

import json
import os
import socket
import threading
import time
import warnings

import pytest

from tcpwhy.host.sockets import owners, snapshot


@pytest.fixture
def slow_reader():
    """Two connected sockets of this process: one writes all it can, the other reads 8 Mbit/s."""
    listener = socket.create_server(("127.0.0.1", 0))
    writer = socket.socket()
    writer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    writer.connect(listener.getsockname())
    reader, _ = listener.accept()
    stopped = threading.Event()

    def write():
        try:
            while not stopped.is_set():
                writer.send(bytes(1 << 16))
        except OSError:
            return

    def read():
        while not stopped.wait(0.01):
            reader.recv(10_000)

    threads = [threading.Thread(target=work) for work in (write, read)]
    for thread in threads:
        thread.start()
    yield writer, reader
    stopped.set()
    writer.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
    for one in (writer, reader, listener):
        one.close()


def test_a_socket_is_found_with_all_that_its_owner_sees(slow_reader):
    writer, reader = slow_reader
    # Until the writer has filled all buffers.
    time.sleep(0.5)
    port = writer.getsockname()[1]
    [found] = [one for one in snapshot() if one.src_port == port]
    assert (found.dst, found.dst_port) == reader.getsockname()
    assert found.inode == os.fstat(writer.fileno()).st_ino
    assert found.sample["controller"] == "cubic"
    assert found.sample["sndbuf_bytes"] == writer.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    assert found.sample["bytes_acked"] > 0
    assert owners()[found.inode][0] == os.getpid()


def test_the_limit_of_both_ends_is_named(slow_reader, tcpwhy):
    writer, _ = slow_reader
    time.sleep(0.5)
    done = tcpwhy("sockets", "--pid", os.getpid(), "--count", "1", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    port = writer.getsockname()[1]
    [sender] = [row for row in rows if row["src_port"] == port]
    [receiver] = [row for row in rows if row["dst_port"] == port]
    assert sender["cause"] == "receiver_window/slow_reader", sender["evidence"]
    assert "wait unread by this program" in receiver["evidence"]
    assert sender["pid"] == receiver["pid"] == os.getpid()


def test_a_process_that_is_not_there_is_named(tcpwhy):
    # Above the largest number that Linux gives a process (PID_MAX_LIMIT).
    done = tcpwhy("sockets", "--pid", (1 << 22) + 1, "--count", "1")
    assert done.returncode == 3
    assert "no process 4194305 here" in done.stderr


def test_a_pipe_gets_addresses_whole_and_sentences_that_fit_a_page(slow_reader, tcpwhy):
    done = tcpwhy("sockets", "--count", "1", "--evidence")
    assert done.returncode == 0, done.stderr
    assert "receiver_window/slow_reader" in done.stdout
    here, there = ("{}:{}".format(*one.getsockname()) for one in slow_reader)
    assert f"{here} → {there}" in done.stdout
    sentences = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    assert sentences
    assert max(map(len, sentences)) <= 100


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_no_privilege_is_needed(slow_reader):
    writer, _ = slow_reader
    time.sleep(0.3)
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # The child only asks the kernel and exits: threads that it does not have do not matter.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        found = [one for one in snapshot() if one.src_port == writer.getsockname()[1]]
        os.write(write_end, str(len(found)).encode())
        os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end) as pipe:
        assert pipe.read() == "1"
