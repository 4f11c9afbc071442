// Blob transactions (EIP-4844, EIP-7594) with cast, viem and ethers, on `esker evm` and on anvil: `node blobs.mjs URL`. Cast computes the
// proofs for all of them, once: the setup of KZG takes seconds, in JavaScript many.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HDNodeWallet, JsonRpcProvider } from 'ethers';
import { createPublicClient, createWalletClient, hexToBytes, http, parseTransaction } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { until } from './check.mjs';
import { endpoint, runOnBoth } from './control.mjs';
import { FIRST_KEY, GWEI, NOBODY, PATIENT, PHRASE, viemChain } from './evm.mjs';
import { cast, json, project } from './foundry-tools.mjs';

/** Gas of one blob. */
const BLOB_GAS = 131_072n;
/** Creation code of a contract that stores BLOBHASH(0) at slot 0. */
const KEEPER = '0x600680600b6000396000f3' + '600049600055';

const chain = viemChain({ http: [endpoint] });
const common = { chain, transport: http(endpoint, PATIENT), cacheTime: 0, pollingInterval: 20 };
const viem = createPublicClient(common);
const wallet = createWalletClient({ ...common, account: mnemonicToAccount(PHRASE, { addressIndex: 1 }) });
const ethers = new JsonRpcProvider(endpoint, undefined, { cacheTimeout: -1, pollingInterval: 20 });

const done = async (hash) => {
  let receipt;
  await until('the transaction is in a block', async () => {
    receipt = await viem.getTransactionReceipt({ hash }).catch(() => null);
    return receipt !== null;
  });
  return receipt;
};

/** Signed transactions of cast with one blob, for both nodes: with proofs of its cells, and with one proof, as before Osaka. */
function signedByCast() {
  const known = process.env.BLOB_TRANSACTIONS;
  if (known) return JSON.parse(readFileSync(known, 'utf8'));
  const [data, file] = ['data.bin', 'signed.json'].map((name) => join(project, name));
  writeFileSync(data, 'what a rollup has to say');
  const sign = (nonce, ...form) =>
    cast('mktx', '--private-key', FIRST_KEY, '--nonce', nonce, '--blob', '--path', data, '--blob-gas-price', '1gwei', ...form, NOBODY);
  const signed = [sign('0'), sign('1', '--eip4844')];
  writeFileSync(file, JSON.stringify(signed));
  process.env.BLOB_TRANSACTIONS = file;
  return signed;
}

const [withCellProofs, withOneProof] = signedByCast();
const [sidecar] = parseTransaction(withOneProof).sidecars;
const sendSigned = async (serializedTransaction) => done(await viem.sendRawTransaction({ serializedTransaction }));
/** As KZG libraries are: functions of the blob. */
const kzg = {
  blobToKzgCommitment: () => hexToBytes(sidecar.commitment),
  computeBlobKzgProof: () => hexToBytes(sidecar.proof),
};

await runOnBoth(import.meta.url, [
  ['cast: a blob with proofs of its cells', async () => {
    const { transactionHash } = await sendSigned(withCellProofs);
    const receipt = json('receipt', transactionHash);
    assert.deepEqual([receipt.status, receipt.type, BigInt(receipt.blobGasUsed)], ['0x1', '0x3', BLOB_GAS]);
    assert.equal(BigInt(receipt.blobGasPrice), 1n);
    const tx = json('tx', receipt.transactionHash);
    assert.match(tx.blobVersionedHashes[0], /^0x01[0-9a-f]{62}$/);
    const block = json('block', receipt.blockHash);
    assert.deepEqual([BigInt(block.blobGasUsed), BigInt(block.excessBlobGas)], [BLOB_GAS, 0n]);
  }],
  ['cast: a blob with one proof, as before Osaka', async () => {
    assert.equal((await sendSigned(withOneProof)).status, 'success');
  }],
  ['viem: a contract sees the hash of a blob', async () => {
    assert.equal(await viem.getBlobBaseFee(), 1n);
    const keeper = (await done(await wallet.deployContract({ abi: [], bytecode: KEEPER }))).contractAddress;
    const hash = await wallet.sendTransaction({ to: keeper, blobs: [sidecar.blob], kzg, maxFeePerBlobGas: GWEI });
    const receipt = await done(hash);
    assert.deepEqual([receipt.status, receipt.type, receipt.blobGasUsed, receipt.blobGasPrice], ['success', 'eip4844', BLOB_GAS, 1n]);
    const tx = await viem.getTransaction({ hash });
    assert.equal(await viem.getStorageAt({ address: keeper, slot: '0x0' }), tx.blobVersionedHashes[0]);
    assert.deepEqual([tx.maxFeePerBlobGas, tx.blobVersionedHashes.length], [GWEI, 1]);
    const block = await viem.getBlock({ blockHash: receipt.blockHash });
    assert.equal(block.blobGasUsed, BLOB_GAS);
    // Blobs stay there after their block.
    const blobs = (method, params) => viem.request({ method, params });
    assert.deepEqual(await blobs('anvil_getBlobsByTransactionHash', [hash]), [sidecar.blob]);
    assert.equal(await blobs('anvil_getBlobByHash', [tx.blobVersionedHashes[0]]), sidecar.blob);
    assert.equal(await blobs('anvil_getBlobByHash', [hash]), null);
    assert.equal(await blobs('anvil_getBlobsByTransactionHash', [tx.blobVersionedHashes[0]]), null);
  }],
  ['viem: what blobs of past blocks cost', async () => {
    const history = await viem.request({ method: 'eth_feeHistory', params: ['0x2', 'latest', []] });
    assert.deepEqual([history.baseFeePerBlobGas.length, history.blobGasUsedRatio.length], [3, 2]);
    assert.ok(history.blobGasUsedRatio.at(-1) > 0);
  }],
  ['viem: blobs that are refused', async () => {
    const form = { to: NOBODY, kzg, maxFeePerBlobGas: GWEI };
    const wrong = { ...kzg, computeBlobKzgProof: () => hexToBytes(`0xc0${'00'.repeat(47)}`) };
    await assert.rejects(wallet.sendTransaction({ ...form, kzg: wrong, gas: 21_000n, blobs: [sidecar.blob] }), /proof/i);
    await assert.rejects(wallet.sendTransaction({ ...form, gas: 21_000n, blobs: Array(7).fill(sidecar.blob) }), /too many blobs/i);
  }],
  ['ethers: a blob', async () => {
    const signer = HDNodeWallet.fromPhrase(PHRASE, undefined, "m/44'/60'/0'/0/2").connect(ethers);
    const tx = await signer.populateTransaction({ type: 3, to: NOBODY, kzg, blobs: [sidecar.blob], maxFeePerBlobGas: GWEI });
    const sent = await signer.sendTransaction(tx);
    const receipt = await done(sent.hash);
    assert.deepEqual([receipt.status, receipt.blobGasUsed], ['success', BLOB_GAS]);
    const mined = await ethers.getTransaction(sent.hash);
    assert.deepEqual([mined.type, mined.maxFeePerBlobGas, mined.blobVersionedHashes], [3, GWEI, sent.blobVersionedHashes]);
  }],
]);
ethers.destroy();
