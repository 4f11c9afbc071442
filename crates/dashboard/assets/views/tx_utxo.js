// A transaction of X, or an export or import of C: inputs, outputs, memo, and the graph of its UTXOs.

import { replay } from '../chain/live.js';
import { chainName, limited, nat, node, xvm } from '../chain/node.js';
import { asset, consumed, inputsOf, kindOf, outputsOf, spender, transaction } from '../chain/utxo.js';
import { fromCb58, toCb58, utxoId } from '../format/bytes.js';
import { decimal, grouped, oneLine, visible } from '../format/text.js';
import { awaited, facts, h, hexView, jsonView, later, panel, replace, table, tabs, textOfHex, viewTitle } from '../parts/base.js';
import { BOXES, outputCells, utxoGraph } from '../parts/utxo.js';
import { addressId, assetAmount, blockLink, id, nano, to, txId } from '../parts/values.js';

/** Rows of a list before its reader asks for more. */
const ROWS = 64;
/** Most outputs that are followed at a time: each takes some requests. */
const AT_ONCE = 8;

/** Reads each of a list once, when it is first asked for; after an error again. */
function once(read, ask) {
  const known = new Map();
  return (index) => {
    if (!known.has(index)) {
      known.set(index, ask(() => read(index)));
      known.get(index).catch(() => known.delete(index));
    }
    return known.get(index);
  };
}

export async function render({ key }, signal) {
  const found = await transaction(key).catch(async (error) => {
    if (error.lost) throw error;
    return { status: await xvm('xvm.getTxStatus', { txID: key, includeReason: true }, signal) };
  });
  if (!found.tx) return notAccepted(key, found.status);
  const { tx, chain } = found;
  const inputs = inputsOf(tx, chain);
  const outputs = outputsOf(tx, chain);
  const ask = limited(AT_ONCE, signal);
  const source = once((index) => (inputs[index].txID ? consumed(inputs[index]) : null), ask);
  const end = once((index) => spender(key, outputs[index], chain, signal).catch(() => ({ state: 'unknown' })), ask);
  return { title: `${kindOf(tx, chain)} ${key.slice(0, 8)}…`, content: [
    viewTitle(`${kindOf(tx, chain)}, ${chain === 'X' ? 'transaction of X' : 'exchange of C'}`, h('span.mark.ok', null, found.blockHeight === undefined && chain === 'C' ? 'waiting' : 'accepted')),
    h('section.panel', null, h('div.panel-body', null, txFacts(found, key, inputs, outputs, signal))),
    panel('Where its assets came from and went', graph(found, key, inputs, outputs, source, end, signal), { flush: true }),
    h('div.columns', null,
      panel(`Inputs (${inputs.length})`, inputTable(inputs, source), { flush: true }),
      panel(`Outputs (${outputs.length})`, outputTable(key, outputs, end), { flush: true })),
    tabs('Forms', [
      ['JSON', () => jsonView(tx)],
      ['Bytes', () => awaited(async () => hexView(await raw(key, chain, signal)), { signal })],
    ]),
  ] };
}

function notAccepted(key, { status, reason }) {
  return { title: 'Transaction', content: [
    viewTitle('Transaction of X', h('span.mark.warn', null, status.toLowerCase())),
    h('div.notice', null, h('p', null, id(key, { whole: true })),
      h('p', null, reason ? visible(reason) : status === 'Processing' ? 'It waits for a block.' : 'The node does not know it. It may have been taken back by a revert.')),
  ] };
}

async function raw(txID, chain, signal) {
  const params = { txID, encoding: 'hexnc' };
  return (await (chain === 'X' ? xvm('xvm.getTx', params, signal) : nat('nat.getAtomicTx', params, signal))).tx;
}

