"""One node for all tests, and each test from the same state."""

from collections.abc import Iterator

import pytest
from esker_dev import Node, start_node


@pytest.fixture(scope="session")
def running_node() -> Iterator[Node]:
    with start_node(accounts=3) as node:
        yield node


@pytest.fixture
def node(running_node: Node) -> Iterator[Node]:
    """The node; what a test does to it is taken back."""
    with running_node.isolated():
        yield running_node
