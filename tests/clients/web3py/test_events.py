"""web3.py hears of blocks and events over a websocket that is cut, and reads logs in pages."""

import asyncio
import contextlib
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from conftest import IS_ETHEREUM, NODE, PATIENCE_S, SOMEBODY, WS, for_this_chain
from web3 import AsyncWeb3, WebSocketProvider
from web3.exceptions import Web3RPCError
from web3.utils.subscriptions import LogsSubscription, NewHeadsSubscription
from websockets import ConnectionClosed

# Seconds; each of them waits for up to a dozen blocks.
pytestmark = pytest.mark.timeout(120)

CODES = Path(__file__).parents[2] / "golden" / "c" / "contracts" / "bytecode.json"


def uint(name, indexed=False):
    return {"name": name, "type": "uint256", "indexed": indexed}


def function(name, *names):
    inputs = [{"name": each, "type": "uint256"} for each in names]
    return {"type": "function", "name": name, "inputs": inputs, "outputs": [], "stateMutability": "nonpayable"}


WHO = {"name": "who", "type": "address", "indexed": True}
STORE = [
    {"type": "event", "name": "Put", "inputs": [WHO, uint("key", indexed=True), uint("value")], "anonymous": False},
    function("put", "key", "value"),
    function("many", "n"),
]


def over(url):
    # Some answers are larger than the 1 MiB that a message may have otherwise.
    provider = WebSocketProvider(url, {"max_size": None}, request_timeout=PATIENCE_S)
    return for_this_chain(AsyncWeb3(provider))


class Way:
    """Way to the node's websocket, which can be cut: whoever is connected has to connect again."""

    def __init__(self):
        self.open = set()
        self.served = []

    async def serve(self, reader, writer):
        self.served.append(asyncio.current_task())
        node = urlsplit(NODE)
        far_reader, far_writer = await asyncio.open_connection(node.hostname, node.port)
        self.open |= {writer, far_writer}
        await asyncio.gather(self.pass_on(reader, far_writer), self.pass_on(far_reader, writer))

    async def pass_on(self, source, sink):
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()

    def cut(self):
        while self.open:
            self.open.pop().transport.abort()


@pytest_asyncio.fixture
async def way():
    way = Way()
    server = await asyncio.start_server(way.serve, "127.0.0.1", 0)
    way.url = urlsplit(WS)._replace(netloc=f"127.0.0.1:{server.sockets[0].getsockname()[1]}").geturl()
    yield way
    server.close()
    way.cut()
    await asyncio.gather(*way.served)


async def done(w3, call):
    receipt = await w3.eth.wait_for_transaction_receipt(await call.transact({"from": SOMEBODY}), timeout=PATIENCE_S)
    assert receipt["status"] == 1
    return receipt


@pytest_asyncio.fixture
async def store(async_http_w3):
    """The test contract; transactions to it go over HTTP, past the way that is cut."""
    code = json.loads(CODES.read_text())["Store"]["creation"]
    receipt = await done(async_http_w3, async_http_w3.eth.contract(abi=STORE, bytecode=code).constructor())
    return async_http_w3.eth.contract(address=receipt["contractAddress"], abi=STORE)


def seen_by(w3, store):
    return w3.eth.contract(address=store.address, abi=STORE)


async def put(store, key):
    return await done(store.w3, store.functions.put(key, key * key))


def head(told):
    """Number and hash of a header. Those of the C-Chain are texts as they came: web3.py takes a header with so many fields of
    its own for no block."""
    if IS_ETHEREUM:
        return told["number"], told["hash"].to_0x_hex()
    return int(told["number"], 16), told["hash"]


async def hash_of(w3, number):
    return (await w3.eth.get_block(number))["hash"].to_0x_hex()