function txFacts({ tx, chain, blockHeight }, key, inputs, outputs, signal) {
  const { unsignedTx } = tx;
  const place = h('span.muted', null, 'looking for it…');
  if (chain === 'X') {
    blockOf(key, outputs, signal).then((height) => {
      if (height === null) replace(place, 'not found within the bound of a search');
      else place.replaceWith(blockLink('x', height));
    });
  }
  return facts([
    ['ID', id(key, { whole: true })],
    ['Block', chain === 'X' ? place : blockHeight !== undefined && blockLink('c', blockHeight)],
    ['From', unsignedTx.sourceChain && `chain ${chainName(unsignedTx.sourceChain)}`],
    ['To', unsignedTx.destinationChain && `chain ${chainName(unsignedTx.destinationChain)}`],
    ['Creates', unsignedTx.initialStates && [id(key, { href: to.asset(key), kind: 'Asset' }), ` ${visible(unsignedTx.name)} (${visible(unsignedTx.symbol)}), ${unsignedTx.denomination} decimal places`]],
    ['Mints', minted(outputs)],
    ['Fee', fee(inputs, outputs)],
    ['Memo', unsignedTx.memo && unsignedTx.memo !== '0x' && [textOfHex(unsignedTx.memo), h('span.muted.small', null, ` ${grouped((unsignedTx.memo.length - 2) / 2)} bytes`)]],
  ]);
}

function minted(outputs) {
  const made = outputs.filter((item) => item.minted && item.type !== 'mint right');
  return made.length ? made.map((item) => h('div', null, item.output.amount !== undefined ? assetAmount(item.output.amount, item.assetID) : [item.type, ' of ', id(item.assetID, { href: to.asset(item.assetID) })])) : null;
}

function fee(inputs, outputs) {
  const sum = (items) => items.filter((item) => item.assetID === node.assetID).reduce((total, item) => total + BigInt(item.amount ?? item.output?.amount ?? 0), 0n);
  return inputs.length ? nano(sum(inputs) - sum(outputs)) : null;
}

/** The height of a transaction's block, from the notifications about its owners. */
async function blockOf(txID, outputs, signal) {
  const owner = outputs.find((item) => item.output.addresses?.length && !item.exportedTo) ?? outputs[0];
  let height = null;
  const filter = owner ? { addresses: owner.output.addresses.slice(0, 1).map((address) => address.replace(/^[A-Z]-/, 'X-')), assetIDs: [owner.assetID] } : {};
  await replay({ kind: 'transactions', ...filter }, (item) => {
    if (item.txID !== txID || item.removed) return false;
    height = item.height;
    return true;
  }, { signal, deadlineMs: 5000 });
  return height;
}

function graph({ tx, chain }, key, inputs, outputs, source, end, signal) {
  const boxes = (items, read, box) => Promise.all(items.slice(0, BOXES).map(async (item, i) => box(item, await read(i))));
  return awaited(async () => {
    const [left, right] = await Promise.all([
      boxes(inputs, source, async (input, from) => ({
        ...(input.isEvm ? { title: 'Account of C', detail: input.address, href: to.address(input.address) }
          : { title: input.importedFrom ? `Exported by ${chainName(input.importedFrom)}` : 'Output of', detail: input.txID, href: to.tx(input.importedFrom && chainName(input.importedFrom) !== 'X' && chain === 'X' ? 'atomic' : 'x', input.txID) }),
        amount: await amountText(input.amount ?? from?.output.amount, input.assetID, from?.type), tone: input.importedFrom ? 'other' : '',
      })),
      boxes(outputs, end, async (output, gone) => ({ ...rightBox(key, output, gone), amount: await amountText(output.output.amount, output.assetID, output.type) })),
    ]);
    return utxoGraph(left, { title: kindOf(tx, chain), detail: key }, right, inputs.length + outputs.length - left.length - right.length);
  }, { label: 'Following its UTXOs', signal });
}

function rightBox(key, output, end) {
  const href = end.state === 'spent' ? to.tx(end.chain === 'X' ? 'x' : 'atomic', end.txID) : to.utxo(key, output.index);
  const owner = output.output.addresses?.[0] ?? '';
  const titles = {
    spent: output.exportedTo ? `Imported by ${end.chain}` : 'Spent by', unspent: 'Unspent, owned by', account: 'Account of C',
    waiting: `Waits for ${chainName(output.exportedTo ?? '')}`, unknown: 'Not known where it went',
  };
  return {
    title: titles[end.state], detail: end.txID ?? owner, href: end.state === 'account' ? to.address(owner) : href,
    tone: end.state === 'spent' ? (output.exportedTo ? 'other' : '') : 'open',
  };
}

