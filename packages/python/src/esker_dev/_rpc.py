"""One JSON-RPC call."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

# Paths of the namespaces whose methods have a dot; methods without one are of the C-Chain.
_PATHS = {
    "admin": "/ext/admin",
    "avax": "/ext/bc/C/nat",
    "avm": "/ext/bc/X",
    "dev": "/ext/bc/X",
    "health": "/ext/health",
    "index": "/ext/index/X/block",
    "info": "/ext/info",
    "keystore": "/ext/keystore",
    "nat": "/ext/bc/C/nat",
    "platform": "/ext/bc/P",
    "wallet": "/ext/bc/X/wallet",
    "xvm": "/ext/bc/X",
}
_C_PATH = "/ext/bc/C/rpc"
# Most bytes of a reply in an error.
_MAX_REPLY_BYTES = 1000
# The node is on this machine: no proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RpcError(Exception):
    """A refusal by the node."""

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.method = method
        self.code = code
        self.message = message
        self.data = data


def path_of(method: str) -> str:
    """The path that has a method."""
    namespace, dot, _ = method.partition(".")
    if not dot:
        return _C_PATH
    if namespace not in _PATHS:
        raise ValueError(f"{method}: which path has it? Pass one: rpc(method, params, path=...)")
    return _PATHS[namespace]


def body_of(method: str, params: Any) -> bytes:
    """The text of a request."""
    if params is None:
        params = {} if "." in method else []
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def call(url: str, method: str, body: bytes, timeout: float) -> Any:
    """Posts a request; OSError, HTTPException or ValueError where there is no answer."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        reply = _OPENER.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        status, text = reply.status, reply.read()
    start = text[:_MAX_REPLY_BYTES].decode(errors="replace")
    if status != 200:
        raise ValueError(f"status {status}: {start}")
    answer = _parsed(text)
    error = answer.get("error")
    if isinstance(error, dict):
        raise RpcError(method, error.get("code", 0), error.get("message", ""), error.get("data"))
    if "result" not in answer:
        raise ValueError(f"unexpected reply: {start}")
    return answer["result"]


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {}