@pytest.mark.asyncio
async def test_subscriptions_and_what_they_missed_are_all_there_is(way, store):
    begin = await store.w3.eth.block_number
    heads, keys = [], []
    async for w3 in over(way.url):
        event = seen_by(w3, store).events.Put
        new_heads, logs = await w3.subscription_manager.subscribe(
            [NewHeadsSubscription(), LogsSubscription(store.address, [event.topic])]
        )
        # What came while nobody listened; nothing comes while it is read.
        missed = begin + len(heads)
        for number in range(missed, await w3.eth.block_number + 1):
            heads.append(await hash_of(w3, number))
        keys += [log["args"]["key"] for log in await event.get_logs(from_block=missed)]

        receipt = await put(store, 10 + len(keys))
        with pytest.raises(ConnectionClosed):
            async for message in w3.socket.process_subscriptions():
                told = message["result"]
                if message["subscription"] == new_heads:
                    number, block_hash = head(told)
                    assert number == begin + len(heads)
                    heads.append(block_hash)
                else:
                    # The header comes first.
                    assert (message["subscription"], told["blockHash"].to_0x_hex()) == (logs, heads[-1])
                    assert told["transactionHash"] == receipt["transactionHash"]
                    keys.append(event.process_log(told)["args"]["key"])
                    way.cut()
                    await put(store, 10 + len(keys))
        if len(keys) == 5:
            break
    await w3.provider.disconnect()
    # The contract's own block, and five of six: the last came after the last cut.
    assert keys == [10, 11, 12, 13, 14]
    assert heads == [await hash_of(store.w3, begin + n) for n in range(6)]


@pytest.mark.asyncio
async def test_a_contracts_listener_is_told_after_each_cut(way, store):
    heard = []

    async def listener(context):
        heard.append(context.event.process_log(context.result)["args"])
        way.cut()

    async for w3 in over(way.url):
        event = seen_by(w3, store).events.Put
        wanted = event.build_filter()
        wanted.args.key.match_any(5, 6, 7)
        await w3.subscription_manager.subscribe(
            LogsSubscription(store.address, wanted.topics, listener, handler_context={"event": event})
        )
        key = 5 + len(heard)
        await put(store, 4)
        await put(store, key)
        with pytest.raises(ConnectionClosed):
            await w3.subscription_manager.handle_subscriptions(run_forever=True)
        if key == 7:
            break
    await w3.provider.disconnect()
    assert heard == [{"who": SOMEBODY, "key": key, "value": key * key} for key in (5, 6, 7)]


@pytest.mark.asyncio
async def test_an_event_filter_outlives_its_connection(way, store):
    w3 = await over(way.url)
    puts = await seen_by(w3, store).events.Put.create_filter(from_block="latest", argument_filters={"key": 5})
    way.cut()
    with pytest.raises(ConnectionClosed):
        await w3.eth.block_number
    for key in (4, 5):
        receipt = await put(store, key)
    await w3.provider.disconnect()
    await w3.provider.connect()
    [event] = await puts.get_new_entries()
    assert (event["args"]["key"], event["blockHash"]) == (5, receipt["blockHash"])
    assert await puts.get_new_entries() == []
    await w3.provider.disconnect()


@pytest.mark.asyncio
async def test_an_error_tells_where_to_end_a_page_of_logs(store):
    sent = [await done(store.w3, store.functions.many(5_001)) for _ in range(2)]
    begin, head = (receipt["blockNumber"] for receipt in sent)
    async with over(WS) as w3:
        event = seen_by(w3, store).events.Put
        sizes, refused = [], 0
        first, last = begin, head
        while first <= head:
            try:
                page = await event.get_logs(from_block=first, to_block=last)
            except Web3RPCError as error:
                refused += 1
                answer = error.rpc_response["error"]
                assert (answer["code"], answer["data"]["limit"]) == (-32005, 10_000)
                assert int(answer["data"]["from"], 16) == first
                last = int(answer["data"]["to"], 16)
            else:
                assert [log["args"]["key"] for log in page] == list(range(5_001))
                sizes.append(len(page))
                first, last = last + 1, head
    assert (sizes, refused) == ([5_001, 5_001], 1)
