"""A development node as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from ._rpc import call, path_of

_START_TIMEOUT_S = 60.0
_CALL_TIMEOUT_S = 60.0
# How long a node may take to stop before it is killed.
_STOP_TIMEOUT_S = 10.0
_POLL_S = 0.01
# Most bytes and lines of a log in an error.
_MAX_LOG_BYTES = 32 * 1024
_MAX_LOG_LINES = 100


class EskerError(Exception):
    """A node that could not be started, used or stopped; its text ends with the node's last log lines."""


@dataclass(frozen=True)
class Account:
    """A funded account, with the same key on all chains."""

    x_address: str
    """The address on the X-Chain: `X-local1..`."""
    c_address: str
    """The address on the C-Chain, with its checksum."""
    private_key: str
    """The key for tools of the C-Chain: `0x` and 64 digits."""
    x_private_key: str
    """The key for tools of the X-Chain: `PrivateKey-..`."""


class Node:
    """A running node; made by `start_node`. It ends with this process.

    As a context manager it stops at the end of the block.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: BinaryIO) -> None:
        self._process = process
        self._log = log
        # Also when this object is collected, or the interpreter ends.
        self._discard = weakref.finalize(self, _discard, process, log)
        self._stopped_lines = ""
        self.ready: dict[str, Any] = {}
        """The line that the node writes when it is ready: addresses, IDs of chains and asset."""
        self.url = ""
        """The address that has all APIs."""
        self.evm_url = ""
        """JSON-RPC of the C-Chain."""
        self.ws_url = ""
        """The websocket of the C-Chain."""
        self.accounts: list[Account] = []
        """The funded accounts, in the order of their numbers."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def last_lines(self) -> str:
        """The last lines that the node has written."""
        if self._log.closed:
            return self._stopped_lines
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _MAX_LOG_BYTES))
        text = self._log.read(_MAX_LOG_BYTES).decode(errors="replace")
        return "\n".join(text.splitlines()[-_MAX_LOG_LINES:])

    def rpc(
        self,
        method: str,
        params: Any = None,
        *,
        path: str | None = None,
        timeout: float = _CALL_TIMEOUT_S,
    ) -> Any:
        """Calls a method of any namespace; `timeout` in seconds. A refusal is an `RpcError`."""
        path = path_of(method) if path is None else path
        try:
            return call(self.url, path, method, params, timeout)
        except (OSError, ValueError) as error:
            raise self._error(f"{method}: {error}") from error

    def snapshot(self) -> str:
        """Takes a snapshot of all chains, their pools and the clock; its ID."""
        return self.rpc("dev.snapshot")["id"]

    def revert(self, snapshot: str) -> None:
        """Goes back to a snapshot, which is then gone with all later ones."""
        if not self.rpc("dev.revert", {"id": snapshot})["success"]:
            raise EskerError(f"snapshot {snapshot} is gone: it, or an earlier one, was reverted already")

    @contextmanager
    def isolated(self) -> Iterator[Node]:
        """`with node.isolated():` goes back to where the node was before the block, also if it fails."""
        snapshot = self.snapshot()
        try:
            yield self
        finally:
            self.revert(snapshot)

    def mine(self, blocks: int = 1, interval: int = 0) -> None:
        """Makes blocks on the C-Chain, also empty ones, each `interval` seconds later than it would be."""
        self.rpc("dev.mine", {"blocks": str(blocks), "interval": str(interval)})

    def time(self) -> int:
        """The clock of all chains, Unix seconds."""
        return int(self.rpc("dev.getTime")["timestamp"])

    def increase_time(self, seconds: int) -> int:
        """Moves the clock forward; the new time, Unix seconds."""
        return int(self.rpc("dev.increaseTime", {"seconds": str(seconds)})["timestamp"])

    def set_time(self, timestamp: int) -> int:
        """Sets the clock, Unix seconds; the new time."""
        return int(self.rpc("dev.setTime", {"timestamp": str(timestamp)})["timestamp"])

    def wait_receipt(self, tx_hash: str, timeout: float = _CALL_TIMEOUT_S) -> dict[str, Any]:
        """The receipt of a transaction of the C-Chain, once a block has it, at most for `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            receipt = self.rpc("eth_getTransactionReceipt", [tx_hash])
            if receipt is not None:
                return receipt
            if time.monotonic() >= deadline:
                raise self._error(f"still not so after {timeout} s: a block has {tx_hash}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Stops the node; it is gone when this returns. A second call does nothing."""
        if not self._discard.alive:
            return
        if self._process.poll() is None:
            self._process.terminate()
        try:
            status = self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        error = None if status == 0 else self._error(f"the node ended: {_describe(status)}")
        self._stopped_lines = self.last_lines
        self._discard()
        if error is not None:
            raise error

    def __enter__(self) -> Node:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        except EskerError:
            # The first failure is the one to show.
            if error is None:
                raise

    def _wait_ready(self, ready_file: Path, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while True:
            status = self._process.poll()
            try:
                ready = json.loads(ready_file.read_text())
                break
            except FileNotFoundError:
                # It comes with all of its content.
                pass
            if status is not None:
                raise self._error(f"the node ended: {_describe(status)}")
            if time.monotonic() >= deadline:
                raise self._error(f"still not so after {timeout} s: the node is ready")
            time.sleep(_POLL_S)
        self.ready = ready
        self.url = ready["url"]
        self.evm_url = ready["evmUrl"] or f"{self.url}/ext/bc/C/rpc"
        self.ws_url = f"{self.url.replace('http', 'ws', 1)}/ext/bc/C/ws"
        self.accounts = [
            Account(
                x_address=account["xAddress"],
                c_address=account["cAddress"],
                private_key=account["privateKey"],
                x_private_key=account["xPrivateKey"],
            )
            for account in ready["accounts"]
        ]

    def _error(self, text: str) -> EskerError:
        return EskerError(f"{text}\n{self.last_lines}")


def start_node(
    *,
    binary: str | os.PathLike[str] | None = None,
    accounts: int | None = None,
    balance: int | None = None,
    mnemonic: str | None = None,
    timestamp: int | None = None,
    fixture: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    http_port: int = 0,
    evm_port: int = 0,
    log_file: str | os.PathLike[str] | None = None,
    start_timeout: float = _START_TIMEOUT_S,
    args: Sequence[str] = (),
) -> Node:
    """Starts a node and waits until it serves.

    Ports are free ones, and the data is temporary, unless they are given.

    :param binary: the binary; by default the one that the variable `ESKER_BIN` names, else `esker` on the `PATH`
    :param accounts: number of accounts, 1 to 1000; 10 by default
    :param balance: what each account has on each chain, in whole units of the native asset; 10,000 by default
    :param mnemonic: the phrase of the accounts' keys
    :param timestamp: where the clock of all chains begins, Unix seconds
    :param fixture: a file of assets, UTXOs and contracts that the node begins with
    :param data_dir: a data folder that outlives the node
    :param http_port: the port that has all APIs
    :param evm_port: the port that has the C-Chain's JSON-RPC at `/`
    :param log_file: a file for what the node writes to its outputs, which outlives it
    :param start_timeout: how long the start may take, seconds
    :param args: further arguments of `esker dev`
    """
    named = os.environ.get("ESKER_BIN")
    program = os.fspath(binary) if binary is not None else named or "esker"
    scratch = Path(tempfile.mkdtemp(prefix="esker-dev-"))
    ready_file = scratch / "ready.json"
    command = [program, "dev", "--http-port", str(http_port), "--evm-port", str(evm_port)]
    command += ["--ready-file", str(ready_file), "--stop-with-input"]
    for flag, value in (
        ("--accounts", accounts),
        ("--balance", balance),
        ("--mnemonic", mnemonic),
        ("--timestamp", timestamp),
        ("--fixture", fixture),
        ("--data-dir", data_dir),
    ):
        if value is not None:
            command += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    command += args
    log = scratch / "output.txt" if log_file is None else Path(log_file)
    # The node would take such variables for settings.
    env = {name: value for name, value in os.environ.items() if not name.startswith("ESKER_")}
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=env
            )
        node = Node(process, log.open("rb", buffering=0))
        try:
            node._wait_ready(ready_file, start_timeout)
        except BaseException:
            node._discard()
            raise
        return node
    except OSError as error:
        if isinstance(error, FileNotFoundError) and binary is None and not named and error.filename == program:
            raise EskerError(
                "there is no `esker` on the PATH: build it (`cargo build --release` makes target/release/esker) and put it "
                "on the PATH, or name it in ESKER_BIN or with the parameter `binary`"
            ) from error
        raise EskerError(f"starting {program}: {error}") from error
    finally:
        # The log is open: nothing is left if this process is killed.
        shutil.rmtree(scratch, ignore_errors=True)


def _discard(process: subprocess.Popen[bytes], log: BinaryIO) -> None:
    """Ends a node, whatever its state is."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdin is not None:
        process.stdin.close()
    log.close()


def _describe(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit code {status}"
