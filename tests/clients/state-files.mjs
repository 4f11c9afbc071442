// States go from a development node to anvil and back, as arguments and as files: `node state-files.mjs URL`.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { until } from './check.mjs';
import { startAnvil } from './control.mjs';
import { FIRST, NOBODY, STORE_CODE, rpcOf } from './evm.mjs';

const esker = rpcOf(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'esker-state-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const READER = `0x${'0'.repeat(38)}e1`;
const DELEGATED = `0x${'0'.repeat(38)}e2`;

async function rpc(url, method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = await reply.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

/** A creation, a transfer, and state that no transaction made; what readers see then. */
async function makeState(url) {
  const hashes = [];
  for (const tx of [{ data: STORE_CODE }, { to: NOBODY, value: '0x7' }]) {
    const hash = await rpc(url, 'eth_sendTransaction', { from: FIRST, gas: '0x200000', ...tx });
    await until('the transaction is in a block', () => rpc(url, 'eth_getTransactionReceipt', hash));
    hashes.push(hash);
  }
  const contract = (await rpc(url, 'eth_getTransactionReceipt', hashes[0])).contractAddress;
  await rpc(url, 'anvil_setStorageAt', contract, `0x${'0'.repeat(63)}5`, `0x${'0'.repeat(62)}ff`);
  await rpc(url, 'evm_mine');
  return { hashes, contract };
}

async function see(url, { hashes, contract }) {
  const seen = { height: await rpc(url, 'eth_blockNumber') };
  for (const address of [FIRST, NOBODY, contract]) {
    seen[address] = [
      await rpc(url, 'eth_getBalance', address, 'latest'),
      await rpc(url, 'eth_getTransactionCount', address, 'latest'),
      await rpc(url, 'eth_getCode', address, 'latest'),
    ];
  }
  seen.slot = await rpc(url, 'eth_getStorageAt', contract, '0x5', 'latest');
  const logs = (logs) => logs.map(({ address, topics, data }) => ({ address, topics, data }));
  for (const hash of hashes) {
    const receipt = await rpc(url, 'eth_getTransactionReceipt', hash);
    const tx = await rpc(url, 'eth_getTransactionByHash', hash);
    const block = await rpc(url, 'eth_getBlockByNumber', receipt.blockNumber, false);
    assert.equal(receipt.blockHash, block.hash, 'the receipt is of the block');
    assert.equal((await rpc(url, 'eth_getBlockByHash', block.hash, false)).number, block.number);
    assert.ok(block.transactions.includes(hash), 'the block has the transaction');
    seen[hash] = [
      receipt.from, receipt.to, receipt.status, receipt.gasUsed, receipt.contractAddress, receipt.blockNumber,
      logs(receipt.logs), tx.from, tx.nonce, tx.value, tx.input, block.timestamp,
    ];
  }
  return seen;
}

/** What readers see at each block after the first one. */
async function seeOld(url, { contract }) {
  const seen = [];
  for (let number = 1n; number <= BigInt(await rpc(url, 'eth_blockNumber')); number += 1n) {
    const at = `0x${number.toString(16)}`;
    const one = { at, slot: await rpc(url, 'eth_getStorageAt', contract, '0x5', at) };
    for (const address of [FIRST, NOBODY, contract, READER, DELEGATED]) {
      one[address] = [
        await rpc(url, 'eth_getBalance', address, at),
        await rpc(url, 'eth_getTransactionCount', address, at),
        await rpc(url, 'eth_getCode', address, at),
      ];
    }
    one.call = await rpc(url, 'eth_call', { to: READER }, at);
    seen.push(one);
  }
  return seen;
}

/** States that come and go again, and code of each form. */
async function makeOldStates(url) {
  const made = await makeState(url);
  const slot = (value) => rpc(url, 'anvil_setStorageAt', READER, `0x${'0'.repeat(64)}`, `0x${value.padStart(64, '0')}`);
  // Returns its slot 0, and has places for jumps and an instruction that is cut off.
  await rpc(url, 'anvil_setCode', READER, `0x60005460005260206000f3${'5b'.repeat(20)}7f5b5b`);
  await slot('a');
  await rpc(url, 'evm_mine');
  await rpc(url, 'anvil_setCode', DELEGATED, `0xef0100${READER.slice(2)}`);
  await rpc(url, 'anvil_setNonce', READER, '0x9');
  await rpc(url, 'anvil_setBalance', READER, '0x5');
  await rpc(url, 'evm_mine');
  await slot('0');
  await rpc(url, 'anvil_setCode', READER, '0x');
  await rpc(url, 'anvil_setNonce', DELEGATED, '0x2');
  await rpc(url, 'evm_mine');
  await rpc(url, 'anvil_setCode', DELEGATED, '0x');
  await rpc(url, 'anvil_setCode', READER, '0x60005460005260206000f3');
  await slot('b');
  await rpc(url, 'evm_mine');
  return made;
}

/** The states of all blocks go along. */
async function movesOldStates(name, from, to, load) {
  const made = await makeOldStates(from);
  const [seen, old] = [await see(from, made), await seeOld(from, made)];
  const state = await rpc(from, 'anvil_dumpState', true);
  const target = await to(state);
  if (load) assert.equal(await rpc(target, 'anvil_loadState', state), true);
  assert.deepEqual(await see(target, made), seen, name);
  assert.deepEqual(await seeOld(target, made), old, name);
  console.log(`ok   ${name}`);
}

async function moves(name, from, to, load) {
  const made = await makeState(from);
  const seen = await see(from, made);
  const state = await rpc(from, 'anvil_dumpState');
  const target = await to(state);
  if (load) assert.equal(await rpc(target, 'anvil_loadState', state), true);
  assert.deepEqual(await see(target, made), seen, name);
  // Both go on from there.
  const hash = await rpc(target, 'eth_sendTransaction', { from: FIRST, to: NOBODY, value: '0x1', gas: '0x5208' });
  await until('the next transaction is in a block', () => rpc(target, 'eth_getTransactionReceipt', hash));
  const receipt = await rpc(target, 'eth_getTransactionReceipt', hash);
  assert.equal(BigInt(receipt.blockNumber), BigInt(seen.height) + 1n, name);
  console.log(`ok   ${name}`);
}

/** Anvil with a state from a file. */
async function startWith(state) {
  const file = join(folder, 'state.json');
  writeFileSync(file, gunzipSync(Buffer.from(state.slice(2), 'hex')));
  assert.ok(JSON.parse(readFileSync(file, 'utf8')).blocks.length > 0);
  return startAnvil('--load-state', file);
}

let beginning = await rpc(esker, 'evm_snapshot');
const anvil = await startAnvil();
await moves('a state of esker in anvil', esker, () => anvil.url, true);
anvil.stop();

assert.equal(await rpc(esker, 'evm_revert', beginning), true);
beginning = await rpc(esker, 'evm_snapshot');
let other;
await moves('a file of esker in anvil', esker, async (state) => {
  other = await startWith(state);
  return other.url;
}, false);
other.stop();

assert.equal(await rpc(esker, 'evm_revert', beginning), true);
await movesOldStates('old states of esker in anvil', esker, async (state) => {
  other = await startWith(state);
  return other.url;
}, false);
// The file that anvil writes of them.
const again = await rpc(other.url, 'anvil_dumpState', true);
other.stop();

await rpc(esker, 'anvil_reset');
let source = await startAnvil();
await moves('a state of anvil in esker', source.url, () => esker, true);
source.stop();

await rpc(esker, 'anvil_reset');
source = await startAnvil();
await movesOldStates('old states of anvil in esker', source.url, () => esker, true);
source.stop();

await rpc(esker, 'anvil_reset');
other = await startWith(again);
const seenAgain = await seeOld(other.url, { contract: READER });
other.stop();
assert.equal(await rpc(esker, 'anvil_loadState', again), true);
assert.deepEqual(await seeOld(esker, { contract: READER }), seenAgain);
console.log('ok   old states of esker in esker, by way of anvil');
process.exit(0);
