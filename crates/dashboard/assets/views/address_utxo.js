// An owner on the UTXO chains: balances in all assets, UTXOs, what waits to be imported, and its history.

import { callNamed, evm, nat, node, urlOf, xvm } from '../chain/node.js';
import { asset, consumed, inputsOf, kindOf, knownAccount, onChain, outputsOf, readUtxo, transaction } from '../chain/utxo.js';
import { bech32Address, fromCb58 } from '../format/bytes.js';
import { decimal, grouped, visible } from '../format/text.js';
import { awaited, facts, h, later, panel, replace, table, tabs, viewTitle, virtualList } from '../parts/base.js';
import { outputCells } from '../parts/utxo.js';
import { addressId, assetAmount, id, to, txId, wei } from '../parts/values.js';

const UTXO_PAGE = 50;
const HISTORY_PAGE = 200;
/** Most inputs of a transaction whose sources are asked for in a list. */
const MOST_INPUTS = 50;
/** Most assets whose names are asked for at once. */
const NAMED = 100;

const assetName = ({ name, symbol }) => `${visible(name)} (${visible(symbol)})`;

export async function render({ address }, signal) {
  if (!bech32Address(address)) throw new Error(`"${address}" is no address: a character or its checksum is wrong`);
  const x = onChain(address, 'X');
  const [spendable, all] = await Promise.all([balances(x, false, signal), balances(x, true, signal)]);
  const known = knownAccount(x);
  return { title: `${x.slice(0, 16)}…`, content: [
    viewTitle('Address', known ? h('span.badge', null, known.name) : null),
    h('section.panel', null, h('div.panel-body', null, facts([
      ['On X', id(x, { whole: true })],
      ['For exports to C', id(onChain(address, 'C'), { whole: true })],
      ['On P', id(onChain(address, 'P'), { whole: true })],
      ['Same key on C', known && [addressId(known.address), ' ', later(accountBalance(known.address), (value) => wei(value))]],
    ]))),
    panel('Balances on X', balanceTable(spendable, all), { flush: true }),
    tabs('Of this address', [
      ['UTXOs', () => utxoList(x, 'X', (params) => xvm('xvm.getUTXOs', params, signal), 'It owns no UTXOs.')],
      ['To be imported', () => awaited(() => waiting(address, signal), { signal })],
      ['History', () => history(x, [...new Set([node.assetID, ...all.map((item) => item.assetID)])], signal)],
    ]),
  ] };
}

const accountBalance = (address) => evm('evm_getBalance', address, 'latest');

async function balances(address, includePartial, signal) {
  const { balances: found } = await xvm('xvm.getAllBalances', { address, includePartial }, signal);
  // An asset with an alias is named by it.
  return Promise.all(found.map(async ({ asset: name, balance }) => ({ balance, assetID: fromCb58(name) ? name : (await asset(name)).assetID })));
}

function balanceTable(spendable, all) {
  const free = new Map(spendable.map((item) => [item.assetID, item.balance]));
  return table([
    ['Asset', ({ assetID }) => later(() => asset(assetID), (known) => h('a', { href: to.asset(assetID) }, assetName(known)))],
    ['ID', ({ assetID }) => id(assetID, { href: to.asset(assetID), kind: 'Asset' })],
    ['Spendable by it alone', ({ assetID }) => assetAmount(free.get(assetID) ?? 0, assetID), 'num'],
    ['With locked and shared', ({ assetID, balance }) => assetAmount(balance, assetID), 'num'],
  ], all, { label: 'Balances', empty: 'It owns no assets on X.' });
}

const UTXO_COLUMNS = [
  ['UTXO', (utxo) => id(`${utxo.txID}:${utxo.outputIndex}`, { href: to.utxo(utxo.txID, utxo.outputIndex), kind: 'UTXO' })],
  ...outputCells((utxo) => ({ ...utxo, type: utxo.output.type })),
];

function utxoList(address, alias, ask, empty) {
  const place = h('div');
  const utxos = [];
  let startIndex;
  const load = async () => {
    const page = await ask({ addresses: [address], limit: UTXO_PAGE, startIndex, encoding: 'hex' });
    startIndex = page.endIndex;
    utxos.push(...page.utxos.map((hex) => readUtxo(hex, alias)));
    const isLast = Number(page.numFetched) < UTXO_PAGE;
    return [table(UTXO_COLUMNS, utxos, { label: 'UTXOs', empty, most: Infinity }),
      isLast ? null : h('p.empty', null, h('button.btn', { type: 'button', onclick: () => replace(place, awaited(load)) }, `Show more than ${grouped(utxos.length)}`))];
  };
  place.append(awaited(load));
  return place;
}

