// Faucet, transfers on both chains, and moves between them: an export, then an import, as one form.

import { exportC, exportX, importC, importX, sendEvm, sendX } from '../../chain/evm.js';
import { evmName, node } from '../../chain/node.js';
import { asset, onChain } from '../../chain/utxo.js';
import { bech32Address } from '../../format/bytes.js';
import { toUnits } from '../../format/text.js';
import { h } from '../../parts/base.js';
import { actionForm, cast, curl, esker, field } from '../../parts/form.js';
import { txId } from '../../parts/values.js';

const isEvm = (text) => /^0x[0-9a-f]{40}$/i.test(text);

/** Units of an amount, or an error that says what is wrong. */
export function units(text, places) {
  const value = toUnits(text, places);
  if (value === null || value === 0n) throw new Error(`"${text}" is no amount: write a decimal number above 0 with at most ${places} decimal places`);
  return value;
}

function receiver(text) {
  if (isEvm(text) || (node.x && bech32Address(text))) return text;
  throw new Error(`"${text.slice(0, 60)}" is no address: 0x and 40 digits${node.x ? ', or X- and bech32' : ''}`);
}

async function pay(from, to, amount, places = 18) {
  const { hash, receipt } = await sendEvm({ from, to, value: `0x${units(amount, places).toString(16)}` });
  if (receipt && !Number(receipt.status)) return ['Failed: ', txId('c', hash)];
  return receipt ? ['Paid: ', txId('c', hash)] : ['Sent, and waits for a block: ', txId('c', hash)];
}

const payCommands = (from, to, amount) => [
  cast(`send ${to} --value ${amount || 0}ether --from ${from} --unlocked`),
  curl(node.evm.path, 'evm_sendTransaction', [{ from, to, value: `0x${(toUnits(amount, 18) ?? 0n).toString(16)}` }]),
];

export function payForms(accounts) {
  return [['Faucet', faucet(accounts)], [`Transfer on ${evmName()}`, onEvm(accounts)], node.x && accounts.keys.length ? ['Transfer on X', onX(accounts)] : null].filter(Boolean);
}

function faucet(accounts) {
  const to = field('To', { name: 'to', mono: true, list: 'accounts', hint: node.x ? 'an address of C (0x) or X' : 'an address' });
  const amount = field(`Amount, ${node.symbol}`, { name: 'amount', value: '100' });
  const source = accounts.keys.at(-1);
  const from = source?.isWellKnown && node.x ? source.address : accounts.signed[0]?.[0];
  return actionForm({
    fields: [to, amount], action: 'Pay',
    run: async () => {
      const address = receiver(to.input.value.trim());
      if (isEvm(address)) return pay(from, address, amount.input.value);
      return ['Paid: ', txId('x', await sendX(source, { assetID: node.assetID, amount: units(amount.input.value, 9), to: address }))];
    },
    commands: () => {
      const address = to.input.value.trim() || 'ADDRESS';
      return [esker(`faucet ${address} ${amount.input.value}`), ...(isEvm(address) || !node.x ? payCommands(from, address, amount.input.value) : [xCurl(address, toUnits(amount.input.value, 9), node.assetID)])];
    },
  });
}

const xCurl = (to, amount, assetID) => curl(node.x.path, 'xvm.send', { username: 'USER', password: 'PASSWORD', assetID, amount: String(amount ?? 0), to });

function onEvm(accounts) {
  const from = field('From', { name: 'from', options: accounts.signed });
  const to = field('To', { name: 'to', mono: true, list: 'accounts' });
  const amount = field(`Amount, ${node.symbol}`, { name: 'amount', value: '1' });
  return actionForm({
    fields: [from, to, amount], action: 'Transfer',
    run: () => {
      if (!isEvm(to.input.value.trim())) throw new Error('the receiver is no address of the EVM: 0x and 40 digits');
      return pay(from.input.value, to.input.value.trim(), amount.input.value);
    },
    commands: () => {
      const number = accounts.signed.findIndex(([address]) => address === from.input.value);
      return [esker(`transfer ${amount.input.value} ${to.input.value || 'ADDRESS'} --from ${number}`), ...payCommands(from.input.value, to.input.value || 'ADDRESS', amount.input.value)];
    },
  });
}