async function amountText(amount, assetID, type) {
  const known = await asset(assetID).catch(() => null);
  const unit = known ? known.symbol || known.name : `${assetID.slice(0, 6)}…`;
  return amount === undefined ? `${type ?? 'right'} ${unit}` : `${oneLine(decimal(amount, Number(known?.denomination ?? 0)), 15)} ${unit}`;
}

function inputTable(inputs, source) {
  return table([
    ['#', ({ at }) => String(at), 'num'],
    ['Amount', ({ at, input }) => (input.amount !== undefined ? assetAmount(input.amount, input.assetID)
      : h('span', null, later(source(at), (from) => h('span', null, from?.type ?? 'right')), ' of ', id(input.assetID, { href: to.asset(input.assetID) }))), 'num'],
    ['Owner', ({ at, input }) => (input.isEvm ? addressId(input.address) : later(source(at), (from) => from?.output.addresses.map(addressId) ?? h('span.muted', null, 'not known here')))],
    ['Made by', ({ input }) => (input.txID ? id(`${input.txID}:${input.outputIndex}`, { href: to.utxo(input.txID, input.outputIndex), kind: 'UTXO' }) : h('span.muted', null, 'account'))],
  ], inputs.map((input, at) => ({ at, input })), { label: 'Inputs', empty: 'It has no inputs.', most: ROWS });
}

function outputTable(key, outputs, end) {
  return table([
    ['#', ({ output }) => h('a', { href: output.isEvm ? to.address(output.output.addresses[0]) : to.utxo(key, output.index), title: `Output ${output.index}` }, String(output.index)), 'num'],
    ...outputCells(({ output }) => output),
    ['Now', ({ at, output }) => later(end(at), (gone) => endCell(output, gone))],
  ], outputs.map((output, at) => ({ at, output })), { label: 'Outputs', empty: 'It has no outputs.', most: ROWS });
}

export function endCell(output, end) {
  if (end.state === 'spent') return h('span.nowrap', null, output.exportedTo ? `imported by ${end.chain} ` : 'spent by ', txId(end.chain === 'X' ? 'x' : 'atomic', end.txID));
  return h(end.state === 'unknown' ? 'span.muted' : 'span', null, { unspent: 'unspent', waiting: `waits for ${chainName(output.exportedTo ?? '')}`, account: 'in the account', unknown: 'not found' }[end.state]);
}

/** The view of one output: what it holds, who owns it, where it is now. */
export async function renderOutput({ txID, index }, signal) {
  if (fromCb58(txID)?.length !== 32) throw new Error(`"${txID}" is not the ID of a transaction`);
  const { tx, chain } = await transaction(txID);
  const item = outputsOf(tx, chain).find((output) => output.index === Number(index));
  if (!item) throw new Error(`Transaction ${txID} has no output ${index}`);
  const [amount, owner] = outputCells((one) => one);
  return { title: `UTXO ${txID.slice(0, 8)}…:${index}`, content: [
    viewTitle(`Output ${index} of a transaction of ${chain}`),
    h('section.panel', null, h('div.panel-body', null, facts([
      ['UTXO', id(`${txID}:${index}`, { whole: true })],
      ['ID', id(toCb58(utxoId(txID, Number(index))), { whole: true })],
      ['Made by', txId(chain === 'X' ? 'x' : 'atomic', txID)],
      ['Kind', item.type],
      ['Holds', amount[1](item)],
      ['Asset', id(item.assetID, { href: to.asset(item.assetID), kind: 'Asset' })],
      ['Owner', owner[1](item)],
      ['Exported to', item.exportedTo && `chain ${chainName(item.exportedTo)}`],
      ['Now', awaited(async () => endCell(item, await spender(txID, item, chain, signal)), { label: 'Looking for what spent it', signal })],
    ]))),
  ] };
}
