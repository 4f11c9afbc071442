"""web3.py's own test module over a websocket."""

import threading

import pytest
from conftest import send_now_and_then
from web3._utils.module_testing import AsyncEthModuleTest, AsyncNetModuleTest
from web3._utils.module_testing.persistent_connection_provider import (
    PersistentConnectionProviderTest,
)
from web3._utils.module_testing.web3_module import AsyncWeb3ModuleTest


@pytest.fixture
def async_w3(async_ws_w3):
    return async_ws_w3


# They wait for blocks without sending anything; this chain makes none without a transaction.
WAIT_FOR_BLOCKS = {
    "test_async_eth_subscribe_new_heads",
    "test_async_eth_subscribe_creates_and_handles_new_heads_subscription_type",
    "test_async_extradata_poa_middleware_on_eth_subscription",
    "test_asyncio_gather_for_multiple_requests_matches_the_responses",
    "test_async_public_socket_api",
    "test_async_subscription_manager_subscribes_to_many_subscriptions",
    "test_subscription_handler_context",
    "test_subscriptions_with_handler_and_without",
    "test_handle_subscriptions_breaks_on_unsubscribe",
    "test_run_forever_starts_with_0_subs_and_runs_until_task_cancelled",
}


@pytest.fixture(autouse=True)
def blocks(request, prepared):
    """Somebody else's transactions, for tests that wait for blocks."""
    if request.node.originalname not in WAIT_FOR_BLOCKS:
        yield
        return
    done = threading.Event()
    sender = threading.Thread(target=send_now_and_then, args=(done,))
    sender.start()
    yield
    done.set()
    sender.join()


class TestAsyncEth(AsyncEthModuleTest):
    pass


class TestAsyncNet(AsyncNetModuleTest):
    pass


class TestAsyncWeb3(AsyncWeb3ModuleTest):
    def _check_web3_client_version(self, client_version):
        assert client_version.startswith("anvil/esker/v")


class TestPersistentConnection(PersistentConnectionProviderTest):
    pass
