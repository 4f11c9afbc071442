// Every helper of hardhat-network-helpers, here and on anvil: `node network-helpers.mjs URL`.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider, toQuantity } from 'ethers';
import { until } from './check.mjs';
import { endpoint, isControl, runOnBoth } from './control.mjs';
import { FIRST, NOBODY, UNIT } from './evm.mjs';

const folder = mkdtempSync(join(tmpdir(), 'esker-helpers-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const config = join(folder, 'hardhat.config.cjs');
writeFileSync(config, `module.exports = { solidity: '0.8.28', defaultNetwork: 'esker', networks: { esker: { url: '${endpoint}', timeout: 120_000 } } };\n`);
process.env.HARDHAT_CONFIG = config;
process.env.HARDHAT_DISABLE_TELEMETRY_PROMPT = 'true';
process.env.HOME = folder;

const require = createRequire(import.meta.url);
const helpers = require('@nomicfoundation/hardhat-network-helpers');
const { time } = helpers;
const node = new JsonRpcProvider(endpoint, undefined, { cacheTimeout: -1, pollingInterval: 20 });
const CONTRACT = '0x00000000000000000000000000000000000000c1';
/** Returns the slot 0. */
const CODE = '0x60005460005260206000f3';
/** Returns PREVRANDAO. */
const RANDOM = '0x4460005260206000f3';
const MAX = 2n ** 256n - 1n;

const send = (from, value, more = {}) =>
  node.send('eth_sendTransaction', [{ from, to: NOBODY, value: toQuantity(value), gas: '0x5208', ...more }]);
/** The receipt; ethers would wait for one more block if this one came too soon. */
async function done(hash) {
  let receipt;
  await until('the transaction is in a block', async () => {
    receipt = await node.getTransactionReceipt(hash);
    return receipt !== null;
  });
  return receipt;
}
const latest = () => node.getBlock('latest');

let made = 0;
async function fixture() {
  made += 1;
  await helpers.setBalance(CONTRACT, 3n * UNIT);
  return { height: await node.getBlockNumber() };
}

await runOnBoth(import.meta.url, [
  ['reset', async () => {
    await helpers.reset();
    assert.equal(await node.getBlockNumber(), 0);
    const reason = isControl ? /failed to get fork block/ : /forks no other network/;
    await assert.rejects(helpers.reset('http://127.0.0.1:1', 1), reason);
  }],
  ['mine, mineUpTo', async () => {
    const begun = await node.getBlockNumber();
    await helpers.mine();
    await helpers.mine(4, { interval: 15 });
    await helpers.mine(200n);
    assert.equal(await node.getBlockNumber(), begun + 205);
    await helpers.mineUpTo(begun + 210);
    assert.equal(await node.getBlockNumber(), begun + 210);
  }],
  ['setBalance, setNonce, setCode, setStorageAt, getStorageAt', async () => {
    for (const wei of [MAX, 2n ** 128n, 0n, UNIT]) {
      await helpers.setBalance(CONTRACT, wei);
      assert.equal(await node.getBalance(CONTRACT), wei);
    }
    await helpers.setNonce(CONTRACT, 7);
    assert.equal(await node.getTransactionCount(CONTRACT), 7);
    await helpers.setCode(CONTRACT, CODE);
    assert.equal(await node.getCode(CONTRACT), CODE);
    await helpers.setStorageAt(CONTRACT, 0, 77);
    assert.equal(BigInt(await helpers.getStorageAt(CONTRACT, 0)), 77n);
    assert.equal(BigInt(await node.call({ to: CONTRACT })), 77n);
  }],
  ['impersonateAccount, stopImpersonatingAccount', async () => {
    await helpers.impersonateAccount(CONTRACT);
    const hash = await send(CONTRACT, 5n);
    assert.equal((await done(hash)).from.toLowerCase(), CONTRACT);
    await helpers.stopImpersonatingAccount(CONTRACT);
    await assert.rejects(send(CONTRACT, 5n));
  }],
  ['dropTransaction', async () => {
    await node.send('evm_setAutomine', [false]);
    const hash = await send(FIRST, 5n);
    const dropped = [await helpers.dropTransaction(hash), await helpers.dropTransaction(hash)];
    await node.send('evm_setAutomine', [true]);
    assert.deepEqual(dropped, [true, false]);
  }, 'it answers with the hash, then null'],
  ['setNextBlockBaseFeePerGas, setBlockGasLimit, setCoinbase', async () => {
    await helpers.setNextBlockBaseFeePerGas(0);
    await done(await send(FIRST, 5n, { gasPrice: '0x0' }));
    assert.equal((await latest()).baseFeePerGas, 0n);
    await helpers.setNextBlockBaseFeePerGas(30_000_000_000n);
    await done(await send(FIRST, 5n));
    assert.equal((await latest()).baseFeePerGas, 30_000_000_000n);
    await helpers.setBlockGasLimit(1_000_000);
    await helpers.setCoinbase(CONTRACT);
    await helpers.mine();
    const block = await latest();
    assert.deepEqual([block.gasLimit, block.miner.toLowerCase()], [1_000_000n, CONTRACT]);
    await helpers.setBlockGasLimit(15_000_000);
  }],
  ['setPrevRandao', async () => {
    await helpers.setPrevRandao(12_345n);
    await helpers.mine();
    assert.equal(BigInt(await node.call({ data: RANDOM })), 12_345n);
  }, 'it has no such method'],
  ['takeSnapshot', async () => {
    const height = await node.getBlockNumber();
    const snapshot = await helpers.takeSnapshot();
    for (const wei of [1n, 2n]) {
      await helpers.setBalance(NOBODY, wei);
      await snapshot.restore();
      assert.equal(await node.getBlockNumber(), height);
    }
  }],
  ['loadFixture', async () => {
    for (const _ of [0, 1, 2]) {
      const { height } = await helpers.loadFixture(fixture);
      assert.equal(await node.getBlockNumber(), height);
      assert.equal(await node.getBalance(CONTRACT), 3n * UNIT);
      await helpers.setBalance(CONTRACT, 0n);
    }
    assert.equal(made, 1);
  }],
  ['time.latest, latestBlock, increase, increaseTo, setNextBlockTimestamp, advanceBlock, advanceBlockTo', async () => {
    const before = await time.latest();
    assert.equal(await time.latestBlock(), await node.getBlockNumber());
    assert.ok((await time.increase(3600)) >= before + 3600);
    const later = (await time.latest()) + 86_400;
    await time.increaseTo(later);
    assert.equal(await time.latest(), later);
    await time.setNextBlockTimestamp(later + 100);
    await helpers.mine();
    assert.equal(await time.latest(), later + 100);
    const height = await time.latestBlock();
    await time.advanceBlock(2);
    await time.advanceBlockTo(height + 5);
    assert.equal(await time.latestBlock(), height + 5);
    assert.equal(time.duration.minutes(2), 120);
  }],
  ['every helper was called', async () => {
    const text = (await import('node:fs')).readFileSync(new URL(import.meta.url), 'utf8');
    const names = (object, prefix) => Object.keys(object).filter((name) => typeof object[name] === 'function').map((name) => `${prefix}${name}(`);
    const all = [...names(helpers, 'helpers.'), ...names(time, 'time.')];
    assert.ok(all.length > 20);
    assert.deepEqual(all.filter((call) => !text.includes(call) && !call.includes('clearSnapshots')), []);
  }],
]);
