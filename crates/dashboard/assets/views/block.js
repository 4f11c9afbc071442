// A block of either chain.

import { evm, evmName, node, xvm } from '../chain/node.js';
import { atomicIds, kindOf } from '../chain/utxo.js';
import { extraData } from '../format/bytes.js';
import { bytes, grouped } from '../format/text.js';
import { awaited, facts, h, hexView, jsonView, table, tabs, viewTitle } from '../parts/base.js';
import { addressId, count, gas, id, price, status, to, txId, wei, when } from '../parts/values.js';

export function render({ chain, key }, signal) {
  return chain === 'x' ? xBlock(key, signal) : evmBlock(key);
}

function around(chain, height, last) {
  const link = (at, text, label) => (at >= 0 && at <= last ? h('a.btn', { href: to.block(chain, at), 'aria-label': label }, text) : null);
  return h('span.spring.nowrap', null, link(height - 1, '← Previous', 'Previous block'), ' ', link(height + 1, 'Next →', 'Next block'));
}

async function evmBlock(key) {
  const block = key.length > 20 ? await evm('evm_getBlockByHash', key, true) : await evm('evm_getBlockByNumber', `0x${BigInt(key).toString(16)}`, true);
  if (!block) throw new Error(`${evmName()} has no block ${key} now`);
  const height = Number(block.number);
  const [last, receipts] = await Promise.all([evm('evm_blockNumber'), evm('evm_getBlockReceipts', block.hash).catch(() => [])]);
  const ids = atomicIds(block.blockExtraData ?? '0x');
  return { title: `Block ${height} of ${evmName()}`, content: [
    viewTitle(`Block ${grouped(height)} of ${evmName()}`, around('c', height, Number(last))),
    h('section.panel', null, h('div.panel-body', null, evmFacts(block, height))),
    tabs('Contents of the block', [
      [`Transactions (${block.transactions.length})`, () => table(evmColumns(receipts ?? []), block.transactions, { label: 'Transactions', empty: 'This block has no transactions.' })],
      ids.length && [`Exports and imports (${ids.length})`, () => table([['ID', (one) => txId('atomic', one)]], ids, { label: 'Exports and imports' })],
      ['Fields', () => jsonView({ ...block, transactions: block.transactions.map(({ hash }) => hash) })],
    ]),
  ] };
}

function evmFacts(block, height) {
  const used = Number(block.gasLimit) ? ((100 * Number(block.gasUsed)) / Number(block.gasLimit)).toFixed(2) : '0';
  return facts([
    ['Hash', id(block.hash, { whole: true })],
    ['Parent', height > 0 && id(block.parentHash, { href: to.block('c', height - 1), kind: 'Block' })],
    ['Time', when(Number(block.timestamp))],
    ['Gas used', [gas(block.gasUsed), h('span.muted', null, ` of ${grouped(Number(block.gasLimit))}, ${used} %`)]],
    ['Base fee', block.baseFeePerGas && price(block.baseFeePerGas)],
    ['Fees go to', addressId(block.miner)],
    ['Controls', extraData(block.blockExtraData)[1] && 'changed state or header besides its transactions'],
    ['Size', bytes(Number(block.size)).join(' ')],
    ['State root', id(block.stateRoot)],
  ]);
}

function evmColumns(receipts) {
  const of = new Map(receipts.map((receipt) => [receipt.transactionHash, receipt]));
  return [
    ['#', (tx) => String(Number(tx.transactionIndex)), 'num'],
    ['Transaction', (tx) => txId('c', tx.hash)],
    ['Status', (tx) => status(of.get(tx.hash))],
    ['From', (tx) => addressId(tx.from)],
    ['To', (tx) => (tx.to ? addressId(tx.to) : h('span.nowrap', null, 'creates ', addressId(of.get(tx.hash)?.contractAddress)))],
    ['Value', (tx) => wei(tx.value), 'num'],
    ['Gas used', (tx) => (of.has(tx.hash) ? gas(of.get(tx.hash).gasUsed) : '–'), 'num'],
  ];
}

async function xBlock(key, signal) {
  const [{ block }, { height: last }] = await Promise.all([
    /^\d+$/.test(key) ? xvm('xvm.getBlockByHeight', { height: key, encoding: 'json' }, signal) : xvm('xvm.getBlock', { blockID: key, encoding: 'json' }, signal),
    xvm('xvm.getHeight', {}, signal),
  ]);
  const raw = async () => hexView((await xvm('xvm.getBlock', { blockID: block.id, encoding: 'hexnc' }, signal)).block);
  return { title: `Block ${block.height} of X`, content: [
    viewTitle(`Block ${grouped(block.height)} of X`, around('x', block.height, Number(last))),
    h('section.panel', null, h('div.panel-body', null, facts([
      ['ID', id(block.id, { whole: true })],
      ['Parent', block.height > 0 && id(block.parentID, { href: to.block('x', block.height - 1), kind: 'Block' })],
      ['Time', when(block.time)],
      ['Transactions', count(block.txs.length)],
    ]))),
    tabs('Contents of the block', [
      [`Transactions (${block.txs.length})`, () => table(X_COLUMNS, block.txs, { label: 'Transactions', empty: 'This block has no transactions.' })],
      ['JSON', () => jsonView(block)],
      ['Bytes', () => awaited(raw, { signal })],
    ]),
  ] };
}

const X_COLUMNS = [
  ['Transaction', (tx) => txId('x', tx.id)],
  ['What', (tx) => kindOf(tx)],
  ['Inputs', ({ unsignedTx: tx }) => String((tx.inputs?.length ?? 0) + (tx.importedInputs?.length ?? 0)), 'num'],
  ['Outputs', ({ unsignedTx: tx }) => String((tx.outputs?.length ?? 0) + (tx.exportedOutputs?.length ?? 0)), 'num'],
];
