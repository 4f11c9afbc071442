"""A payment on the C-Chain."""

from esker_dev import Node

OTHER = "0x00000000000000000000000000000000000000a1"


def balance(node: Node, account: str) -> int:
    return int(node.rpc("eth_getBalance", [account, "latest"]), 16)


def test_a_payment_arrives(node: Node) -> None:
    tx = {"from": node.accounts[0].c_address, "to": OTHER, "value": hex(5)}
    receipt = node.wait_receipt(node.rpc("eth_sendTransaction", [tx]))
    assert receipt["status"] == "0x1"
    assert balance(node, OTHER) == 5


def test_the_next_test_begins_without_it(node: Node) -> None:
    assert balance(node, OTHER) == 0
