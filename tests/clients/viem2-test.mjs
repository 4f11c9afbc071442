// The test client of viem 2, every action of it, here and on anvil: `node viem2-test.mjs URL`.
import assert from 'node:assert/strict';
import {
  createPublicClient, createTestClient, createWalletClient, http, parseGwei, toHex, zeroAddress,
} from 'viem';
import * as actions from 'viem/actions';
import { endpoint, isControl, runOnBoth } from './control.mjs';
import { FIRST, GWEI, NOBODY, PATIENT, UNIT, viemChain } from './evm.mjs';

const chain = viemChain({ http: [endpoint] });
const common = { chain, transport: http(endpoint, PATIENT), cacheTime: 0, pollingInterval: 20 };
const node = createPublicClient(common);
const wallet = createWalletClient({ ...common, account: FIRST });
const CONTRACT = '0x00000000000000000000000000000000000000c1';
/** Returns the slot 0. */
const CODE = '0x60005460005260206000f3';
const MAX = 2n ** 256n - 1n;

const block = (blockTag = 'latest') => node.getBlock({ blockTag });
const send = (value) => wallet.sendTransaction({ to: NOBODY, value, gas: 21_000n });
const done = (hash) => node.waitForTransactionReceipt({ hash });
const refused = (promise, text) => assert.rejects(promise, (error) => error.message.includes(text) || error.details?.includes(text));