/** What other chains exported to it. */
async function waiting(address, signal) {
  const ways = [
    ['On C, from X', node.evm && ((p) => nat('nat.getUTXOs', { ...p, sourceChain: 'X' }, signal)), 'C'],
    ['On X, from C', node.evm && ((p) => xvm('xvm.getUTXOs', { ...p, sourceChain: node.evm.alias }, signal)), 'X'],
    ['On X, from P', (p) => xvm('xvm.getUTXOs', { ...p, sourceChain: 'P' }, signal), 'X'],
    ['On P, from X', (p) => callNamed(urlOf('/ext/bc/P'), 'platform.getUTXOs', { ...p, sourceChain: 'X' }, signal), 'P'],
    ['On P, from C', (p) => callNamed(urlOf('/ext/bc/P'), 'platform.getUTXOs', { ...p, sourceChain: node.evm?.alias ?? 'C' }, signal), 'P'],
  ].filter(([, ask]) => ask);
  const found = await Promise.all(ways.map(async ([name, ask, alias]) => {
    const { utxos } = await ask({ addresses: [onChain(address, alias)], limit: UTXO_PAGE, encoding: 'hex' });
    return utxos.map((hex) => ({ where: name, ...readUtxo(hex, alias) }));
  }));
  return table([['Where', ({ where }) => where, 'nowrap'], ...UTXO_COLUMNS], found.flat(), { label: 'To be imported', empty: 'Nothing waits to be imported.' });
}

/** Its transactions in an asset, newest first. The number of them is looked for; then pages are read where the list is looked at. */
function history(address, assets, signal) {
  const place = h('div');
  const choice = h('select', { id: 'history-asset', onchange: () => show() }, assets.map((assetID) => h('option', { value: assetID }, assetID)));
  const name = async (option) => { option.textContent = assetName(await asset(option.value)); };
  for (const option of [...choice.options].slice(0, NAMED)) name(option).catch(() => {});
  const show = () => replace(place, awaited(() => historyOf(address, choice.value, signal), { signal, label: 'Looking for its end' }));
  show();
  return [h('div.field', null, h('label', { for: 'history-asset' }, 'Asset'), choice), place];
}

async function historyOf(address, assetID, signal) {
  const ask = async (cursor, pageSize) => (await xvm('xvm.getAddressTxs', { address, assetID, cursor, pageSize }, signal)).txIDs;
  const count = await endOf((at) => ask(at, 1));
  if (!count) return h('p.empty', null, 'No transactions in this asset.');
  const pages = new Map();
  const at = async (cursor) => {
    const from = cursor - (cursor % HISTORY_PAGE);
    if (!pages.has(from)) pages.set(from, ask(from, HISTORY_PAGE).catch((error) => { pages.delete(from); throw error; }));
    return (await pages.get(from))[cursor - from];
  };
  const cells = (txID) => [txId('x', txID), later(effect(txID, address, assetID), (value) => value), later(transaction(txID), ({ tx, chain }) => h('span', null, kindOf(tx, chain)))];
  const list = virtualList({ length: count }, (_, i) => [later(() => at(count - 1 - i), cells), h('span.muted.num', null, grouped(count - i))],
    { label: 'History', widths: '7.75rem 10rem 9rem 1fr' });
  return [list, h('p.empty.small', { role: 'status' }, `${grouped(count)} transactions, newest first`)];
}

/** The number of entries: doubles until there are none, then halves the range. */
async function endOf(at) {
  const has = async (cursor) => (await at(cursor)).length > 0;
  let low = 0;
  let high = 1;
  while (await has(high - 1)) { low = high; high *= 2; }
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (await has(middle - 1)) low = middle; else high = middle;
  }
  return low;
}

/** What a transaction changed for an address in an asset. */
async function effect(txID, address, assetID) {
  const { tx, chain } = await transaction(txID);
  const owns = (output) => output?.addresses?.includes(address);
  const sum = (items) => items.reduce((total, amount) => total + BigInt(amount ?? 0), 0n);
  const inputs = inputsOf(tx, chain).filter((input) => input.assetID === assetID && input.txID && !input.importedFrom);
  if (inputs.length > MOST_INPUTS) return h('span.muted.num', null, `${grouped(inputs.length)} inputs`);
  const spent = await Promise.all(inputs.map(consumed));
  const change = sum(outputsOf(tx, chain).filter((item) => item.assetID === assetID && !item.exportedTo && owns(item.output)).map((item) => item.output.amount))
    - sum(spent.filter((item) => owns(item?.output)).map((item) => item.output.amount));
  const known = await asset(assetID);
  const text = decimal(change, Number(known.denomination));
  return h('span.spring.num', null, change > 0n ? `+${text}` : text, h('span.unit', null, ` ${visible(known.symbol)}`));
}
