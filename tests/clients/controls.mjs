// Snapshots, reorganizations and time with ethers, viem, cast and forge, here and on anvil: `node controls.mjs URL`.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HDNodeWallet, JsonRpcProvider, toQuantity } from 'ethers';
import { createPublicClient, webSocket } from 'viem';
import { until } from './check.mjs';
import { endpoint, runOnBoth, socketEndpoint } from './control.mjs';
import { FIRST, PHRASE } from './evm.mjs';
import { build, project, run } from './foundry-tools.mjs';

const EMITTER = '0x00000000000000000000000000000000000000e1';
/** Writes an empty log: PUSH1 0, PUSH1 0, LOG0. */
const EMITS = '0x60006000a0';

/** A test of forge that controls the node of its fork. */
const TEST = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
interface Vm {
  function createSelectFork(string calldata url) external returns (uint256);
  function rpc(string calldata method, string calldata params) external returns (bytes memory);
  function envString(string calldata) external view returns (string memory);
}
contract ControlTest {
  Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
  address constant RICH = 0x00000000000000000000000000000000000000f1;
  function setUp() public { vm.createSelectFork(vm.envString("NODE")); }
  function testControls() public {
    vm.rpc("anvil_setBalance", '["0x00000000000000000000000000000000000000f1","0x64"]');
    vm.createSelectFork(vm.envString("NODE"));
    require(RICH.balance == 100, "balance");
    uint256 before = block.number;
    require(vm.rpc("evm_snapshot", "[]").length > 0, "snapshot");
    vm.rpc("anvil_mine", "[5]");
    vm.createSelectFork(vm.envString("NODE"));
    require(block.number == before + 5, "blocks");
  }
}
`;

/** The steps on a node: a name, what has to hold, and what anvil does otherwise, if it does. */
function stepsOn(url, socketUrl) {
  const node = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 20, batchMaxCount: 1 });
  const ask = (method, ...params) => node.send(method, params);
  const block = (number) => ask('eth_getBlockByNumber', toQuantity(number), false);
  const height = async () => Number(await ask('eth_blockNumber'));
  const emit = async () => {
    const hash = await ask('eth_sendTransaction', { from: FIRST, to: EMITTER, gas: '0x20000' });
    let receipt;
    await until('the transaction is in a block', async () => (receipt = await ask('eth_getTransactionReceipt', hash)) !== null);
    return receipt.logs[0];
  };
  const refused = (promise, text) => assert.rejects(promise, (error) => JSON.stringify(error).includes(text));
  const removed = (log) => ({ ...log, removed: true });
  const cast = (...args) => JSON.parse(run('cast', ['rpc', '--rpc-url', url, ...args]));

  const list = [
    ['blocks before the first snapshot are taken back, too', async () => {
      await ask('anvil_mine', 2);
      await ask('anvil_rollback', 1);
      assert.equal(await height(), 1);
    }],
    ['a snapshot is used once', async () => {
      const [id, begun] = [await ask('evm_snapshot'), await height()];
      await ask('anvil_mine', 3);
      assert.equal(await ask('evm_revert', id), true);
      assert.equal(await height(), begun);
      assert.equal(await ask('evm_revert', id), false);
    }],
    ['a change of the state makes a block', async () => {
      const begun = await height();
      await ask('anvil_setCode', EMITTER, EMITS);
      assert.equal(await height(), begun + 1);
    }, 'it changes the state without a block'],
    ['filters tell of logs that a revert removed', async () => {
      const [id, filter] = [await ask('evm_snapshot'), await ask('eth_newFilter', {})];
      const log = await emit();
      assert.equal((await ask('eth_getFilterChanges', filter)).length, 1);
      await ask('evm_revert', id);
      assert.deepEqual(await ask('eth_getFilterChanges', filter), [removed(log)]);
      assert.deepEqual(await ask('eth_getLogs', { fromBlock: '0x0' }), []);
    }, 'no removed logs'],
    ['subscribers of viem learn of removed logs', async () => {
      const client = createPublicClient({ transport: webSocket(socketUrl, { reconnect: false }) });
      const seen = [];
      const onLogs = (logs) => seen.push(...logs.map((log) => log.removed));
      const stop = client.watchEvent({ address: EMITTER, onLogs });
      try {
        // The subscription is made before the answer to this comes.
        await client.getBlockNumber();
        await emit();
        await until('the log is seen', async () => seen.length === 1);
        await ask('anvil_rollback', 1);
        await emit();
        await until('the next log is seen', async () => seen.at(-1) === false && seen.length > 1);
        assert.deepEqual(seen, [false, true, false]);
      } finally {
        stop();
        (await client.transport.getRpcClient()).close();
      }
    }, 'no removed logs'],
    ['a reorganization changes hashes, and the height stays', async () => {
      await ask('anvil_mine', 4);
      const begun = await height();
      const before = [await block(begun - 2), await block(begun - 1), await block(begun)];
      const tx = { from: FIRST, to: EMITTER, gas: '0x20000' };
      await ask('anvil_reorg', 2, [[tx, 1], [tx, 0], [tx, 1]]);
      assert.equal(await height(), begun);
      const after = [await block(begun - 2), await block(begun - 1), await block(begun)];
      assert.deepEqual(after.map((b, at) => b.hash === before[at].hash), [true, false, false]);
      assert.deepEqual(after.map((b) => b.transactions.length), [0, 1, 2]);
    }],
    ['a reorganization goes no deeper than the chain', async () => {
      await refused(ask('anvil_reorg', 1000, []), 'Reorg depth must not exceed current chain height');
      const late = [[{ from: FIRST, to: EMITTER, gas: '0x20000' }, 2]];
      await refused(ask('anvil_reorg', 2, late), 'must not exceed (depth-1) 1');
    }],
    ['a reorganization is refused for a transaction that is not valid', async () => {
      const before = await block(await height());
      const poor = [[{ from: FIRST, to: EMITTER, gas: '0x20000', value: '0xffffffffffffffffffffffff' }, 1]];
      await refused(ask('anvil_reorg', 2, poor), 'insufficient funds');
      assert.deepEqual(await block(await height()), before);
    }, 'it leaves the transaction out'],
    ['a reorganization takes numbers as texts, and one without transactions', async () => {
      await ask('anvil_reorg', '0x1');
      await ask('anvil_reorg', { depth: 1 });
    }, 'it takes a number and a list'],
    ['another chain ID', async () => {
      const code = { data: '0x4660005260206000f3' };
      const usual = Number(await ask('eth_chainId'));
      await ask('anvil_setChainId', 99);
      assert.equal(await ask('eth_chainId'), '0x63');
      assert.equal(await ask('net_version'), '99');
      assert.equal(Number(await ask('eth_call', code, 'latest')), 99);
      const maxFeePerGas = 2 * Number((await block(await height())).baseFeePerGas) + 1;
      const nonce = Number(await ask('eth_getTransactionCount', FIRST, 'latest'));
      const sent = { nonce, to: FIRST, gasLimit: 21_000, maxFeePerGas, maxPriorityFeePerGas: 1 };
      const signer = HDNodeWallet.fromPhrase(PHRASE);
      await refused(ask('eth_sendRawTransaction', await signer.signTransaction({ ...sent, chainId: usual, type: 2 })), 'invalid');
      const hash = await ask('eth_sendRawTransaction', await signer.signTransaction({ ...sent, chainId: 99, type: 2 }));
      await until('the transaction is in a block', async () => (await ask('eth_getTransactionReceipt', hash)) !== null);
      await ask('anvil_setChainId', usual);
      assert.equal(Number(await ask('eth_chainId')), usual);
    }],
    ['signers of signatures', async () => {
      const signature = `0x${'11'.repeat(32)}${'22'.repeat(32)}1b`;
      const data = `0x${'aa'.repeat(32)}${'00'.repeat(31)}1b${'11'.repeat(32)}${'22'.repeat(32)}`;
      const call = { to: '0x0000000000000000000000000000000000000001', data };
      assert.equal(await ask('eth_call', call, 'latest'), '0x');
      await ask('anvil_impersonateSignature', [signature, EMITTER]);
      assert.equal(Number(await ask('eth_call', call, 'latest')), Number(EMITTER));
    }],
    ['cast rpc', async () => {
      assert.equal(typeof cast('evm_increaseTime', '60'), 'number');
      const begun = await height();
      const id = cast('evm_snapshot');
      assert.equal(cast('anvil_mine', '2'), null);
      assert.equal(await height(), begun + 2);
      assert.equal(cast('evm_revert', id), true);
      assert.equal(await height(), begun);
      assert.equal(cast('anvil_impersonateAccount', EMITTER), null);
      assert.equal(cast('anvil_stopImpersonatingAccount', EMITTER), null);
    }],
    ['vm.rpc of forge', async () => {
      mkdirSync(join(project, 'test'), { recursive: true });
      writeFileSync(join(project, 'test/Control.t.sol'), TEST);
      run('forge', ['test', ...build, '--threads', '1'], { NODE: url });
    }],
  ];
  return { list, close: () => node.destroy() };
}

const { list, close } = stepsOn(endpoint, socketEndpoint);
await runOnBoth(import.meta.url, list);
close();