function stepsIn(mode) {
  const test = createTestClient({ ...common, mode });
  const list = [
    ['reset', async () => {
      await test.reset();
      assert.equal(await node.getBlockNumber(), 0n);
    }, 'it wants the URL of a fork'],
    ['mine, getAutomine, setAutomine, setIntervalMining', async () => {
      const begun = await node.getBlockNumber();
      const [nonce, held] = [await node.getTransactionCount({ address: FIRST }), await node.getBalance({ address: NOBODY })];
      await test.mine({ blocks: 3 });
      await test.mine({ blocks: 2, interval: 60 });
      assert.equal(await node.getBlockNumber(), begun + 5n);
      assert.equal(await test.getAutomine(), true);
      await test.setAutomine(false);
      const hash = await send(5n);
      assert.equal(await node.getTransactionCount({ address: FIRST, blockTag: 'pending' }), nonce + 1);
      const pending = await block('pending');
      assert.deepEqual([pending.number, pending.transactions], [begun + 6n, [hash]]);
      assert.equal(await node.getBalance({ address: NOBODY, blockTag: 'pending' }), held + 5n);
      assert.equal(await node.getBalance({ address: NOBODY }), held);
      await test.mine({ blocks: 1 });
      assert.equal((await done(hash)).blockNumber, begun + 6n);
      await test.setAutomine(true);
      await test.setIntervalMining({ interval: 0 });
      await test.setAutomine(true);
    }],
    ['the pending block', async () => assert.equal((await block('pending')).hash, null), 'its pending block has a hash'],
    ['getTxpoolContent, getTxpoolStatus, inspectTxpool, dropTransaction', async () => {
      await test.setAutomine(false);
      const hash = await send(7n);
      assert.equal((await test.getTxpoolStatus()).pending, 1);
      const content = await test.getTxpoolContent();
      assert.equal(Object.values(Object.values(content.pending)[0])[0].hash, hash);
      assert.ok(Object.keys((await test.inspectTxpool()).pending).length === 1);
      await test.dropTransaction({ hash });
      assert.equal((await test.getTxpoolStatus()).pending, 0);
      await test.setAutomine(true);
    }],
    ['setBalance, setNonce, setCode, setStorageAt', async () => {
      for (const value of [MAX, 2n ** 128n, 0n, UNIT]) {
        await test.setBalance({ address: CONTRACT, value });
        assert.equal(await node.getBalance({ address: CONTRACT }), value);
      }
      await test.setNonce({ address: CONTRACT, nonce: 69 });
      assert.equal(await node.getTransactionCount({ address: CONTRACT }), 69);
      await test.setCode({ address: CONTRACT, bytecode: CODE });
      assert.equal(await node.getCode({ address: CONTRACT }), CODE);
      await test.setStorageAt({ address: CONTRACT, index: 0, value: toHex(69, { size: 32 }) });
      assert.equal((await node.call({ to: CONTRACT })).data, toHex(69, { size: 32 }));
    }],
    ['impersonateAccount, stopImpersonatingAccount, sendUnsignedTransaction', async () => {
      await test.impersonateAccount({ address: CONTRACT });
      const hash = await wallet.sendTransaction({ account: CONTRACT, to: NOBODY, value: 1n, gas: 21_000n });
      assert.equal((await done(hash)).from, CONTRACT);
      await test.stopImpersonatingAccount({ address: CONTRACT });
      await assert.rejects(wallet.sendTransaction({ account: CONTRACT, to: NOBODY, value: 1n, gas: 21_000n }));
      const unsigned = await test.sendUnsignedTransaction({ from: CONTRACT, to: NOBODY, value: 1n, gas: 21_000n });
      assert.equal((await done(unsigned)).status, 'success');
    }],
    ['increaseTime, setNextBlockTimestamp, setBlockTimestampInterval, removeBlockTimestampInterval', async () => {
      const before = await block();
      await test.increaseTime({ seconds: 420 });
      await test.mine({ blocks: 1 });
      const after = await block();
      assert.ok(after.timestamp >= before.timestamp + 420n);
      await test.setNextBlockTimestamp({ timestamp: after.timestamp + 86_400n });
      await test.mine({ blocks: 1 });
      assert.equal((await block()).timestamp, after.timestamp + 86_400n);
      if (mode !== 'anvil') return;
      await test.setBlockTimestampInterval({ interval: 86_400 });
      await test.mine({ blocks: 2 });
      assert.equal((await block()).timestamp, after.timestamp + 3n * 86_400n);
      await test.removeBlockTimestampInterval();
    }],
    ['setNextBlockBaseFeePerGas, setBlockGasLimit, setCoinbase, setMinGasPrice', async () => {
      await test.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('20') });
      assert.equal((await block('pending')).baseFeePerGas, parseGwei('20'));
      const price = { maxFeePerGas: parseGwei('30'), maxPriorityFeePerGas: 0n };
      const paid = await done(await wallet.sendTransaction({ to: NOBODY, value: 1n, gas: 21_000n, ...price }));
      assert.equal(paid.effectiveGasPrice, parseGwei('20'));
      assert.equal((await block()).baseFeePerGas, parseGwei('20'));
      await test.setBlockGasLimit({ gasLimit: 420_000n });
      await test.mine({ blocks: 1 });
      assert.equal((await block()).gasLimit, 420_000n);
      await test.setBlockGasLimit({ gasLimit: 15_000_000n });
      await test.setCoinbase({ address: CONTRACT });
      await test.mine({ blocks: 1 });
      assert.equal((await block()).miner, CONTRACT);
      // As of both tools where blocks have a base fee.
      await refused(test.setMinGasPrice({ gasPrice: GWEI }), isControl ? 'EIP-1559 is active' : 'there is no least gas price');
    }],
    ['snapshot, revert', async () => {
      const before = await block();
      const id = await test.snapshot();
      await done(await send(3n));
      await test.revert({ id });
      assert.deepEqual(await block(), before);
    }],
    ['setLoggingEnabled', async () => {
      await test.setLoggingEnabled(false);
      await test.setLoggingEnabled(true);
    }],
    ['setRpcUrl, reset to a fork', async () => {
      if (mode === 'anvil') await refused(test.setRpcUrl('http://127.0.0.1:1'), 'forks no other network');
      await refused(test.reset({ jsonRpcUrl: 'http://127.0.0.1:1', blockNumber: 1n }), 'forks no other network');
    }, 'it forks other networks'],
    ['dumpState, loadState', async () => {
      if (mode !== 'anvil') return;
      await test.setBalance({ address: NOBODY, value: 12_345n });
      const state = await test.dumpState();
      await test.setBalance({ address: NOBODY, value: 1n });
      await test.setStorageAt({ address: CONTRACT, index: 0, value: toHex(1, { size: 32 }) });
      await test.loadState({ state });
      assert.equal(await node.getBalance({ address: NOBODY }), 12_345n);
      assert.equal((await node.call({ to: CONTRACT })).data, toHex(69, { size: 32 }));
    }],
  ];
  return list.map(([name, ...step]) => [`${mode}: ${name}`, ...step]);
}

const all = ['every action of the test client was called', async () => {
  const known = Object.keys(createTestClient({ ...common, mode: 'anvil' })).filter((name) => name in actions);
  const text = (await import('node:fs')).readFileSync(new URL(import.meta.url), 'utf8');
  const forgotten = known.filter((name) => !text.includes(`test.${name}(`));
  assert.deepEqual(forgotten, []);
  assert.ok(known.length >= 30 && zeroAddress, `${known.length}`);
}];
await runOnBoth(import.meta.url, [...stepsIn('anvil'), ...stepsIn('hardhat'), all]);
