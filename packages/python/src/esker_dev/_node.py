"""A development node as a process of its own."""

from __future__ import annotations

import atexit
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from ._rpc import body_of, call, path_of

_START_TIMEOUT_S = 60.0
_CALL_TIMEOUT_S = 60.0
# How long a node may take to stop before it is killed.
_STOP_TIMEOUT_S = 10.0
_POLL_S = 0.01
# Most bytes and lines of a log in an error.
_MAX_LOG_BYTES = 32 * 1024
_MAX_LOG_LINES = 100

# Stopped at the end of the interpreter, and kept until then, whether or not a test keeps them.
_running: set[Node] = set()


class EskerError(Exception):
    """A node that could not be started, used or stopped; its text ends with the node's last log lines, if it has run."""


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
        # Open for reading and writing. Its position is the node's, too.
        self._log = log
        self._stopped_lines = ""
        _running.add(self)
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
        file = self._log.fileno()
        size = os.fstat(file).st_size
        if size == 0:
            # Also of a terminal, which can't be read at a position.
            return ""
        begin = max(0, size - _MAX_LOG_BYTES)
        text = os.pread(file, _MAX_LOG_BYTES, begin).decode(errors="replace")
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
        url = self.url + (path_of(method) if path is None else path)
        body = body_of(method, params)
        try:
            return call(url, method, body, timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._error(f"{method}: {error}") from error

    def snapshot(self) -> str:
        """Takes a snapshot of all chains, their pools and the clock; its ID."""
        return self.rpc("dev.snapshot")["id"]

    def revert(self, snapshot: str) -> None:
        """Goes back to a snapshot, which is then gone with all later ones."""
        if not self.rpc("dev.revert", {"id": snapshot})["success"]:
            raise self._error(
                f"snapshot {snapshot} is gone: it, or an earlier one, was reverted already, or the node was reset"
            )

    @contextmanager
    def isolated(self) -> Iterator[Node]:
        """`with node.isolated():` goes back to where the node was before the block, also if it fails."""
        snapshot = self.snapshot()
        try:
            yield self
        except BaseException:
            # The first failure is the one to show.
            with suppress(Exception):
                self.revert(snapshot)
            raise
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
                raise self._late_error(timeout, f"a block has {tx_hash}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Stops the node; it is gone when this returns. A second call does nothing."""
        if self not in _running:
            return
        status = self._end()
        error = None if status == 0 else self._error(f"the node ended: {_describe(status)}")
        self._stopped_lines = self.last_lines
        self._log.close()
        _running.discard(self)
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
                raise self._late_error(timeout, "the node is ready")
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

    def _end(self) -> int:
        """Ends the process, whatever its state is; how it ended."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            status = self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return status

    def _late_error(self, timeout: float, what: str) -> EskerError:
        return self._error(f"timed out after {timeout:g} s: waiting until {what}")

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

    :param binary: the binary; by default the one that the variable `ESKER_BIN` names, else that of the package `esker` if it is
        installed, else `esker` on the `PATH`
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
    named = binary if binary is not None else os.environ.get("ESKER_BIN") or _installed_binary()
    program = os.fspath(named) if named is not None else "esker"
    # The node removes it when it stops, so that nothing is left if this process ends meanwhile.
    ready_file = _temporary_folder() / f"esker-dev-{uuid.uuid4()}.json"
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
    # The node would take such variables for settings.
    env = {name: value for name, value in os.environ.items() if not name.startswith("ESKER_")}
    log = _open_log(log_file)
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=env)
    except (OSError, ValueError) as error:
        log.close()
        if isinstance(error, FileNotFoundError) and named is None and error.filename == program:
            raise EskerError(
                "there is no `esker` on the PATH: build it (`cargo build --release` makes target/release/esker) and put it "
                "on the PATH, add the package `esker` of the same release, or name it in ESKER_BIN or with the parameter "
                "`binary`"
            ) from error
        raise EskerError(f"starting {program}: {error}") from error
    node = Node(process, log)
    try:
        node._wait_ready(ready_file, start_timeout)
    except BaseException:
        with suppress(EskerError):
            node.stop()
        raise
    finally:
        # The second one is of a node that was killed while it wrote the first.
        for file in (ready_file, f"{ready_file}.new"):
            Path(file).unlink(missing_ok=True)
    return node


def _installed_binary() -> str | None:
    """The binary of the package `esker`, if that is installed."""
    try:
        from esker import binary_path

        return binary_path()
    except (ImportError, OSError):
        return None


@atexit.register
def _end_running() -> None:
    for node in list(_running):
        node._end()


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise EskerError(f"a temporary folder: {error.strerror}") from error


def _open_log(log_file: str | os.PathLike[str] | None) -> BinaryIO:
    """Opens the file for a node's output, for writing and reading; without a name one that goes with the processes."""
    try:
        if log_file is None:
            return tempfile.TemporaryFile(buffering=0)
        return open(log_file, "w+b", buffering=0)
    except OSError as error:
        raise EskerError(f"{log_file or 'a temporary file'}: {error.strerror or error}") from error


def _describe(status: int) -> str:
    if status >= 0:
        return f"exit code {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
