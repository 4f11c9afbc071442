// Assets, known accounts, transactions of the UTXO chains as inputs and outputs, and where outputs went.

import { replay } from './live.js';
import { chainName, evm, nat, node, xvm } from './node.js';
import { extraData, fromBech32, fromCb58, fromHex, sha256, toBech32, toCb58, toHex, utxoId } from '../format/bytes.js';

const known = new Map();

export function asset(assetID) {
  if (assetID === node.assetID) return Promise.resolve({ assetID, name: 'Native asset', symbol: node.symbol, denomination: '9' });
  if (!known.has(assetID)) {
    const found = xvm('xvm.getAssetDescription', { assetID });
    known.set(assetID, found);
    found.catch(() => known.delete(assetID));
  }
  return known.get(assetID);
}

// [account of the EVM, bytes of the X-Chain's address, private key]; the last one is the well-known key.
const KNOWN = [
  ['f39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'a55476015c13afb8afb92160329a8cde976f1f2e', 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'],
  ['70997970c51812dc3a010c7d01b50e0d17dc79c8', 'c4841b8f5e6f10a38dc5e672e183ffd9be0cd12f', '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'],
  ['3c44cdddb6a900fa2b585dd299e03d12fa4293bc', '84a3b88b8d059d50fe0cdf82f3dca0397f0255c1', '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'],
  ['90f79bf6eb2c4f870365e785982e1f101e93b906', '245289ae1d4ab1b27e13e44e77a3ce0ebb2f445c', '7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'],
  ['15d34aaf54267db7d7c367839aaf71a00a2c6a65', '925754f8d4c7644769c762645f3cfb316498380f', '47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a'],
  ['9965507d1a55bcc2695c58ba16fb37d819b0a4dc', '8102522b7f48c72737b2a117915caee646ee5e78', '8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba'],
  ['976ea74026e726554db657fa54763abd0c3a0aa9', '1112747621394db974d2cab1662d979099e42ab0', '92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e'],
  ['14dc79964da2c08b23698b3d3cc7ca32193d9955', 'de47530dee07c1e61f7af1d8c354592642a7b0e3', '4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356'],
  ['23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f', 'fd063656bc48005f061c548062bcbb6ce5d0b98f', 'dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97'],
  ['a0ee7a142d267c1f36714e4a8f75612f20a79720', 'aa7ec73cc74c162f93c55f708873e66582c3d0e0', '2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6'],
  ['8db97c7cece249c2b98bdc0226cc4c2a57bf52fc', '3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c', '56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027'],
];

const all = () => KNOWN.map(([account, owner, key], i) => ({
  name: i === KNOWN.length - 1 ? 'well-known key' : `account ${i}`, address: `0x${account}`, owner, key,
  x: `X-${toBech32(node.prefix, fromHex(owner))}`, isWellKnown: i === KNOWN.length - 1,
}));

/** The accounts whose keys are public; empty but on development networks. */
export const knownAccounts = () => (node.isDev ? all() : []);

/** The known account with this address, of either form. */
export function knownAccount(address) {
  const text = address.toLowerCase();
  const tail = text.includes('-') ? text.split('-')[1] : null;
  return knownAccounts().find((account) => account.address === text || (tail && account.x.endsWith(`-${tail}`))) ?? null;
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.at = 0;
  }

  u16() { return this.view.getUint16(this.skip(2)); }
  u32() { return this.view.getUint32(this.skip(4)); }
  u64() { return this.view.getBigUint64(this.skip(8)); }
  take(count) { return this.bytes.slice(this.skip(count), this.at); }
  id() { return toCb58(this.take(32)); }
  list(read) { return Array.from({ length: this.u32() }, read); }

  skip(count) {
    this.at += count;
    return this.at - count;
  }
}

const KINDS = { 6: 'mint right', 7: 'transfer', 10: 'NFT mint right', 11: 'NFT', 15: 'property mint right', 16: 'property' };

/** A UTXO of `getUTXOs` with an encoding of hex; `alias` is the chain of its owners' addresses. */
export function readUtxo(hex, alias = 'X') {
  const reader = new Reader(fromHex(hex));
  reader.u16();
  const utxo = { txID: reader.id(), outputIndex: reader.u32(), assetID: reader.id() };
  const type = reader.u32();
  const output = { type: KINDS[type] ?? `type ${type}` };
  if (type === 7) output.amount = reader.u64();
  if (type === 10 || type === 11) output.groupID = reader.u32();
  if (type === 11) output.payload = `0x${toHex(reader.take(reader.u32()))}`;
  if (KINDS[type]) {
    output.locktime = reader.u64();
    output.threshold = reader.u32();
    output.addresses = reader.list(() => `${alias}-${toBech32(node.prefix, reader.take(20))}`);
  }
  return { ...utxo, output };
}

