"""One JSON-RPC call."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

# Paths of the namespaces whose methods have a dot; methods without one are of the C-Chain.
_PATHS = {
    "admin": "/ext/admin",
    "avm": "/ext/bc/X",
    "dev": "/ext/bc/X",
    "health": "/ext/health",
    "info": "/ext/info",
    "keystore": "/ext/keystore",
    "nat": "/ext/bc/C/nat",
    "platform": "/ext/bc/P",
    "wallet": "/ext/bc/X/wallet",
    "xvm": "/ext/bc/X",
}
_C_PATH = "/ext/bc/C/rpc"
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


def call(url: str, path: str, method: str, params: Any, timeout: float) -> Any:
    """The result of a method; OSError or ValueError where there is no answer."""
    if params is None:
        params = {} if "." in method else []
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url + path, body, {"Content-Type": "application/json"})
    try:
        with _OPENER.open(request, timeout=timeout) as reply:
            text = reply.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise ValueError(f"status {refusal.code}: {refusal.read(1000).decode(errors='replace')}") from None
    answer = json.loads(text)
    error = answer.get("error")
    if error is not None:
        raise RpcError(method, error["code"], error["message"], error.get("data"))
    return answer["result"]
