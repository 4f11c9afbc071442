// What an ID, a height or a name can mean: candidates with the views that show them.

import { fromBech32, fromCb58 } from '../format/bytes.js';
import { to } from '../parts/id.js';
import { evm, nat, node, xvm } from './node.js';
import { replay } from './replay.js';

/** Everything that a text names: `[{ what, id, href }]`. */
export async function find(text, signal) {
  const found = forms(text);
  const answers = await Promise.all(found.map((look) => look(text, signal).catch((error) => {
    if (error.lost) throw error;
    return [];
  })));
  return answers.flat();
}

/** The forms that the text has, as functions that look for it. */
function forms(text) {
  if (/^\d+$/.test(text)) return [evmBlock, xBlock];
  if (/^0x[0-9a-f]{64}$/i.test(text)) return [evmHash];
  if (/^(0x)?[0-9a-f]{40}$/i.test(text)) return [evmAddress];
  if (/^[1-9A-HJ-NP-Za-km-z]+[:/]\d+$/.test(text)) return [utxo];
  if (bech32Address(text)) return [utxoAddress];
  const bytes = fromCb58(text);
  if (bytes?.length === 32) return [xTransaction, xBlockById, atomic];
  if (bytes?.length === 20) return [cb58Address];
  return [assetByName];
}

/** `[chain, bytes]` of an address of the UTXO chains, with or without the chain's alias. */
export function bech32Address(text) {
  const [alias, rest] = text.includes('-') ? text.split(/-(.*)/s) : ['X', text];
  const parsed = fromBech32(rest);
  return parsed?.bytes.length === 20 ? [alias, parsed.bytes, parsed.prefix] : null;
}

async function evmBlock(text) {
  if (!node.evm) return [];
  const block = await evm('evm_getHeaderByNumber', `0x${BigInt(text).toString(16)}`);
  return block ? [{ what: `Block of ${node.evm.alias || 'the chain'}`, id: text, href: to.block('c', text) }] : [];
}

async function xBlock(text, signal) {
  if (!node.x) return [];
  const { height } = await xvm('xvm.getHeight', {}, signal);
  return BigInt(text) <= BigInt(height) ? [{ what: 'Block of X', id: text, href: to.block('x', text) }] : [];
}

async function evmHash(text) {
  if (!node.evm) return [];
  const [tx, block] = await Promise.all([evm('evm_getTransactionByHash', text), evm('evm_getHeaderByHash', text).catch(() => null)]);
  return [
    tx && { what: 'Transaction of C', id: text, href: to.tx('c', text) },
    block && { what: `Block ${Number(block.number)} of C`, id: text, href: to.block('c', text) },
  ].filter(Boolean);
}

async function evmAddress(text) {
  const address = text.startsWith('0x') ? text : `0x${text}`;
  return [{ what: 'Account or contract of C', id: address, href: to.address(address) }];
}

async function utxoAddress(text) {
  const address = text.includes('-') ? text : `X-${text}`;
  return [{ what: `Address of ${address.split('-')[0]}`, id: address, href: to.address(address) }];
}

async function cb58Address(text) {
  const { toBech32 } = await import('../format/bytes.js');
  const address = `X-${toBech32(node.prefix, fromCb58(text))}`;
  return [{ what: 'Address of X', id: address, href: to.address(address) }];
}

async function utxo(text, signal) {
  const [txID, index] = text.split(/[:/]/);
  await xvm('xvm.getTx', { txID, encoding: 'json' }, signal).catch(() => nat('nat.getAtomicTx', { txID, encoding: 'json' }, signal));
  return [{ what: `Output ${index} of a transaction`, id: text, href: to.utxo(txID, index) }];
}

async function xTransaction(text, signal) {
  if (!node.x) return [];
  const { tx } = await xvm('xvm.getTx', { txID: text, encoding: 'json' }, signal);
  const isAsset = 'initialStates' in tx.unsignedTx;
  const genesis = isAsset && !tx.credentials?.length;
  return [
    isAsset && { what: 'Asset', id: text, href: to.asset(text) },
    !genesis && { what: 'Transaction of X', id: text, href: to.tx('x', text) },
  ].filter(Boolean);
}

async function xBlockById(text, signal) {
  if (!node.x) return [];
  const { block } = await xvm('xvm.getBlock', { blockID: text, encoding: 'json' }, signal);
  return [{ what: `Block ${block.height} of X`, id: text, href: to.block('x', text) }];
}

async function atomic(text, signal) {
  if (!node.x || !node.evm) return [];
  await nat('nat.getAtomicTx', { txID: text, encoding: 'json' }, signal);
  return [{ what: 'Export or import of C', id: text, href: to.tx('atomic', text) }];
}

/** Aliases are the node's; names and symbols are looked for among the assets that were created. */
async function assetByName(text, signal) {
  if (!node.x) return [];
  const alias = await xvm('xvm.getAssetDescription', { assetID: text }, signal).catch(() => null);
  if (alias) return [{ what: `Asset ${alias.name}`, id: alias.assetID, href: to.asset(alias.assetID) }];
  const created = [];
  await replay({ kind: 'transactions' }, (item) => { if (item.type === 'create asset') created.push(item.txID); }, { signal });
  const wanted = text.toLowerCase();
  const described = await Promise.all(created.slice(-500).map((assetID) => xvm('xvm.getAssetDescription', { assetID }, signal).catch(() => null)));
  return described.filter((asset) => asset && (asset.name.toLowerCase().includes(wanted) || asset.symbol.toLowerCase() === wanted))
    .map((asset) => ({ what: `Asset ${asset.name} (${asset.symbol})`, id: asset.assetID, href: to.asset(asset.assetID) }));
}