/** IDs of the exports and imports in `blockExtraData` of a C block. */
export function atomicIds(hex) {
  const bytes = fromHex(extraData(hex)[0]);
  if (bytes.length < 6) return [];
  const reader = new Reader(bytes);
  const version = reader.take(2);
  const isBatch = reader.view.getUint32(2) > 1 || !looksLikeTransaction(bytes, 2);
  if (!isBatch) return [toCb58(sha256(bytes))];
  return reader.list(() => {
    const from = reader.at;
    skipTransaction(reader);
    return toCb58(sha256(new Uint8Array([...version, ...bytes.slice(from, reader.at)])));
  });
}

/** A single transaction begins with its type, the network's number and the chain's ID, a batch with a count. */
function looksLikeTransaction(bytes, at) {
  const chain = toHex(fromCb58(node.evm.id) ?? []);
  return new DataView(bytes.buffer).getUint32(at + 4) === node.networkID && toHex(bytes.slice(at + 8, at + 40)) === chain;
}

function skipTransaction(reader) {
  const isImport = reader.u32() === 0;
  reader.skip(4 + 32 + 32);
  if (isImport) {
    reader.list(() => { reader.skip(32 + 4 + 32 + 4 + 8); reader.skip(4 * reader.u32()); });
    reader.list(() => reader.skip(20 + 8 + 32));
  } else {
    reader.list(() => reader.skip(20 + 8 + 32 + 8));
    reader.list(() => { reader.skip(32 + 4 + 8 + 8 + 4); reader.skip(20 * reader.u32()); });
  }
  reader.list(() => { reader.skip(4); reader.skip(65 * reader.u32()); });
}

const cache = new Map();

/** A transaction by ID: `{ tx, chain, blockHeight }`, of X or an export or import of C. */
export function transaction(txID) {
  if (!cache.has(txID)) {
    if (cache.size > 500) cache.clear();
    const found = xvm('xvm.getTx', { txID, encoding: 'json' }).then(
      ({ tx }) => ({ tx, chain: 'X' }),
      (error) => {
        if (error.lost || !node.evm) throw error;
        return nat('nat.getAtomicTx', { txID, encoding: 'json' }).then(({ tx, blockHeight }) => ({ tx, chain: 'C', blockHeight }), () => { throw error; });
      });
    cache.set(txID, found);
    found.catch(() => cache.delete(txID));
  }
  return cache.get(txID);
}

export function kindOf({ unsignedTx }, chain = 'X') {
  if ('initialStates' in unsignedTx) return 'Create asset';
  if ('operations' in unsignedTx) return 'Operation';
  if ('importedInputs' in unsignedTx) return `Import from ${chainName(unsignedTx.sourceChain)}`;
  if ('exportedOutputs' in unsignedTx) return `Export to ${chainName(unsignedTx.destinationChain)}`;
  return chain === 'X' ? 'Transfer' : 'Transaction';
}

/** All outputs with their indexes: `{ index, assetID, type, output, exportedTo, isEvm }`. */
export function outputsOf({ unsignedTx: tx, id }, chain) {
  const found = [];
  const add = (assetID, output, more = {}) => {
    found.push({ index: found.length, assetID, output, type: typeOf(output, more.mint), ...more });
  };
  if (chain === 'C' && 'importedInputs' in tx) {
    return tx.outputs.map((out, index) => ({ index, assetID: out.assetID, type: 'to account', isEvm: true, output: { addresses: [out.address], amount: out.amount, locktime: 0, threshold: 1 } }));
  }
  if (chain === 'X') for (const out of tx.outputs) add(out.assetID, out.output);
  for (const state of tx.initialStates ?? []) for (const output of state.outputs) add(id, output, { mint: true });
  for (const op of tx.operations ?? []) for (const output of operationOutputs(op.operation)) add(op.assetID, output, { minted: true });
  for (const out of tx.exportedOutputs ?? []) add(out.assetID, out.output, { exportedTo: tx.destinationChain });
  return found;
}

function operationOutputs({ mintOutput, transferOutput, ownedOutput, output, outputs, groupID, payload }) {
  if (outputs) return outputs.map((owners) => ({ ...owners, groupID, payload }));
  return [mintOutput && { ...mintOutput, isMint: true }, transferOutput, ownedOutput, output].filter(Boolean);
}

function typeOf(output, initial) {
  if ('payload' in output) return 'NFT';
  if ('groupID' in output) return 'NFT mint right';
  if ('amount' in output) return 'transfer';
  return initial || output.isMint ? 'mint right' : 'property';
}

