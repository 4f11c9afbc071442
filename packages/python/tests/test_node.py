"""The package against the binary that ESKER_BIN names."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from esker_dev import EskerError, Node, RpcError, start_node

PATIENCE_S = 60
OTHER = "0x00000000000000000000000000000000000000a1"


def height(node: Node) -> int:
    return int(node.rpc("eth_blockNumber"), 16)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # One that nobody has waited for yet has ended, too.
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or ") Z " not in stat.read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def until(what: str, ask: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not ask():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.01)


def refused(text: str, **options: object) -> None:
    with pytest.raises(EskerError, match=text):
        start_node(**options)


def test_accounts_addresses_and_calls() -> None:
    mnemonic = "abandon " * 11 + "about"
    options = {"accounts": 3, "balance": 7, "timestamp": 2_000_000_000, "mnemonic": mnemonic}
    with start_node(**options, args=["--index-enabled"]) as node:
        assert len(node.accounts) == 3
        first = node.accounts[0]
        assert first.c_address == "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
        assert re.fullmatch("0x[0-9a-f]{64}", first.private_key)
        assert first.x_private_key.startswith("PrivateKey-")
        assert int(node.rpc("eth_getBalance", [first.c_address, "latest"]), 16) == 7 * 10**18
        held = node.rpc("xvm.getBalance", {"address": first.x_address, "assetID": "NAT"})
        assert held["balance"] == "7000000000"
        assert node.rpc("info.getNetworkID")["networkID"] == "12345"
        assert node.rpc("rpc.discover", {}, path="/ext/bc/X")
        assert node.rpc("avax.version")
        with pytest.raises(RpcError) as refusal:
            node.rpc("index.isAccepted", {"id": "x"})
        assert refusal.value.method == "index.isAccepted"
        with pytest.raises(ValueError, match="which path"):
            node.rpc("rpc.discover")
        with pytest.raises(RpcError) as refusal:
            node.rpc("eth_no")
        assert (refusal.value.code, refusal.value.method) == (-32601, "eth_no")
        with pytest.raises(EskerError, match="eth_chainId: status 404"):
            node.rpc("eth_chainId", path="/none")
        body = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
        request = urllib.request.Request(node.evm_url, body, {"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=PATIENCE_S) as reply:
            assert json.load(reply)["result"] == "0xa868"
        assert node.ws_url == node.url.replace("http:", "ws:") + "/ext/bc/C/ws"
        assert node.evm_url != node.url
    assert not is_running(node.pid)


def test_blocks_time_and_snapshots() -> None:
    with start_node() as node:
        snapshot = node.snapshot()
        node.mine()
        node.mine(2, 60)
        assert height(node) == 3
        now = node.time()
        assert now + 1000 <= node.increase_time(1000) < now + 1060
        assert node.set_time(4_000_000_000) == 4_000_000_000
        node.revert(snapshot)
        assert height(node) == 0
        assert node.time() < now + 1000
        gone = r"^snapshot 1 is gone: it, or an earlier one, was reverted already, or the node was reset\n(.|\n)*Try"
        with pytest.raises(EskerError, match=gone):
            node.revert(snapshot)
        with pytest.raises(RpcError, match="is lower than"):
            node.set_time(5)

        with node.isolated() as same:
            same.mine(2)
            assert height(node) == 2
        assert height(node) == 0
        with pytest.raises(ZeroDivisionError), node.isolated():
            node.mine(2)
            _ = 1 // 0
        assert height(node) == 0
        with pytest.raises(EskerError, match="is gone"), node.isolated():
            node.rpc("dev.reset")
        with pytest.raises(ZeroDivisionError), node.isolated():
            node.rpc("dev.reset")
            _ = 1 // 0

        tx = {"from": node.accounts[0].c_address, "to": OTHER, "value": hex(5)}
        assert node.wait_receipt(node.rpc("eth_sendTransaction", [tx]))["status"] == "0x1"
        with pytest.raises(EskerError, match="^timed out after 0.05 s: waiting until a block has 0x0000"):
            node.wait_receipt("0x" + "0" * 64, timeout=0.05)


@contextmanager
def server_of(*replies: bytes) -> Iterator[str]:
    """The address of a server that gives each connection the next of some replies, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)

        def serve() -> None:
            for reply in replies:
                client, _ = server.accept()
                client.settimeout(PATIENCE_S)
                with client, client.makefile("rb") as request:
                    lines = iter(request.readline, b"\r\n")
                    sizes = [int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")]
                    request.read(sizes[0])
                    client.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "not every reply was asked for"


def test_answers_that_are_none() -> None:
    error = b'{"error":{"code":-32005,"message":"limit exceeded"}}'
    cases = [
        (429, error, "status 429: .*limit exceeded"),
        (201, b'{"result":1}', "status 201: "),
        (200, b"", "unexpected reply: "),
        (200, b"null", "unexpected reply: null"),
        (200, b"[1]", r"unexpected reply: \[1\]"),
        (200, b'{"id":1}', 'unexpected reply: {"id":1}'),
        (200, b'{"error":"no"}', 'unexpected reply: {"error":"no"}'),
    ]
    good = [(200, b'{"result":null}'), (200, error)]
    heads = [
        b"HTTP/1.1 %d Status\r\nContent-Length: %d\r\n\r\n%s" % (status, len(text), text)
        for status, text, *_ in [*cases, *good]
    ]
    cut = [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", b"not HTTP\r\n\r\n"]
    with start_node() as node, server_of(*heads, *cut) as url:
        node.url = url
        for _, _, expected in cases:
            with pytest.raises(EskerError, match=f"^eth_chainId: {expected}"):
                node.rpc("eth_chainId")
        assert node.rpc("eth_chainId") is None
        with pytest.raises(RpcError, match="^limit exceeded$") as refusal:
            node.rpc("eth_chainId")
        assert refusal.value.code == -32005
        for _ in cut:
            with pytest.raises(EskerError, match=r"^eth_chainId: (.|\n)*Try"):
                node.rpc("eth_chainId")


def test_starts_that_fail_say_why(tmp_path: Path) -> None:
    refused("^starting no/such/esker: ", binary="no/such/esker")
    refused("^starting .*esker: .*Not a directory", binary=f"{sys.executable}/esker")
    refused("^starting : ", binary="")
    refused("^starting .*: .*Argument list too long", args=["x" * (1 << 22)])
    refused("^starting .*: embedded null byte", args=["\0"])
    fixture = tmp_path / "fixture.json"
    fixture.write_text('{"assetz": []}')
    refused(r"^the node ended: exit code 2\n(.|\n)*assetz: unknown field", fixture=fixture)
    refused(r"^the node ended: exit code 2\n(.|\n)*--no-such-flag", args=["--no-such-flag"])
    refused("^timed out after 0 s: waiting until the node is ready", start_timeout=0.0)
    log = tmp_path / "none" / "log"
    refused(f"^{re.escape(str(log))}: No such file", log_file=log)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(rf"^the node ended: exit code 4\n(.|\n)*{port}", http_port=port)


def test_the_binary_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESKER_BIN", str(tmp_path / "none"))
    refused("^starting .*none: ")
    monkeypatch.delenv("ESKER_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    refused("^there is no `esker` on the PATH: build it")


def test_a_folder_and_a_log_outlive_the_node(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    with start_node(data_dir=data, log_file=log) as node:
        node.mine(3)
    assert "Accounts, 10,000 each" in log.read_text()
    with start_node(data_dir=data, log_file=log) as node:
        assert height(node) == 3


def test_a_node_that_is_gone_is_reported_with_its_last_lines() -> None:
    node = start_node()
    until("the screen is complete", lambda: "Try" in node.last_lines)
    os.kill(node.pid, signal.SIGKILL)
    until("it is gone", lambda: not is_running(node.pid))
    with pytest.raises(EskerError, match=r"^dev.snapshot: (.|\n)*Try"):
        node.snapshot()
    with pytest.raises(EskerError, match="^the node ended: signal SIGKILL"):
        node.stop()
    node.stop()
    assert "Try" in node.last_lines


def test_a_node_that_does_not_stop_is_killed() -> None:
    node = start_node()
    os.kill(node.pid, signal.SIGSTOP)
    with pytest.raises(EskerError, match="^the node ended: signal SIGKILL"):
        node.stop()
    assert not is_running(node.pid)


def test_a_failing_use_of_a_node_ends_it_too() -> None:
    with pytest.raises(ZeroDivisionError), start_node() as node:
        _ = 1 // 0
    assert not is_running(node.pid)


@contextmanager
def run(source: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a script, which is killed at the end of the block."""
    env = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        process.stdout.close()


@contextmanager
def script(last: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Runs a script that prints the number of a node's process; the script's process, and that number."""
    source = f"import esker_dev, time\nnode = esker_dev.start_node()\nprint(node.pid, flush=True)\n{last}"
    with run(source, folder) as process:
        deadline = threading.Timer(PATIENCE_S, process.kill)
        deadline.start()
        line = process.stdout.readline()
        deadline.cancel()
        assert line, "the script has printed nothing"
        yield process, int(line)


def test_a_script_that_forgets_its_node_ends_it(tmp_path: Path) -> None:
    with script("", tmp_path) as (process, pid):
        assert process.wait(PATIENCE_S) == 0
        until("the node is gone", lambda: not is_running(pid))
    assert list(tmp_path.iterdir()) == []


def test_a_node_that_no_variable_has_runs_until_the_end(tmp_path: Path) -> None:
    source = """
import esker_dev, gc, socket
node = esker_dev.start_node()
ready = node.ready
del node
gc.collect()
socket.create_connection(("127.0.0.1", int(ready["url"].rpartition(":")[2])), 60).close()
print(ready["pid"])
"""
    with run(source, tmp_path) as process:
        pid, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        until("the node is gone", lambda: not is_running(int(pid)))
    assert list(tmp_path.iterdir()) == []


def test_a_node_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    with script("time.sleep(600)", tmp_path) as (process, pid):
        assert is_running(pid)
        process.kill()
        process.wait(PATIENCE_S)
        until("the node is gone", lambda: not is_running(pid))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_nothing_is_left_of_a_start_that_a_signal_ends(tmp_path: Path, name: str) -> None:
    folder, pid_file, binary = tmp_path / "tmp", tmp_path / "pid", tmp_path / "binary"
    folder.mkdir()
    lines = ["#!/bin/sh", f"echo $$ > '{pid_file}'", f"kill -{name} $PPID", f"exec '{os.environ['ESKER_BIN']}' \"$@\""]
    binary.write_text("\n".join(lines))
    binary.chmod(0o700)
    with run(f"import esker_dev\nesker_dev.start_node(binary={str(binary)!r})", folder) as process:
        assert process.wait(PATIENCE_S) == -signal.Signals[f"SIG{name}"]
        until("the script of the binary runs", pid_file.exists)
        pid = int(pid_file.read_text())
        until("the node is gone", lambda: not is_running(pid))
    assert list(folder.iterdir()) == []
