// What a text of the search box means: candidates with the views that show them; a single one leads straight there.

import { replay } from '../chain/live.js';
import { evm, evmName, nat, node, xvm } from '../chain/node.js';
import { bech32Address, fromCb58, toBech32 } from '../format/bytes.js';
import { oneLine, visible } from '../format/text.js';
import { h, panel, table, viewTitle } from '../parts/base.js';
import { id, to } from '../parts/values.js';

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

async function evmBlock(text) {
  if (!node.evm) return [];
  const block = await evm('evm_getHeaderByNumber', `0x${BigInt(text).toString(16)}`);
  return block ? [{ what: `Block of ${evmName()}`, id: text, href: to.block('c', text) }] : [];
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
    tx && { what: `Transaction of ${evmName()}`, id: text, href: to.tx('c', text) },
    block && { what: `Block ${Number(block.number)} of ${evmName()}`, id: text, href: to.block('c', text) },
  ].filter(Boolean);
}

async function evmAddress(text) {
  const address = text.startsWith('0x') ? text : `0x${text}`;
  return [{ what: `Account or contract of ${evmName()}`, id: address, href: to.address(address) }];
}

async function utxoAddress(text) {
  const address = text.includes('-') ? text : `X-${text}`;
  return [{ what: `Address of ${address.split('-')[0]}`, id: address, href: to.address(address) }];
}

async function cb58Address(text) {
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

const COLUMNS = [
  ['What', (item) => visible(item.what)],
  ['ID', (item) => id(item.id, { href: item.href })],
];

export async function render({ text }, signal) {
  const found = await find(text, signal);
  if (found.length === 1 && !signal.aborted) location.replace(found[0].href);
  return { title: 'Search', content: [
    viewTitle('Search', h('span.mono', null, oneLine(text, 120))),
    found.length ? panel('Found', table(COLUMNS, found, { label: 'Found' }), { flush: true }) : nothing(),
  ] };
}

function nothing() {
  return panel('Nothing found', [
    h('p', null, 'Neither chain of this node knows it. What can be found:'),
    h('dl.facts', null, [
      ['Block', 'a height, the hash of a C block (0x and 64 digits), the ID of an X block'],
      ['Transaction', 'a C hash (0x and 64 digits), an X or atomic ID'],
      ['Address', 'X-, P- or C- and bech32, or 0x and 40 digits'],
      ['Asset', 'its ID, an alias, a name or a symbol'],
      ['UTXO', 'the transaction that made it, a colon and the index: ID:0'],
    ].map(([name, value]) => [h('dt', null, name), h('dd', null, value)])),
  ]);
}