function onX(accounts) {
  const from = field('From', { name: 'from', options: accounts.keyChoices });
  const to = field('To', { name: 'to', mono: true, list: 'accounts' });
  const amount = field('Amount', { name: 'amount', value: '1' });
  const assetID = field('Asset', { name: 'asset', value: 'NAT', mono: true, hint: 'its ID or alias' });
  const memo = field('Memo', { name: 'memo', maxlength: '256' });
  return actionForm({
    fields: [from, to, amount, assetID, memo], action: 'Transfer',
    run: async () => {
      const address = to.input.value.trim();
      if (!bech32Address(address)) throw new Error('the receiver is no address of X: X- and bech32');
      const name = assetID.input.value.trim();
      const known = await asset(name === 'NAT' ? node.assetID : name);
      const sent = await sendX(accounts.byAddress(from.input.value), {
        assetID: known.assetID, amount: units(amount.input.value, Number(known.denomination)), to: address, memo: memo.input.value,
      });
      return ['Accepted: ', txId('x', sent)];
    },
    commands: () => {
      const number = accounts.keys.findIndex(({ address }) => address === from.input.value);
      const name = assetID.input.value.trim();
      return [
        number < accounts.keys.length - 1 ? esker(`transfer ${amount.input.value} ${to.input.value || 'ADDRESS'} --from ${number}${name === 'NAT' ? '' : ` --asset ${name}`}`) : null,
        xCurl(to.input.value || 'ADDRESS', toUnits(amount.input.value, 9), name),
      ];
    },
  });
}

export function moveForm(accounts) {
  const chain = node.evm.alias;
  const way = field('Direction', { name: 'way', options: [['xc', `from X to ${chain}`], ['cx', `from ${chain} to X`]] });
  const who = field('Account', { name: 'account', options: accounts.keys.map(({ address, name }) => [address, name]), hint: 'the same key on both chains' });
  const amount = field(`Amount, ${node.symbol}`, { name: 'amount', value: '5' });
  return actionForm({
    fields: [way, who, amount], action: 'Move',
    run: (progress) => {
      const account = accounts.byAddress(who.input.value);
      return move(account, way.input.value === 'xc', units(amount.input.value, 9), progress);
    },
    commands: () => commands(accounts.byAddress(who.input.value), way.input.value === 'xc', toUnits(amount.input.value, 9) ?? 0n),
  });
}

/** Does both steps; what is done is shown while the second one runs, and stays if that one fails. */
async function move(account, fromX, amount, progress) {
  const [from, to] = fromX ? ['X', node.evm.alias] : [node.evm.alias, 'X'];
  progress(steps([`1. Export from ${from}…`, null], [`2. Import on ${to}`, null]));
  const exported = fromX ? await exportX(account, { amount, to: onChain(account.x, 'C') }) : await exportC(account, { amount, to: account.x });
  const first = [`1. Exported from ${from}: `, txId(fromX ? 'x' : 'atomic', exported)];
  progress(steps(first, [`2. Import on ${to}…`, null]));
  try {
    const imported = fromX ? await importC(account, account.address) : await importX(account, account.x);
    return steps(first, [`2. Imported on ${to}: `, txId(fromX ? 'atomic' : 'x', imported)]);
  } catch (error) {
    throw Object.assign(error, { message: `step 1 is done (${exported}), step 2 failed: ${error.message}`, next: `The amount waits for ${to}: import it later. ${error.next ?? ''}` });
  }
}

const steps = (...lines) => h('ol', null, lines.map((line) => h('li', null, line)));

function commands({ x, address }, fromX, amount) {
  const user = { username: 'USER', password: 'PASSWORD' };
  const chain = node.evm.alias;
  const natPath = `/ext/bc/${chain}/nat`;
  const first = fromX ? [node.x.path, 'xvm.export', { ...user, assetID: 'NAT', amount: String(amount), to: onChain(x, 'C') }] : [natPath, 'nat.export', { ...user, assetID: 'NAT', amount: String(amount), to: x }];
  const second = fromX ? [natPath, 'nat.import', { ...user, sourceChain: 'X', to: address }] : [node.x.path, 'xvm.import', { ...user, sourceChain: chain, to: x }];
  const words = ([, method, params]) => esker(`call ${method} ${Object.entries(params).map(([name, value]) => `${name}=${value}`).join(' ')}`);
  return [words(first), words(second), curl(...first), curl(...second)];
}
