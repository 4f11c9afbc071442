// An account or contract of the EVM: balance, tokens, its history, what it sent, its code, storage and events.

import { LIMITED, evm, evmName, hasModule, node } from '../chain/node.js';
import { knownAccount } from '../chain/utxo.js';
import { fromHex } from '../format/bytes.js';
import { decimal, grouped, textOfBytes } from '../format/text.js';
import { awaited, facts, h, hexView, later, longText, pagedList, table, tabs, viewTitle } from '../parts/base.js';
import { contractTab, storageView } from '../parts/evm.js';
import { addressId, blockLink, id, quantity, status, txId, wei } from '../parts/values.js';

const PAGE = 50;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export async function render(params, signal) {
  const address = params.address.toLowerCase();
  if (!node.evm) throw new Error('This node has no EVM chain');
  const [balance, nonce, code] = await Promise.all([
    evm('evm_getBalance', address, 'latest'), evm('evm_getTransactionCount', address, 'latest'), evm('evm_getCode', address, 'latest'),
  ]);
  const isContract = code !== '0x';
  const known = knownAccount(address);
  return { title: `${isContract ? 'Contract' : 'Account'} ${address.slice(0, 10)}…`, content: [
    viewTitle(`${isContract ? 'Contract' : 'Account'} of ${evmName()}`, known ? h('span.badge', null, known.name) : null),
    h('section.panel', null, h('div.panel-body', null, facts([
      ['Address', id(address, { whole: true })],
      ['Balance', wei(balance)],
      [isContract ? 'Contracts created' : 'Transactions sent', grouped(Number(nonce))],
      ['Code', isContract && quantity(grouped((code.length - 2) / 2), 'bytes')],
      ['Same key on X', known && node.x && addressId(known.x)],
    ]))),
    tabs('Of this address', [
      isContract && ['Functions', () => contractTab(address, signal)],
      isContract && hasModule('debug') && ['Storage', () => storageView(address, signal)],
      isContract && ['Code', () => hexView(code)],
      hasModule('ots') && ['History', () => history(address)],
      ['Sent', () => sent(address, Number(nonce))],
      ['Tokens', () => awaited(() => tokens(address), { signal, label: 'Looking for transfers to it' })],
      hasModule('txpool') && ['Pending', () => awaited(() => pending(address), { signal })],
    ]),
  ] };
}

/** What touched it, newest first, out of the node's index of addresses. */
function history(address) {
  let before = 0;
  let isDone = false;
  const page = async () => {
    if (isDone) return null;
    try {
      const { txs, receipts, lastPage } = await evm('ots_searchTransactionsBefore', address, before, PAGE);
      isDone = lastPage;
      before = txs.length ? Number(txs.at(-1).blockNumber) : before;
      return txs.length ? txs.map((tx, at) => ({ tx, receipt: receipts[at] })) : null;
    } catch (error) {
      if (error.lost || error.code === LIMITED) throw error;
      // The index is off, or begins after older blocks: what is there is shown, and why there is no more.
      isDone = true;
      return [{ note: error.message }];
    }
  };
  return pagedList(page, ({ tx, receipt, note }) => (note ? [h('span.muted', null, longText(note, 200))] : [
    txId('c', tx.hash), blockLink('c', Number(tx.blockNumber)), later(Promise.resolve(receipt), status),
    tx.from === address ? 'from it' : h('span', null, 'from ', addressId(tx.from)),
    tx.to === address ? 'to it' : tx.to ? h('span', null, 'to ', addressId(tx.to)) : 'creates a contract', wei(tx.value),
  ]), { label: 'History', widths: '9.5rem 4rem 6rem 11rem 11rem 1fr', empty: 'Nothing has touched it.', noun: 'transactions, newest first' });
}

/** What the account sent, by nonce, newest first. */
function sent(address, nonce) {
  let next = nonce;
  const page = async () => {
    if (next === 0) return null;
    const nonces = Array.from({ length: Math.min(PAGE, next) }, (_, i) => next - 1 - i);
    const found = await Promise.all(nonces.map(async (at) => ({ at, tx: await evm('evm_getTransactionBySenderAndNonce', address, `0x${at.toString(16)}`) })));
    next -= nonces.length;
    return found;
  };
  return pagedList(page, ({ at, tx }) => (tx ? [
    h('span.muted', null, `nonce ${grouped(at)}`), txId('c', tx.hash), blockLink('c', Number(tx.blockNumber ?? 0)),
    tx.to ? h('span', null, 'to ', addressId(tx.to)) : 'creates a contract', wei(tx.value), later(evm('evm_getTransactionReceipt', tx.hash), status),
  ] : [h('span.muted', null, `nonce ${grouped(at)}`), h('span.muted', null, 'an export to another chain, or set by a control')]),
  { label: 'Sent transactions', widths: '6rem 9.5rem 4rem 11rem 11rem 1fr', empty: 'It has sent nothing.', noun: 'transactions, newest first' });
}

/** Tokens that were transferred to it, with its balances now. */
async function tokens(address) {
  const topic = `0x${address.slice(2).padStart(64, '0')}`;
  const logs = await evm('evm_getLogs', { fromBlock: '0x0', toBlock: 'latest', topics: [TRANSFER, null, topic] });
  const contracts = [...new Set(logs.map((log) => log.address))].slice(0, 100);
  const read = (token, data) => evm('evm_call', { to: token, data }, 'latest').catch(() => '0x');
  const found = await Promise.all(contracts.map(async (token) => {
    const [amount, symbol, places] = await Promise.all([read(token, `0x70a08231${topic.slice(2)}`), read(token, '0x95d89b41'), read(token, '0x313ce567')]);
    return { token, amount, symbol: abiText(symbol), places: places.length === 66 ? Math.min(77, Number(places)) : 0 };
  }));
  return table([
    ['Token', ({ symbol }) => longText(symbol || 'without a symbol', 40)],
    ['Contract', ({ token }) => addressId(token)],
    ['Balance', ({ amount, places }) => (amount.length === 66 ? decimal(BigInt(amount), places) : '–'), 'num'],
  ], found, { label: 'Tokens', empty: 'No token was transferred to it.' });
}

/** A text as the ABI returns it, or as 32 bytes in old tokens. */
function abiText(hex) {
  if (hex.length === 66) return textOfBytes(fromHex(hex.replace(/(00)+$/, '')));
  if (hex.length < 130) return '';
  const length = Number(BigInt(`0x${hex.slice(66, 130)}`));
  return length > 1000 ? '' : textOfBytes(fromHex(hex.slice(130, 130 + length * 2)));
}

async function pending(address) {
  const content = await evm('txpool_contentFrom', address);
  const waiting = ['pending', 'queued'].flatMap((kind) => Object.values(content[kind]).map((tx) => ({ kind, tx })));
  return table([
    ['Nonce', ({ tx }) => grouped(Number(tx.nonce)), 'num'],
    ['Transaction', ({ tx }) => txId('c', tx.hash)],
    ['State', ({ kind }) => (kind === 'pending' ? 'can be executed' : 'waits for an earlier nonce')],
    ['To', ({ tx }) => addressId(tx.to)],
    ['Value', ({ tx }) => wei(tx.value), 'num'],
  ], waiting, { label: 'Pending', empty: 'Nothing of it waits in the pool.' });
}
