"""What web3.py's own test module asks of a node, on a fresh `esker dev` or `esker evm`: fixtures, and what is known to fail.

The node's address comes in the variable NODE_URL. It runs with the chain ID that the module has in its texts, and makes a
block a second. The accounts that the node holds are those of the usual test mnemonic.
"""

import os
from pathlib import Path

import pytest
import pytest_asyncio
from eth_utils import to_bytes
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3, WebSocketProvider
from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.offchain_lookup import OFFCHAIN_LOOKUP_DATA
from web3._utils.contract_sources.contract_data.panic_errors_contract import PANIC_ERRORS_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.storage_contract import STORAGE_CONTRACT_DATA
from web3._utils.module_testing.utils import RequestMocker
from web3.middleware import ExtraDataToPOAMiddleware

NODE = os.environ["NODE_URL"]
# Whether the chain has Ethereum's rules, as that of `esker evm`, or is the C-Chain.
IS_ETHEREUM = os.environ.get("CLIENT_TESTS_CHAIN") == "evm"
HTTP = f"{NODE}/" if IS_ETHEREUM else f"{NODE}/ext/bc/C/rpc"
WS = NODE.replace("http", "ws", 1) + ("/" if IS_ETHEREUM else "/ext/bc/C/ws")
# A block comes after a second at the latest.
PATIENCE_S = 30

# The account whose key tests use themselves, and another one, so that nonces of the two don't mix.
KEYFILE_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
KEYFILE_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
DEPLOYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SOMEBODY = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"

CONTRACTS = {
    "math": MATH_CONTRACT_DATA,
    "emitter": EMITTER_CONTRACT_DATA,
    "revert": REVERT_CONTRACT_DATA,
    "offchain_lookup": OFFCHAIN_LOOKUP_DATA,
    "panic_errors": PANIC_ERRORS_CONTRACT_DATA,
    "storage": STORAGE_CONTRACT_DATA,
}
# The emitter's number for LogDoubleWithIndex.
LOG_DOUBLE_WITH_INDEX = 9


# -- what is known to fail -- #


def known_failures():
    """Names of tests with the reasons why they fail: `NAME: REASON`, one a line."""
    files = ["failures.txt"] if IS_ETHEREUM else ["failures.txt", "failures-c-chain.txt"]
    lines = [line for file in files for line in Path(__file__).with_name(file).read_text().splitlines()]
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, reason = line.split(": ", 1)
            assert name not in found, f"{name} is listed twice"
            found[name] = reason
    return found


def pytest_collection_modifyitems(config, items):
    """Expects failures of the listed tests, and of no others: one that passes is an error, so is a name of none."""
    failures = known_failures()
    files = {Path(item.fspath).name for item in items}
    # Names are FILE::CLASS::TEST; a name without parameters stands for the test with any.
    used = set()
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        listed = next((known for known in (name, name.split("[")[0]) if known in failures), None)
        if listed:
            used.add(listed)
            item.add_marker(pytest.mark.xfail(reason=failures[listed], strict=True))
    if not config.option.keyword and not any("::" in arg for arg in config.args):
        gone = [name for name in failures if name.split("::")[0] in files and name not in used]
        if gone:
            raise pytest.UsageError(f"the files of failures name tests that do not exist: {gone}")


def for_this_chain(w3, request=None):
    """Headers of the C-Chain have more than 32 bytes of extra data, as those of many others: web3.py has a middleware for
    them. A test of that middleware adds its own."""
    if not IS_ETHEREUM and (request is None or "poa" not in request.node.name.lower()):
        w3.middleware_onion.inject(ExtraDataToPOAMiddleware, layer=0)
    return w3


# -- the chain's state -- #


@pytest.fixture(scope="session")
def prepared():
    """Deploys the contracts and makes the blocks that tests look at."""
    w3 = for_this_chain(Web3(HTTPProvider(HTTP)))

    def wait(sent):
        receipt = w3.eth.wait_for_transaction_receipt(sent, timeout=PATIENCE_S)
        assert receipt["status"] == 1
        return receipt

    def deploy(data):
        factory = w3.eth.contract(abi=data["abi"], bytecode=data["bytecode"])
        return factory.constructor().transact({"from": DEPLOYER})

    sent = {name: deploy(data) for name, data in CONTRACTS.items()}
    receipts = {name: wait(tx) for name, tx in sent.items()}
    emitter = w3.eth.contract(
        address=receipts["emitter"]["contractAddress"], abi=EMITTER_CONTRACT_DATA["abi"]
    )
    logged = wait(
        emitter.functions.logDouble(LOG_DOUBLE_WITH_INDEX, 12345, 54321).transact({"from": DEPLOYER})
    )
    # One test wants the account to have more than at the beginning that genesis names as its miner.
    miner = w3.eth.get_block(0)["miner"]
    mined = wait(w3.eth.send_transaction({"from": DEPLOYER, "to": miner, "value": 1}))
    return {
        "addresses": {name: receipt["contractAddress"] for name, receipt in receipts.items()},
        "math_deployed": receipts["math"]["transactionHash"],
        "logged": logged,
        "mined": mined,
        # Blocks of this chain have transactions; genesis has none.
        "empty_block": w3.eth.get_block(0)["hash"],
    }


def send_now_and_then(done):
    """Sends transactions until `done`, several a block."""
    w3 = for_this_chain(Web3(HTTPProvider(HTTP)))
    while not done.wait(0.3):
        w3.eth.send_transaction({"from": SOMEBODY, "to": SOMEBODY, "value": 1})


# They act on a transaction while it waits.
BEFORE_THE_NEXT_BLOCK = ("replace_transaction", "modify_transaction", "unmined")


