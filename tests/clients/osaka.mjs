// What tools of today expect of a chain at the newest fork, on `esker evm` and on anvil: `node osaka.mjs URL`. The compiler is the newest
// one of npm here, without an EVM version.
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createRequire } from 'node:module';
import { createPublicClient, createWalletClient, http, numberToHex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { until } from './check.mjs';
import { endpoint, runOnBoth } from './control.mjs';
import { NOBODY, PATIENT, PHRASE, viemChain } from './evm.mjs';

const solc = createRequire(new URL('hardhat3/', import.meta.url))('solc');

/** CLZ is Osaka's, the rest is Cancun's. */
const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity >=0.8.31;
contract Newest {
  uint256 transient held;
  uint256 public last;
  function bits(uint256 value) external pure returns (uint256 count) {
    assembly { count := sub(256, clz(value)) }
  }
  function hold(uint256 value) external returns (uint256) {
    held = value;
    last = held + block.blobbasefee;
    return last;
  }
}
`;
/** P256VERIFY (EIP-7951). */
const P256 = '0x0000000000000000000000000000000000000100';
/** Hashes of past blocks (EIP-2935). */
const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935';
/** Most gas of a transaction (EIP-7825). */
const MOST_GAS = 16_777_216n;

const common = { chain: viemChain({ http: [endpoint] }), transport: http(endpoint, PATIENT), cacheTime: 0, pollingInterval: 20 };
const node = createPublicClient(common);
const wallet = createWalletClient({ ...common, account: mnemonicToAccount(PHRASE) });

const done = async (hash) => {
  let receipt;
  await until('the transaction is in a block', async () => {
    receipt = await node.getTransactionReceipt({ hash }).catch(() => null);
    return receipt !== null;
  });
  return receipt;
};

function compile() {
  const outputSelection = { '*': { '*': ['abi', 'metadata', 'evm.bytecode.object'] } };
  const input = { language: 'Solidity', sources: { 'Newest.sol': { content: SOURCE } }, settings: { outputSelection } };
  const { contracts, errors } = JSON.parse(solc.compile(JSON.stringify(input)));
  assert.ok(contracts, JSON.stringify(errors));
  const { abi, metadata, evm } = contracts['Newest.sol'].Newest;
  return { abi, bytecode: `0x${evm.bytecode.object}`, evmVersion: JSON.parse(metadata).settings.evmVersion };
}

/** Input of the precompile: a message's hash, a signature, a public key. */
function signed() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const message = Buffer.from('hello');
  const signature = sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  const key = [x, y].map((part) => Buffer.from(part, 'base64url'));
  return Buffer.concat([createHash('sha256').update(message).digest(), signature, ...key]);
}

await runOnBoth(import.meta.url, [
  ['what solc compiles by default', async () => {
    const { abi, bytecode, evmVersion } = compile();
    assert.equal(evmVersion, 'osaka');
    const { contractAddress } = await done(await wallet.deployContract({ abi, bytecode }));
    const contract = { abi, address: contractAddress };
    for (const [value, bits] of [[0n, 0n], [1n, 1n], [255n, 8n], [2n ** 256n - 1n, 256n]]) {
      assert.equal(await node.readContract({ ...contract, functionName: 'bits', args: [value] }), bits);
    }
    const receipt = await done(await wallet.writeContract({ ...contract, functionName: 'hold', args: [5n] }));
    assert.equal(receipt.status, 'success');
    assert.equal(await node.readContract({ ...contract, functionName: 'last' }), 6n);
  }],
  ['signatures of P-256', async () => {
    const input = signed();
    const verify = async (bytes) => (await node.call({ to: P256, data: `0x${bytes.toString('hex')}` })).data;
    assert.equal(await verify(input), numberToHex(1, { size: 32 }));
    input[0] ^= 1;
    assert.equal(await verify(input), undefined);
  }],
  ['hashes of past blocks', async () => {
    const { hash, number } = await node.getBlock();
    await done(await wallet.sendTransaction({ to: NOBODY, value: 1n }));
    const { data } = await node.call({ to: HISTORY, data: numberToHex(number, { size: 32 }) });
    assert.equal(data, hash);
  }],
  ['the floor of what data costs', async () => {
    const data = `0x${'11'.repeat(1000)}`;
    const receipt = await done(await wallet.sendTransaction({ to: NOBODY, data }));
    assert.equal(receipt.gasUsed, 21_000n + 40n * 1000n);
  }],
  ['the most gas of a transaction', async () => {
    const send = (gas) => wallet.sendTransaction({ to: NOBODY, gas });
    assert.equal((await done(await send(MOST_GAS))).status, 'success');
    await assert.rejects(send(MOST_GAS + 1n), /transaction gas limit too high/);
  }, 'it does not check that'],
]);
