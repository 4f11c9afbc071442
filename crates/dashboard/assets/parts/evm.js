// What traces show (calls, state, instructions), and a contract: its functions by an ABI, its storage.

import { abiOf, callName, decode, encode, eventName, keepAbi, parseArtifact, partsOf, reasonOf, selector, sendEvm, signature, steps } from '../chain/evm.js';
import { evm, node, urlOf } from '../chain/node.js';
import { decimal, grouped, oneLine, toUnits, visible } from '../format/text.js';
import { append, awaited, errorNotice, facts, h, hexView, longText, moreButton, replace, table, virtualList } from './base.js';
import { actionForm, field } from './form.js';
import { addressId, cut, gas, id, txId, wei } from './values.js';

const AT_ONCE = 200;
const OPEN_DEPTH = 3;
/** Most calls and events of a tree that are shown without a click. */
const OPEN = 300;

export function callTreeView(top) {
  const budget = { left: OPEN };
  return h('div.calls', null, callView(top, 0, budget));
}

/** What opens on click; its content is made then. */
function fold(line, isOpen, isFailed, content) {
  const body = h('div');
  const fill = () => { if (details.open && !body.childNodes.length) append(body, [content()]); };
  const details = h('details', { class: isFailed ? 'failed' : '', open: isOpen, ontoggle: fill }, h('summary', null, line), body);
  fill();
  return details;
}

/** Calls that failed open with those that they made, so that the reason is seen. */
function callView(frame, depth, budget) {
  const parts = partsOf(frame);
  budget.left -= 1;
  const isOpen = parts.length > 0 && budget.left > 0 && (depth < OPEN_DEPTH || Boolean(frame.error));
  return fold([
    h('span.badge', null, frame.type), h('span.call-name.mono', null, oneLine(callName(frame), 160)), frame.to ? h('span.muted.mono', null, cut(frame.to)) : null,
    frame.value && BigInt(frame.value) ? wei(frame.value) : null, h('span.muted', null, gas(frame.gasUsed)),
    frame.error ? h('span.mark.bad', null, oneLine(reasonOf(frame), 200)) : null,
  ], isOpen, frame.error, () => [data(frame, parts.length > 0), more(parts, 0, depth, budget)]);
}

/** The calls and events from an index on, with a button where there are very many. */
function more(parts, from, depth, budget) {
  const shown = parts.slice(from, from + AT_ONCE).map((part) => (part.topics ? logView(part, budget) : callView(part, depth + 1, budget)));
  const rest = parts.length - from - AT_ONCE;
  if (rest <= 0) return shown;
  const button = moreButton(grouped(rest), () => button.replaceWith(...more(parts, from + AT_ONCE, depth, { left: 0 })));
  return [...shown, button];
}

function logView(log, budget) {
  budget.left -= 1;
  return fold([h('span.badge', null, 'EVENT'), h('span.mono', null, oneLine(eventName(log.names) ?? log.topics[0] ?? 'without topics', 160))],
    false, false, () => h('div.inside', null, logFacts(log)));
}

/** Topics and data of an event, and its arguments where the node knows them. */
export const logFacts = ({ address, topics, data: bytes, names }) => facts([
  ['Contract', addressId(address)],
  ...argumentFacts(names),
  ...topics.map((topic, i) => [`Topic ${i}`, id(topic, { whole: true })]),
  ['Data', bytes !== '0x' && hexView(bytes)],
]);

const argumentFacts = (names) => (names?.arguments ?? []).map(({ name, value }, i) => [oneLine(name || `argument ${i}`, 60), longText(value)]);

function data(frame, isParent) {
  const content = h('div.inside');
  const show = () => replace(content, facts([
    ['From', addressId(frame.from)],
    ['To', frame.to && addressId(frame.to)],
    ['Gas', [gas(frame.gasUsed), h('span.muted', null, ` of ${grouped(BigInt(frame.gas))}`)]],
    ['Reason', frame.error && longText(reasonOf(frame))],
    ...argumentFacts(frame.names),
    ...argumentFacts(frame.names?.error).map(([name, value]) => [`Error: ${name}`, value]),
    ['Input', frame.input && frame.input !== '0x' && hexView(frame.input)],
    ['Output', frame.output && frame.output !== '0x' && hexView(frame.output)],
  ]));
  if (isParent) content.append(h('button.btn.plain.small', { type: 'button', onclick: show }, 'Show data of this call'));
  else show();
  return content;
}

export function stateView({ pre, post }) {
  const changes = [...new Set([...Object.keys(pre), ...Object.keys(post)])].flatMap((address) => of(address, pre[address] ?? {}, post[address]));
  return table([
    ['Account', (change) => addressId(change.address)],
    ['What', (change) => change.what],
    ['Before', (change) => change.before],
    ['After', (change) => change.after],
  ], changes, { label: 'State changes', empty: 'Nothing changed.' });
}

