"""Starts `esker dev` for tests, and ends it with them."""

from ._node import Account, EskerError, Node, start_node
from ._rpc import RpcError

__all__ = ["Account", "EskerError", "Node", "RpcError", "start_node"]
