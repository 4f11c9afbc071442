// A transaction of the EVM: what it did, why it failed, and everything that the node can tell of it.

import { callName, callTree, canTrace, consoleLines, eventName, partsOf, reasonOf, stateChanges } from '../chain/evm.js';
import { live } from '../chain/live.js';
import { evm, evmName, hasModule } from '../chain/node.js';
import { grouped, oneLine, utc, visible } from '../format/text.js';
import { awaited, facts, h, hexView, jsonView, longText, replace, table, tabs, textOfHex, viewTitle } from '../parts/base.js';
import { callTreeView, logFacts, stateView, stepsView } from '../parts/evm.js';
import { addressId, blockLink, gas, id, price, status, wei, when } from '../parts/values.js';

export async function render({ key: hash }, signal) {
  const [tx, receipt] = await Promise.all([evm('evm_getTransactionByHash', hash), evm('evm_getTransactionReceipt', hash)]);
  if (!tx) return unknown(hash);
  if (!receipt) live.on('evm', () => evm('evm_getTransactionReceipt', hash).then((found) => found && dispatchEvent(new Event('hashchange')), () => {}), signal);
  const block = receipt ? await evm('evm_getHeaderByHash', receipt.blockHash) : null;
  const tree = receipt && canTrace() ? callTree(hash) : null;
  return { title: `Transaction ${hash.slice(0, 10)}…`, content: [
    viewTitle(`Transaction of ${evmName()}`, status(receipt)),
    receipt && Number(receipt.status) === 0 ? failure(tree, signal) : null,
    h('section.panel', null, h('div.panel-body', null, txFacts(tx, receipt, block, tree, signal))),
    tabs('About the transaction', [
      tree && ['Calls', () => awaited(async () => callTreeView(await tree), { label: 'Executing it again', signal })],
      receipt && [`Events (${receipt.logs.length})`, () => events(receipt, tree, signal)],
      tree && ['State changes', () => awaited(async () => stateView(await stateChanges(hash)), { label: 'Executing it again', signal })],
      tree && ['Console', () => awaited(async () => consoleView(await consoleLines(hash)), { label: 'Executing it again', signal })],
      tree && ['Steps', () => stepsView(hash)],
      ['Input', () => inputView(tx)],
      ['Bytes', () => awaited(async () => hexView(await evm('evm_getRawTransactionByHash', hash)), { signal })],
      ['JSON', () => jsonView({ transaction: tx, receipt })],
    ]),
  ] };
}

async function unknown(hash) {
  const dropped = hasModule('txpool') ? await evm('txpool_dropReason', hash).catch(() => null) : null;
  return { title: 'Transaction', content: [
    viewTitle(`Transaction of ${evmName()}`, h('span.mark.warn', null, dropped ? 'dropped' : 'unknown')),
    h('div.notice', null, h('p', null, id(hash, { whole: true })),
      h('p', null, dropped ? `Dropped from the pool at ${utc(Number(dropped.time))}: ${visible(dropped.reason)}` : 'Neither the chain nor the pool of this node has it. It may have been taken back by a revert.')),
  ] };
}

function failure(tree, signal) {
  if (!tree) return h('div.notice.error', null, h('p', null, 'It failed. This node does not trace, so the reason is not known.'));
  return h('div.notice.error', { 'data-reason': '' }, awaited(async () => {
    const reason = reasonOf(await tree);
    return h('p', null, h('strong', null, 'Reason: '), reason ? longText(reason) : 'none given');
  }, { label: 'Asking for the reason', signal }));
}

function txFacts(tx, receipt, block, tree, signal) {
  const called = h('span');
  tree?.then((top) => { if (!signal.aborted) replace(called, h('span.mono', null, longText(callName(top), 300))); }, () => replace(called, tx.input.slice(0, 10)));
  const fee = receipt && BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
  return facts([
    ['Hash', id(tx.hash, { whole: true })],
    ['Block', receipt && [blockLink('c', Number(receipt.blockNumber)), h('span.muted', null, `, place ${Number(receipt.transactionIndex)}`)]],
    ['Time', block && when(Number(block.timestamp))],
    ['From', addressId(tx.from)],
    tx.to ? ['To', addressId(tx.to)] : ['Creates', receipt?.contractAddress && addressId(receipt.contractAddress)],
    ['Call', tree && tx.input.length > 2 ? called : null],
    ['Value', wei(tx.value)],
    ['Fee', fee !== null && fee !== undefined && wei(fee)],
    ['Gas used', receipt && [gas(receipt.gasUsed), h('span.muted', null, ` of ${grouped(BigInt(tx.gas))}, ${((100 * Number(receipt.gasUsed)) / Number(tx.gas)).toFixed(1)} %`)]],
    ['Gas price', price(receipt?.effectiveGasPrice ?? tx.gasPrice)],
    ['Nonce', grouped(Number(tx.nonce))],
    ['Type', typeName(Number(tx.type))],
  ]);
}

function typeName(type) {
  return `${type}, ${['without an access list', 'with an access list (EIP-2930)', 'with a fee market (EIP-1559)', 'with blobs (EIP-4844)', 'with delegations (EIP-7702)'][type] ?? 'unknown'}`;
}

function events(receipt, tree, signal) {
  if (!receipt.logs.length) return h('p.muted', null, 'It wrote no events.');
  const names = tree ? tree.then(namedLogs, () => []) : Promise.resolve([]);
  return awaited(async () => {
    const named = await names;
    return h('div', null, receipt.logs.map((log, i) => eventView(log, named[i]?.names)));
  }, { signal });
}

/** The logs of a trace in the order of the receipt. */
function namedLogs(top) {
  return partsOf(top).flatMap((part) => (part.topics ? [part] : namedLogs(part)));
}

function eventView(log, names) {
  return h('div.event', null,
    h('div.title', null, h('span.badge', null, `log ${Number(log.logIndex)}`), h('span.mono', null, longText(eventName(names) ?? ''))),
    logFacts({ ...log, names }));
}

function consoleView(lines) {
  return table([
    ['Contract', (line) => addressId(line.from)],
    ['Text', (line) => h('span.mono', null, longText(line.text))],
    ['Function', (line) => h('span.muted.mono', null, oneLine(line.signature ?? line.error ?? ''))],
  ], lines, { label: 'Console', empty: 'It printed nothing with console.log.' });
}

function inputView(tx) {
  if (tx.input === '0x') return h('p.muted', null, 'It has no input.');
  return [hexView(tx.input), h('h3', null, 'As text'), textOfHex(tx.input)];
}