function of(address, before, after) {
  const changes = [];
  const add = (what, a, b) => changes.push({ address, what, before: a, after: b });
  const dash = h.bind(null, 'span.muted', null, '–');
  if (!after) add('Account', 'existed', 'gone');
  if (after?.balance !== undefined) {
    const change = BigInt(after.balance) - BigInt(before.balance ?? 0);
    add('Balance', coins(before.balance ?? 0), h('span', null, coins(after.balance), h('span.muted', null, ` (${change > 0n ? '+' : ''}${decimal(change, 18)})`)));
  }
  if (after?.nonce !== undefined) add('Nonce', grouped(before.nonce ?? 0), grouped(after.nonce));
  if (after?.code !== undefined) add('Code', before.code ? size(before.code) : dash(), size(after.code));
  const slots = new Set([...Object.keys(before.storage ?? {}), ...Object.keys(after?.storage ?? {})]);
  for (const slot of slots) add(h('span.nowrap', null, 'Slot ', id(short(slot))), word(before.storage?.[slot]), word(after?.storage?.[slot]));
  return changes;
}

const coins = (value) => h('span.nowrap', null, decimal(value, 18), h('span.unit', null, ` ${node.symbol}`));
const size = (code) => `${grouped((code.length - 2) / 2)} bytes`;
const short = (hex) => `0x${hex.replace(/^(0x)?0*/, '') || '0'}`;
const word = (value) => id(short(value ?? '0x0'));

const FIRST = 500;
const MOST = 20_000;

/** The view; it asks for more instructions as its reader goes on. */
export function stepsView(hash) {
  const place = h('div');
  const load = async (limit) => {
    replace(place, h('p.loading', null, `Executing the first ${grouped(limit)} instructions again…`));
    try {
      replace(place, content(await steps(hash, limit), limit, load));
    } catch (error) {
      replace(place, errorNotice(error, () => load(limit)));
    }
  };
  load(FIRST);
  return place;
}

function content({ structLogs }, limit, load) {
  if (!structLogs.length) return h('p.muted', null, 'No instructions were executed: the receiver has no code.');
  const detail = h('div');
  let at = 0;
  const list = virtualList(structLogs, (step, i) => [
    h('span.muted', null, grouped(i)), h('span.op', null, `${'  '.repeat(step.depth - 1)}${step.op}`), h('span', null, grouped(step.gasCost)), h('span.muted', null, grouped(step.gas)),
  ], { label: 'Instructions; arrow keys move', rowHeight: 22 });
  const select = (index) => {
    at = Math.max(0, Math.min(structLogs.length - 1, index));
    if (at * 22 < list.scrollTop) list.scrollTop = at * 22;
    if ((at + 1) * 22 > list.scrollTop + list.clientHeight) list.scrollTop = (at + 1) * 22 - list.clientHeight;
    list.redraw();
    mark();
    replace(detail, stepDetail(structLogs[at], at));
  };
  const mark = () => { for (const row of list.querySelectorAll('.list-row')) row.classList.toggle('selected', row.style.top === `${at * 22}px`); };
  list.addEventListener('scroll', mark, { passive: true });
  list.addEventListener('click', (event) => {
    const row = event.target.closest('.list-row');
    if (row) select(Math.round(parseFloat(row.style.top) / 22));
  });
  list.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (!step) return;
    event.preventDefault();
    select(at + step);
  });
  setTimeout(() => select(0));
  const more = structLogs.length >= limit && limit < MOST
    ? h('button.btn', { type: 'button', onclick: () => load(Math.min(limit * 4, MOST)) }, `Show more than ${grouped(limit)} instructions`) : null;
  return [h('p.muted.small', null, 'Number, instruction, its gas, gas left before it'), h('div.steps', null, list, detail), more];
}

function stepDetail(step, index) {
  const memory = (step.memory ?? []).map((word) => word.replace(/^0x/, '')).join('');
  const slots = Object.entries(step.storage ?? {});
  return h('div', null,
    h('h3', null, `${grouped(index)}: ${step.op} at ${step.pc}, depth ${step.depth}`),
    facts([
      ['Cost', `${grouped(step.gasCost)} gas`],
      ['Error', step.error && h('span.bad', null, String(step.error))],
      ['Stack', step.stack?.length ? h('pre.bytes', { tabindex: '0', 'aria-label': 'Stack, top first' }, [...step.stack].reverse().map((word, i) => `${String(i).padStart(3)}  ${word}`).join('\n')) : 'empty'],
      ['Memory', memory ? hexView(memory) : 'empty'],
      ['Storage', slots.length > 0 && h('pre.bytes', null, slots.map(([slot, value]) => `${short(slot)} = ${short(value)}`).join('\n'))],
    ]));
}

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

/** The storage of a contract after the last block. */
export function storageView(address, signal) {
  return awaited(async () => {
    const key = await evm('web3_sha3', address);
    const { accounts } = await evm('debug_accountRange', 'latest', key, 1, true, false, true);
    const found = Object.values(accounts).find((account) => account.key === key);
    const slots = Object.entries(found?.storage ?? {});
    return table([
      ['Slot', ([slot]) => id(short(slot))],
      ['Value', ([, value]) => id(short(value), { whole: true })],
    ], slots, { label: 'Storage', empty: 'It has no storage.' });
  }, { signal, label: 'Reading the state' });
}
