// A contract: its functions by an ABI (reads call, writes send from an account of the node), and its storage.

import { abiOf, decode, encode, keepAbi, parseArtifact, selector, signature } from '../chain/abi.js';
import { evm, node, urlOf } from '../chain/node.js';
import { sendEvm } from '../chain/send.js';
import { toUnits, visible } from '../format/text.js';
import { h, replace } from './dom.js';
import { actionForm, field } from './form.js';
import { awaited, errorNotice } from './layout.js';
import { longText } from './long.js';
import { table } from './table.js';
import { id, txId } from './values.js';

/** The tab: asks for an ABI until one is known. */
export function contractTab(address) {
  const place = h('div');
  const show = () => {
    const known = abiOf(address);
    replace(place, known?.abi ? functions(address, known, show) : ask(address, show));
  };
  show();
  return place;
}

function ask(address, done) {
  const file = field('Artifact or ABI (JSON)', { name: 'abi', type: 'file', accept: '.json,application/json' });
  const text = field('or paste it', { name: 'abi-text', rows: 3, wide: true });
  const result = h('div');
  const take = async () => {
    try {
      const chosen = file.input.files[0] ? await file.input.files[0].text() : text.input.value;
      const { name, abi } = parseArtifact(chosen);
      keepAbi(address, name, abi);
      done();
    } catch (error) {
      replace(result, errorNotice(error));
    }
  };
  return h('form.form', { onsubmit: (event) => { event.preventDefault(); take(); } },
    h('p.muted', null, 'The page needs the ABI of this contract. It stays in this browser tab.'),
    h('div.fields', null, file, text), h('div.actions', null, h('button.btn', null, 'Use this ABI')), result);
}

function functions(address, { name, abi }, again) {
  const all = abi.filter((item) => item.type === 'function');
  const reads = all.filter(isRead);
  const writes = all.filter((item) => !isRead(item));
  return h('div.form', null,
    h('div.title', null, h('strong', null, visible(name)), h('button.btn', { type: 'button', onclick: () => { keepAbi(address, '', null); again(); } }, 'Use another ABI')),
    h('div.columns', null,
      h('div.form', null, h('h3', null, `Read (${reads.length})`), reads.map((item) => functionView(address, item))),
      node.isDev ? h('div.form', null, h('h3', null, `Write (${writes.length})`), writes.map((item) => functionView(address, item))) : null));
}

const isRead = (item) => item.stateMutability === 'view' || item.stateMutability === 'pure';

function functionView(address, item) {
  const details = h('details.calls', { ontoggle: () => { if (details.open && details.childNodes.length === 1) details.append(functionForm(address, item)); } },
    h('summary', null, h('span.mono', null, visible(signature(item)))));
  return details;
}

function functionForm(address, item) {
  const inputs = item.inputs ?? [];
  const fields = inputs.map((input, i) => field(`${visible(input.name || `argument ${i}`)}, ${input.type}`, { name: `arg${i}`, mono: true, hint: /[[(]|tuple/.test(input.type) ? 'as JSON' : undefined }));
  const value = item.stateMutability === 'payable' ? field(`Value, ${node.symbol}`, { name: 'value', value: '0' }) : null;
  const data = async () => (await selector(item)) + encode(inputs, fields.map((one, i) => argument(inputs[i], one.input.value)));
  const from = isRead(item) ? null : field('From', { name: 'from', mono: true, value: '', list: 'accounts', hint: 'an account of the node' });
  if (from) evm('evm_accounts').then(([first]) => { from.input.value ||= first ?? ''; }, () => {});
  return actionForm({
    fields: [...fields, value, from].filter(Boolean), action: isRead(item) ? 'Read' : 'Send',
    run: () => (isRead(item) ? read(address, item, data) : write(address, data, from, value)),
    commands: () => [['cast', castCommand(address, item, fields, from)]],
  });
}

function argument(input, text) {
  return /\]$|^tuple/.test(input.type) ? JSON.parse(text || '[]') : text;
}

async function read(address, item, data) {
  const answer = await evm('evm_call', { to: address, data: await data() }, 'latest');
  const outputs = item.outputs ?? [];
  const values = decode(outputs, answer);
  return outputs.length ? values.map((value, i) => h('div.mono', null, outputs[i].name ? `${visible(outputs[i].name)}: ` : '', longText(typeof value === 'string' ? value : JSON.stringify(value)))) : 'It returned nothing.';
}

async function write(address, data, from, value) {
  const units = toUnits(value?.input.value || '0', 18);
  if (units === null) throw new Error('the value is no amount');
  const { hash, receipt } = await sendEvm({ from: from.input.value.trim(), to: address, data: await data(), value: `0x${units.toString(16)}` });
  return ['Sent ', txId('c', hash), receipt ? `, ${Number(receipt.status) ? 'succeeded' : 'failed'}` : ', waits for a block'];
}

function castCommand(address, item, fields, from) {
  const args = fields.map((one) => `'${one.input.value}'`).join(' ');
  const url = urlOf(node.evm.path);
  const outputs = (item.outputs ?? []).map(({ type }) => type).join(',');
  return from ? `cast send --rpc-url ${url} --from ${from.input.value} --unlocked ${address} '${signature(item)}' ${args}`.trim()
    : `cast call --rpc-url ${url} ${address} '${signature(item)}(${outputs})' ${args}`.trim();
}

const PAGE = 100;

/** The view. */
export function storageView(address, signal) {
  const slots = [];
  let next = '0x';
  const place = h('div');
  const load = async () => {
    const last = await evm('evm_getBlockByNumber', 'latest', false);
    const page = await evm('debug_storageRangeAt', last.hash, last.transactions.length, address, next, PAGE);
    slots.push(...Object.entries(page.storage ?? {}).map(([hash, { key, value }]) => ({ hash, key, value })));
    next = page.nextKey;
    return [table(COLUMNS, slots, { label: 'Storage', empty: 'It has no storage.' }),
      next ? h('p', null, h('button.btn', { type: 'button', onclick: () => replace(place, awaited(load, { signal })) }, 'Show more slots')) : null];
  };
  place.append(awaited(load, { signal }));
  return [slotForm(address), place];
}

const COLUMNS = [
  { title: 'Slot', render: ({ key, hash }) => (key ? id(short(key)) : h('span.muted.nowrap', null, 'hash ', id(hash))) },
  { title: 'Value', render: ({ value }) => id(value, { whole: true }) },
];

const short = (hex) => `0x${hex.replace(/^0x0*/, '') || '0'}`;

function slotForm(address) {
  const answer = h('output.mono');
  const slot = field('Slot', { name: 'slot', value: '0x0', mono: true });
  return h('form.form', { onsubmit: async (event) => {
    event.preventDefault();
    try {
      replace(answer, id(await evm('evm_getStorageAt', address, `0x${BigInt(slot.input.value.trim()).toString(16)}`, 'latest'), { whole: true }));
    } catch (error) {
      replace(answer, h('span.bad', null, error.message));
    }
  } }, h('div.fields', null, slot, h('div.actions', null, h('button.btn', null, 'Read'), answer)));
}
