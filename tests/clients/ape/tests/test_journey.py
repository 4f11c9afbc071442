"""What a user of Ape does first with a local network: accounts, payments, a contract, reverts, events, isolation."""
import ape
import pytest

ETHER = 10**18


@pytest.fixture
def owner(accounts):
    return accounts[0]


@pytest.fixture
def counter(project, owner):
    return owner.deploy(project.Counter, 0)


def test_accounts_have_funds(accounts):
    assert all(account.balance >= 9_000 * ETHER for account in accounts[:3])


def test_a_payment_arrives(accounts, owner):
    receiver = accounts[1]
    before, nonce = receiver.balance, owner.nonce
    receipt = owner.transfer(receiver, "1 ether")
    assert not receipt.failed
    assert receiver.balance - before == ETHER
    assert owner.nonce == nonce + 1


def test_a_contract_is_deployed_called_and_changed(counter, owner):
    assert counter.count() == 0
    receipt = counter.add(8, sender=owner)
    assert counter.count() == 8
    assert [log.count for log in counter.Counted.from_receipt(receipt)] == [8]
    assert receipt.gas_used > 21_000


def test_events_of_the_past_are_found(counter, owner, chain):
    counter.add(1, sender=owner)
    counter.add(2, sender=owner)
    logs = list(counter.Counted.range(chain.blocks.height + 1))
    assert [log.count for log in logs if log.contract_address == counter.address] == [1, 3]


def test_a_revert_has_its_reason(counter, owner):
    with ape.reverts("nothing to add"):
        counter.add(0, sender=owner)


def test_a_revert_without_data_is_one(counter, owner):
    with ape.reverts():
        owner.transfer(counter, 1, gas=100_000)


def test_an_estimate_and_an_explicit_gas_limit(counter, owner):
    estimate = counter.add.estimate_gas_cost(5, sender=owner)
    receipt = counter.add(5, sender=owner, gas=estimate + 10_000)
    assert receipt.gas_used <= estimate


def test_a_snapshot_brings_state_back(accounts, owner, chain):
    snapshot, before, height = chain.snapshot(), accounts[2].balance, chain.blocks.height
    owner.transfer(accounts[2], "2 ether")
    assert accounts[2].balance == before + 2 * ETHER
    chain.restore(snapshot)
    assert (accounts[2].balance, chain.blocks.height) == (before, height)


def test_isolation_undoes_what_a_test_did(accounts, owner, chain):
    with chain.isolate():
        owner.transfer(accounts[3], "3 ether")
        assert accounts[3].balance == 10_003 * ETHER
    assert accounts[3].balance == 10_000 * ETHER


def test_blocks_and_transactions_are_read(owner, accounts, chain):
    receipt = owner.transfer(accounts[1], 1)
    block = chain.blocks[receipt.block_number]
    assert receipt.txn_hash in [transaction.txn_hash.to_0x_hex() for transaction in block.transactions]
    assert chain.blocks.head.number >= receipt.block_number