def wait_for_a_block():
    w3 = for_this_chain(Web3(HTTPProvider(HTTP)))
    sent = w3.eth.send_transaction({"from": SOMEBODY, "to": SOMEBODY, "value": 1})
    w3.eth.wait_for_transaction_receipt(sent, timeout=PATIENCE_S, poll_latency=0.02)


@pytest.fixture(autouse=True)
def just_after_a_block(request, prepared):
    """Tests that need a transaction to wait begin right after a block: the next one is a second away."""
    if any(word in request.node.name for word in BEFORE_THE_NEXT_BLOCK):
        wait_for_a_block()


@pytest.fixture(autouse=True)
def undone(request, prepared):
    """Tests of set-code transactions expect an account without storage and without waiting transactions: what one stores is undone."""
    if "set_code_transactions" not in request.node.name:
        yield
        return
    wait_for_a_block()
    w3 = for_this_chain(Web3(HTTPProvider(HTTP)))
    snapshot = w3.provider.make_request("evm_snapshot", [])["result"]
    yield
    assert w3.provider.make_request("evm_revert", [snapshot])["result"] is True


@pytest.fixture(scope="module", params=[lambda text: to_bytes(hexstr=text), lambda text: text], ids=["bytes", "text"])
def address_conversion_func(request):
    return request.param


@pytest.fixture
def request_mocker():
    return RequestMocker


@pytest.fixture
def skip_if_testrpc():
    return lambda _: None


@pytest.fixture
def async_skip_if_testrpc():
    return lambda _: None


@pytest.fixture
def keyfile_account_address():
    return KEYFILE_ADDRESS


@pytest.fixture
def keyfile_account_pkey():
    return KEYFILE_KEY


# As in web3.py's own fixtures, both forms of the account's address are the text; those of contracts differ.
@pytest.fixture
def keyfile_account_address_dual_type(address_conversion_func):
    return KEYFILE_ADDRESS


@pytest.fixture
def async_keyfile_account_address():
    return KEYFILE_ADDRESS


@pytest.fixture
def async_keyfile_account_address_dual_type(address_conversion_func):
    return KEYFILE_ADDRESS


@pytest.fixture
def math_contract_deploy_txn_hash(prepared):
    return prepared["math_deployed"]


@pytest.fixture
def mined_txn_hash(prepared):
    return prepared["mined"]["transactionHash"]


@pytest.fixture
def txn_hash_with_log(prepared):
    return prepared["logged"]["transactionHash"].to_0x_hex()


# -- blocking -- #


@pytest.fixture
def w3(prepared, request):
    return for_this_chain(Web3(HTTPProvider(HTTP, request_kwargs={"timeout": PATIENCE_S})), request)


def contract(name):
    def of(w3, prepared):
        return w3.eth.contract(address=prepared["addresses"][name], **CONTRACTS[name])

    return pytest.fixture(of, name=f"{name}_contract")


math_contract = contract("math")
emitter_contract = contract("emitter")
revert_contract = contract("revert")
offchain_lookup_contract = contract("offchain_lookup")
panic_errors_contract = contract("panic_errors")
storage_contract = contract("storage")


@pytest.fixture
def math_contract_address(math_contract, address_conversion_func):
    return address_conversion_func(math_contract.address)


@pytest.fixture
def emitter_contract_address(emitter_contract, address_conversion_func):
    return address_conversion_func(emitter_contract.address)


@pytest.fixture
def empty_block(w3, prepared):
    return w3.eth.get_block(prepared["empty_block"])


@pytest.fixture
def block_with_txn(w3, prepared):
    return w3.eth.get_block(prepared["mined"]["blockHash"])


@pytest.fixture
def block_with_txn_with_log(w3, prepared):
    return w3.eth.get_block(prepared["logged"]["blockHash"])


# -- asynchronous; `async_w3` is the transport's -- #


@pytest_asyncio.fixture
async def async_http_w3(prepared, request):
    w3 = for_this_chain(AsyncWeb3(AsyncHTTPProvider(HTTP)), request)
    yield w3
    await w3.provider.disconnect()


@pytest_asyncio.fixture
async def async_ws_w3(prepared, request):
    provider = WebSocketProvider(WS, request_timeout=PATIENCE_S)
    w3 = for_this_chain(await AsyncWeb3(provider), request)
    yield w3
    await w3.provider.disconnect()


def async_contract(name):
    def of(async_w3, prepared):
        return async_w3.eth.contract(address=prepared["addresses"][name], **CONTRACTS[name])

    return pytest.fixture(of, name=f"async_{name}_contract")


async_math_contract = async_contract("math")
async_emitter_contract = async_contract("emitter")
async_revert_contract = async_contract("revert")
async_offchain_lookup_contract = async_contract("offchain_lookup")
async_panic_errors_contract = async_contract("panic_errors")
async_storage_contract = async_contract("storage")


@pytest.fixture
def async_math_contract_address(async_math_contract, address_conversion_func):
    return address_conversion_func(async_math_contract.address)


@pytest.fixture
def async_emitter_contract_address(async_emitter_contract, address_conversion_func):
    return address_conversion_func(async_emitter_contract.address)


@pytest_asyncio.fixture
async def async_empty_block(async_w3, prepared):
    return await async_w3.eth.get_block(prepared["empty_block"])


@pytest_asyncio.fixture
async def async_block_with_txn(async_w3, prepared):
    return await async_w3.eth.get_block(prepared["mined"]["blockHash"])


@pytest_asyncio.fixture
async def async_block_with_txn_with_log(async_w3, prepared):
    return await async_w3.eth.get_block(prepared["logged"]["blockHash"])
