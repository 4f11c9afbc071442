// cast and forge against the EVM chain of a development node: `node foundry.mjs URL`.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { steps } from './check.mjs';
import { CHAIN_ID, FIRST, FIRST_KEY, LEAST_BASE_FEE, NOBODY, SOURCE, STORE_CODE, TRANSFER_GAS, UNIT } from './evm.mjs';
import { build, cast, json, offline, project, refusal, run, send, url } from './foundry-tools.mjs';

/** Where a contract is made with this salt: through a deployer that is at one address on every chain. */
const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
const SALT = `0x${'7'.padStart(64, '0')}`;

/** A script that makes a contract with the salt, and calls it. */
const SCRIPT = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
import { Store } from "../src/Store.sol";
interface Vm { function startBroadcast() external; function stopBroadcast() external; }
contract Deploy {
  Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
  function run() external returns (address) {
    vm.startBroadcast();
    Store store = new Store{salt: bytes32(uint256(7))}();
    store.put(1, 2);
    vm.stopBroadcast();
    return address(store);
  }
}
`;

let store;

await steps([
  ['cast: network and accounts', () => {
    assert.equal(cast('chain-id'), String(CHAIN_ID));
    assert.equal(cast('block-number'), '0');
    assert.equal(BigInt(cast('balance', FIRST)), 10_000n * UNIT);
    assert.equal(cast('nonce', FIRST), '0');
    assert.ok(BigInt(cast('gas-price')) >= LEAST_BASE_FEE);
    assert.ok(BigInt(cast('base-fee')) >= LEAST_BASE_FEE);
    assert.equal(cast('estimate', NOBODY, '--value', '1', '--from', FIRST), String(TRANSFER_GAS));
  }],

  ['cast: send', () => {
    const receipt = send(NOBODY, '--value', '5');
    assert.deepEqual([receipt.status, receipt.type, BigInt(receipt.gasUsed)], ['0x1', '0x2', TRANSFER_GAS]);
    assert.equal(cast('balance', NOBODY), '5');
    assert.equal(cast('balance', NOBODY, '--block', '0'), '0');
    assert.equal(send(NOBODY, '--value', '1', '--legacy').type, '0x0');
    const tx = json('tx', receipt.transactionHash);
    assert.deepEqual([tx.from, tx.blockHash], [FIRST.toLowerCase(), receipt.blockHash]);
    assert.equal(json('receipt', receipt.transactionHash).transactionHash, receipt.transactionHash);
  }],

  ['cast: block', () => {
    const block = json('block', '1');
    assert.deepEqual([BigInt(block.number), block.transactions.length], [1n, 1]);
    assert.equal(json('block', block.hash).hash, block.hash);
    const latest = json('block', 'latest');
    for (const tag of ['safe', 'finalized']) assert.equal(json('block', tag).hash, latest.hash);
    assert.equal(json('block', 'earliest').hash, block.parentHash);
    assert.equal(json('block', '1', '--full').transactions[0].value, '0x5');
    assert.match(cast('block', 'latest'), /baseFeePerGas/);
  }],

  ['forge: create', () => {
    mkdirSync(join(project, 'src'));
    copyFileSync(SOURCE, join(project, 'src', 'Store.sol'));
    const created = run('forge', [
      'create', 'src/Store.sol:Store', ...build,
      '--rpc-url', url, '--private-key', FIRST_KEY, '--broadcast', '--json', '--value', '7',
    ]);
    const { deployer, deployedTo, transactionHash } = JSON.parse(created.slice(created.indexOf('{')));
    assert.equal(deployer, FIRST);
    assert.equal(json('receipt', transactionHash).status, '0x1');
    assert.equal(cast('balance', deployedTo), '7');
    store = deployedTo;
  }],

  ['forge: script with a salt', () => {
    mkdirSync(join(project, 'script'));
    writeFileSync(join(project, 'script', 'Deploy.s.sol'), SCRIPT);
    run('forge', [
      'script', 'script/Deploy.s.sol:Deploy', ...build,
      '--rpc-url', url, '--private-key', FIRST_KEY, '--broadcast', '--non-interactive',
    ]);
    const nonce = Number(cast('nonce', FIRST));
    const [made, called] = [nonce - 2, nonce - 1].map((n) => json('rpc', 'eth_getTransactionBySenderAndNonce', FIRST, String(n)));
    assert.equal(made.to, DEPLOYER.toLowerCase());
    assert.equal(made.input.slice(0, 66), SALT);
    const hash = offline('keccak', `0x${made.input.slice(66)}`);
    const address = offline('create2', '--deployer', DEPLOYER, '--salt', SALT, '--init-code-hash', hash);
    const [contract] = /0x[0-9a-fA-F]{40}/.exec(address);
    assert.equal(called.to, contract.toLowerCase());
    assert.equal(cast('call', contract, 'owner()(address)'), DEPLOYER);
    assert.equal(cast('call', contract, 'data(uint256)(uint256)', '1'), '2');
  }],

  ['cast: call, send, storage', () => {
    assert.equal(cast('call', store, 'owner()(address)'), FIRST);
    const receipt = send(store, 'put(uint256,uint256)', '3', '4');
    assert.equal(receipt.logs[0].topics[0], offline('sig-event', 'Put(address indexed,uint256 indexed,uint256)'));
    assert.equal(cast('call', store, 'data(uint256)(uint256)', '3'), '4');
    assert.equal(cast('call', store, 'data(uint256)(uint256)', '3', '--block', String(BigInt(receipt.blockNumber) - 1n)), '0');
    assert.equal(BigInt(cast('storage', store, '0')), 1n);
    assert.match(cast('code', store), /^0x60/);
    assert.equal(json('proof', store, '0').storageProof[0].value, '0x1');
  }],

  ['cast: an access list', () => {
    assert.match(cast('access-list', store, 'count()', '--from', FIRST), new RegExp(store, 'i'));
    assert.equal(send(store, 'put(uint256,uint256)', '3', '5', '--access-list').type, '0x2');
  }],

  ['cast: reverts with a reason, with a custom error', () => {
    assert.match(refusal('call', store, 'reason()'), /execution reverted: not today/);
    const denied = refusal('call', store, 'custom()', '--from', FIRST);
    const [data] = /0x[0-9a-f]{136}/.exec(denied);
    assert.deepEqual(offline('decode-error', '--sig', 'Denied(address,uint256)', data).split(/\s+/), [FIRST, '42']);
    assert.match(refusal('send', '--private-key', FIRST_KEY, store, 'reason()'), /not today/);
    assert.equal(cast('call', store, 'count()(uint256)'), '2');
  }],

  ['cast: deploy, replace', () => {
    assert.equal(send('--create', STORE_CODE).status, '0x1');
    const nonce = Number(cast('nonce', FIRST));
    // It waits for the one before it.
    const later = ['--async', '--private-key', FIRST_KEY, NOBODY, '--nonce', String(nonce + 1), '--value'];
    const first = cast('send', ...later, '11', '--gas-price', '50gwei', '--priority-gas-price', '1gwei');
    assert.match(
      refusal('send', ...later, '12', '--gas-price', '50gwei', '--priority-gas-price', '1gwei'),
      /replacement transaction underpriced/,
    );
    const second = cast('send', ...later, '13', '--gas-price', '100gwei', '--priority-gas-price', '2gwei');
    assert.match(refusal('tx', first), /not found/);
    send(NOBODY, '--value', '1', '--nonce', String(nonce));
    assert.equal(json('receipt', second).status, '0x1');
  }],
]);