/** All inputs: `{ txID, outputIndex, assetID, amount, importedFrom, address }`. */
export function inputsOf({ unsignedTx: tx }, chain) {
  const of = (input, more) => ({ txID: input.txID, outputIndex: input.outputIndex, assetID: input.assetID, amount: input.input.amount, ...more });
  if (chain === 'C' && 'exportedOutputs' in tx) return tx.inputs.map((input) => ({ assetID: input.assetID, amount: input.amount, address: input.address, isEvm: true }));
  return [
    ...(chain === 'X' ? tx.inputs ?? [] : []).map((input) => of(input)),
    ...(tx.operations ?? []).flatMap((op) => op.inputIDs.map((input) => ({ ...input, assetID: op.assetID }))),
    ...(tx.importedInputs ?? []).map((input) => of(input, { importedFrom: tx.sourceChain })),
  ];
}

/** The output that an input consumes, or null where the node does not have it. */
export async function consumed({ txID, outputIndex }) {
  try {
    const { tx, chain } = await transaction(txID);
    return outputsOf(tx, chain).find(({ index }) => index === outputIndex) ?? null;
  } catch (error) {
    if (error.lost) throw error;
    return null;
  }
}

export function onChain(address, alias) {
  const { prefix, bytes } = fromBech32(address.split('-')[1]);
  return `${alias}-${toBech32(prefix, bytes)}`;
}

/**
 * Where an output went: `{ state: 'unspent' | 'waiting' | 'spent' | 'unknown', txID, chain }`.
 * `waiting` is exported and not imported yet.
 */
export async function spender(txID, item, chain, signal) {
  if (item.isEvm) return { state: 'account' };
  const other = item.exportedTo ? chainName(item.exportedTo) : null;
  if (other === 'P') return { state: 'waiting' };
  if (await exists(txID, item, chain, other, signal)) return { state: other ? 'waiting' : 'unspent' };
  if (other === node.evm?.alias) return importOnEvm(txID, item.index, signal);
  return consumerOnX(txID, item, other, signal);
}

/** Pages of UTXOs begin after an ID, so the one after its predecessor is the one asked for, if it is there. */
async function exists(txID, { index, output }, chain, other, signal) {
  const wanted = utxoId(txID, index);
  const before = BigInt(`0x${toHex(wanted)}`) - 1n;
  const bytes = Uint8Array.from(before.toString(16).padStart(64, '0').match(/../g), (pair) => parseInt(pair, 16));
  const address = onChain(output.addresses[0], other ?? 'X');
  const params = { addresses: [address], limit: 1, startIndex: { address, utxo: toCb58(bytes) }, encoding: 'hex' };
  if (other) params.sourceChain = chain;
  const { utxos } = await (other === node.evm?.alias ? nat('nat.getUTXOs', params, signal) : xvm('xvm.getUTXOs', params, signal));
  return utxos.map((hex) => readUtxo(hex)).some((utxo) => utxo.txID === txID && utxo.outputIndex === index);
}

async function consumerOnX(txID, { index, output, assetID }, other, signal) {
  const change = other ? 'imported' : 'consumed';
  let found = null;
  await replay({ kind: 'utxos', addresses: [onChain(output.addresses[0], 'X')], assetIDs: [assetID] }, (item) => {
    const isIt = item.change === change && item.producedBy === txID && Number(item.outputIndex) === index && !item.removed;
    if (isIt) found = item;
    return isIt;
  }, { signal });
  return found ? { state: 'spent', txID: found.txID, chain: 'X', height: found.height } : { state: 'unknown' };
}

const SCAN_BLOCKS = 4000;
const SCAN_BATCH = 100;

/** Looks through the last C blocks for an import of this output. */
async function importOnEvm(txID, index, signal) {
  const raw = toHex(fromCb58(txID)) + index.toString(16).padStart(8, '0');
  const last = Number(await evm('evm_blockNumber'));
  for (let top = last; top > Math.max(0, last - SCAN_BLOCKS) && !signal?.aborted; top -= SCAN_BATCH) {
    const heights = Array.from({ length: Math.min(SCAN_BATCH, top) }, (_, i) => top - i);
    const blocks = await Promise.all(heights.map((at) => evm('evm_getBlockByNumber', `0x${at.toString(16)}`, false).catch(() => null)));
    const block = blocks.find((one) => one?.blockExtraData?.includes(raw));
    if (block) return importIn(atomicIds(block.blockExtraData), txID, index);
  }
  return { state: 'unknown' };
}

async function importIn(ids, txID, index) {
  for (const one of ids) {
    const { tx, chain } = await transaction(one);
    if (inputsOf(tx, chain).some((input) => input.txID === txID && input.outputIndex === index)) return { state: 'spent', txID: one, chain: 'C' };
  }
  return { state: 'unknown' };
}
