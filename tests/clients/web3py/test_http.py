"""web3.py's own test module over HTTP."""

import pytest
from web3._utils.module_testing import (
    AsyncEthModuleTest,
    AsyncNetModuleTest,
    EthModuleTest,
    GoEthereumAsyncDebugModuleTest,
    GoEthereumAsyncTxPoolModuleTest,
    GoEthereumDebugModuleTest,
    GoEthereumTxPoolModuleTest,
    NetModuleTest,
    Web3ModuleTest,
)
from web3._utils.module_testing.web3_module import AsyncWeb3ModuleTest


@pytest.fixture
def async_w3(async_http_w3):
    return async_http_w3


class TestDebug(GoEthereumDebugModuleTest):
    pass


class TestEth(EthModuleTest):
    pass


class TestNet(NetModuleTest):
    pass


class TestTxPool(GoEthereumTxPoolModuleTest):
    pass


class TestWeb3(Web3ModuleTest):
    def _check_web3_client_version(self, client_version):
        assert client_version.startswith("anvil/esker/v")


class TestAsyncDebug(GoEthereumAsyncDebugModuleTest):
    pass


class TestAsyncEth(AsyncEthModuleTest):
    pass


class TestAsyncNet(AsyncNetModuleTest):
    pass


class TestAsyncTxPool(GoEthereumAsyncTxPoolModuleTest):
    pass


class TestAsyncWeb3(AsyncWeb3ModuleTest):
    def _check_web3_client_version(self, client_version):
        assert client_version.startswith("anvil/esker/v")
