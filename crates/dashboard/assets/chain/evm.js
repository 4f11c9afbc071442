// Traces, sending on development networks, and the contract ABI, whose selectors are the hashes of the node.

import { evm, ext, hasModule, nat, node, urlOf, xvm } from './node.js';
import { fromHex, toHex } from '../format/bytes.js';
import { textOfBytes } from '../format/text.js';

export const canTrace = () => hasModule('debug');

/** The tree of calls, with the names that the node knows. */
export const callTree = (hash) => evm('debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true, names: true } })
  .catch((error) => {
    if (/names/.test(error.message)) return evm('debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true } });
    throw error;
  });

/** What the transaction changed: `{ pre, post }`. */
export const stateChanges = (hash) => evm('debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } });
export const consoleLines = (hash) => evm('debug_traceTransaction', hash, { tracer: 'consoleTracer' });
export const steps = (hash, limit) => evm('debug_traceTransaction', hash, { limit, enableMemory: true, enableReturnData: false });

/** An item with its arguments, as the node writes it elsewhere: `Store.store(v: 42)`. */
const called = (item, { contract, arguments: list }) => `${contract ? `${contract}.` : ''}${item}${list ? `(${list.map(({ name, value }) => (name ? `${name}: ${value}` : value)).join(', ')})` : ''}`;

/** An event, if the node knows it. */
export const eventName = (names) => (names?.event ? called(names.event, names) : null);

/** Why a call failed, in the words of the node's errors; null if it did not. */
export function reasonOf({ error, revertReason, names }) {
  const reason = revertReason ?? (names?.error && called(names.error.name, names.error));
  return error && reason ? `${error}: ${reason}` : error ?? null;
}

/** The calls and events of a call, in the order in which they happened. */
export function partsOf({ calls = [], logs = [] }) {
  const parts = [];
  let next = 0;
  for (let i = 0; i <= calls.length; i += 1) {
    while (next < logs.length && Number(logs[next].position ?? 0) <= i) parts.push(logs[next++]);
    if (i < calls.length) parts.push(calls[i]);
  }
  return [...parts, ...logs.slice(next)];
}

/** A call as a text: `Store.store(v: 42)`, or its selector. */
export function callName({ type, to, value, input = '0x', names = {} }) {
  const { contract } = names;
  if (names.function) return called(names.function, names);
  if (input === '0x') return contract ? `${contract} receives` : !to ? 'new contract' : Number(value) ? 'transfer' : 'call without data';
  if (contract) return `${contract}.${input.slice(0, 10)}`;
  return type?.startsWith('CREATE') ? 'new contract' : `${input.slice(0, 10)}(…)`;
}

const WAIT_MS = 15_000;
const EVERY_MS = 100;

/** Polls until `ask()` returns something; null after the wait. */
export async function waitFor(ask, waitMs = WAIT_MS) {
  const end = performance.now() + waitMs;
  for (;;) {
    const found = await ask();
    if (found || performance.now() > end) return found ?? null;
    await new Promise((resolve) => { setTimeout(resolve, EVERY_MS); });
  }
}

/** Sends a transaction from an account of the node: `{ hash, receipt }`, without a receipt if no block comes. */
export async function sendEvm(transaction) {
  const hash = await evm('evm_sendTransaction', transaction);
  const isAuto = await evm('anvil_getAutomine').catch(() => true);
  const receipt = await waitFor(() => evm('evm_getTransactionReceipt', hash), isAuto ? WAIT_MS : 500);
  return { hash, receipt };
}

/**
 * Issues a transaction with the key of a known account and waits until it is accepted; resolves to its ID. The user of the
 * keystore that has the key is deleted before, or when the page is left (but in the tenth of a second in which it is made).
 */
async function issue(call, accepted, method, { key }, params) {
  const random = toHex(crypto.getRandomValues(new Uint8Array(12)));
  const user = { username: `page-${random}`, password: `Dash-${random}-9!` };
  // Browsers end other requests of a page that is left.
  const remove = () => fetch(urlOf('/ext/keystore'), {
    method: 'POST', keepalive: true, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'keystore.deleteUser', params: user }),
  }).catch(() => {});
  addEventListener('pagehide', remove);
  let sent;
  try {
    await ext('keystore', 'createUser', user);
    await call(`${method.split('.')[0]}.importKey`, { ...user, privateKey: `0x${key}` });
    sent = await call(method, { ...user, ...params });
  } finally {
    removeEventListener('pagehide', remove);
    await remove();
  }
  await accepted(sent.txID);
  return sent.txID;
}

export const sendX = (account, { assetID, amount, to, memo }) => issue(xvm, acceptedX, 'xvm.send', account, { assetID, amount: String(amount), to, memo });
export const exportX = (account, { amount, to }) => issue(xvm, acceptedX, 'xvm.export', account, { assetID: node.assetID, amount: String(amount), to });
export const importX = (account, to) => issue(xvm, acceptedX, 'xvm.import', account, { sourceChain: node.evm.alias, to });
export const exportC = (account, { amount, to }) => issue(nat, acceptedC, 'nat.export', account, { assetID: node.assetID, amount: String(amount), to });
export const importC = (account, to) => issue(nat, acceptedC, 'nat.import', account, { sourceChain: 'X', to });

async function acceptedX(txID) {
  await waitFor(async () => ended(await xvm('xvm.getTxStatus', { txID, includeReason: true })), 30_000)
    ?? late(txID);
}

async function acceptedC(txID) {
  await waitFor(async () => ended(await nat('nat.getAtomicTxStatus', { txID, includeReason: true })), 30_000)
    ?? late(txID);
}

function ended({ status, reason }) {
  if (status === 'Rejected' || status === 'Dropped') throw new Error(`the transaction was ${status.toLowerCase()}${reason ? `: ${reason}` : ''}`);
  return status === 'Accepted';
}

function late(txID) {
  throw new Error(`transaction ${txID} waits for a block. If blocks are made on request only, mine one`);
}

/** `store(uint256,string)` of a function of an ABI. */
export const signature = (item) => `${item.name}(${(item.inputs ?? []).map(typeName).join(',')})`;

function typeName(input) {
  return input.type.startsWith('tuple') ? `(${input.components.map(typeName).join(',')})${input.type.slice(5)}` : input.type;
}

/** The first four bytes of the hash of a signature. */
export async function selector(item) {
  const hash = await evm('web3_sha3', `0x${toHex(new TextEncoder().encode(signature(item)))}`);
  return hash.slice(0, 10);
}

const word = (value) => (BigInt.asUintN(256, BigInt(value))).toString(16).padStart(64, '0');
const array = (type) => /^(.*)\[(\d*)\]$/.exec(type);

function isDynamic(input) {
  const list = array(input.type);
  if (list) return list[2] === '' || isDynamic({ ...input, type: list[1] });
  if (input.type === 'tuple') return input.components.some(isDynamic);
  return input.type === 'string' || input.type === 'bytes';
}

export function encode(inputs, values) {
  const parts = inputs.map((input, i) => ({ dynamic: isDynamic(input), hex: encodeOne(input, values[i]) }));
  let offset = parts.reduce((size, part) => size + (part.dynamic ? 32 : part.hex.length / 2), 0);
  const heads = parts.map((part) => {
    if (!part.dynamic) return part.hex;
    offset += part.hex.length / 2;
    return word(offset - part.hex.length / 2);
  });
  return heads.join('') + parts.filter((part) => part.dynamic).map((part) => part.hex).join('');
}

function encodeOne(input, value) {
  const { type } = input;
  const list = array(type);
  if (list) {
    if (!Array.isArray(value)) throw new Error(`${input.name || type}: expected a JSON list`);
    if (list[2] && value.length !== Number(list[2])) throw new Error(`${input.name || type}: expected ${list[2]} values`);
    const items = encode(value.map(() => ({ ...input, type: list[1] })), value);
    return list[2] ? items : word(value.length) + items;
  }
  if (type === 'tuple') return encode(input.components, input.components.map((part, i) => (Array.isArray(value) ? value[i] : value[part.name])));
  if (type === 'string') return bytesOf(new TextEncoder().encode(value));
  if (type === 'bytes') return bytesOf(hexBytes(input, value));
  if (type.startsWith('bytes')) return fixed(input, hexBytes(input, value));
  if (type === 'bool') return word(value === true || value === 'true' || value === '1' ? 1 : 0);
  if (type === 'address') {
    if (!/^0x[0-9a-f]{40}$/i.test(value)) throw new Error(`${input.name || 'address'}: expected 0x and 40 hex digits`);
    return word(value);
  }
  return integer(input, value);
}

function integer(input, value) {
  const match = /^(u?)int(\d*)$/.exec(input.type);
  if (!match) throw new Error(`the page can't encode the type ${input.type}`);
  const bits = Number(match[2] || 256);
  let number;
  try {
    number = BigInt(String(value).trim());
  } catch {
    throw new Error(`${input.name || input.type}: expected an integer`);
  }
  const [low, high] = match[1] ? [0n, (1n << BigInt(bits)) - 1n] : [-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n];
  if (number < low || number > high) throw new Error(`${input.name || input.type}: out of range of ${input.type}`);
  return word(number);
}

function hexBytes(input, value) {
  if (!/^0x([0-9a-f]{2})*$/i.test(value)) throw new Error(`${input.name || input.type}: expected 0x and pairs of hex digits`);
  return fromHex(value);
}

function fixed(input, bytes) {
  if (bytes.length !== Number(input.type.slice(5))) throw new Error(`${input.name || input.type}: expected ${input.type.slice(5)} bytes`);
  return toHex(bytes).padEnd(64, '0');
}

function bytesOf(bytes) {
  return word(bytes.length) + toHex(bytes).padEnd(Math.ceil(bytes.length / 32) * 64, '0');
}

const MOST_ITEMS = 10_000;

export function decode(outputs, hex) {
  const data = hex.replace(/^0x/, '');
  return tuple(outputs, data, 0);
}

function tuple(outputs, data, base) {
  let at = base;
  return outputs.map((output) => {
    const size = staticSize(output);
    const place = isDynamic(output) ? base + number(data, at) : at;
    at += size;
    return decodeOne(output, data, place);
  });
}

function staticSize(output) {
  if (isDynamic(output)) return 32;
  const list = array(output.type);
  if (list) return Number(list[2]) * staticSize({ ...output, type: list[1] });
  return output.type === 'tuple' ? output.components.reduce((sum, part) => sum + staticSize(part), 0) : 32;
}

function wordAt(data, at) {
  const text = data.slice(at * 2, at * 2 + 64);
  if (text.length < 64) throw new Error('the answer is shorter than its type');
  return text;
}

function number(data, at) {
  const value = BigInt(`0x${wordAt(data, at)}`);
  if (value > 0xffffffn) throw new Error('the answer has an impossible length');
  return Number(value);
}

function decodeOne(output, data, at) {
  const { type } = output;
  const list = array(type);
  if (list) {
    const count = list[2] === '' ? number(data, at) : Number(list[2]);
    if (count > MOST_ITEMS) throw new Error('the answer has too many items');
    return tuple(Array.from({ length: count }, () => ({ ...output, type: list[1] })), data, list[2] === '' ? at + 32 : at);
  }
  if (type === 'tuple') return tuple(output.components, data, at);
  if (type === 'string' || type === 'bytes') {
    const bytes = data.slice((at + 32) * 2, (at + 32 + number(data, at)) * 2);
    return type === 'bytes' ? `0x${bytes}` : textOfBytes(fromHex(bytes));
  }
  const text = wordAt(data, at);
  if (type === 'bool') return BigInt(`0x${text}`) === 1n;
  if (type === 'address') return `0x${text.slice(24)}`;
  if (type.startsWith('bytes')) return `0x${text.slice(0, Number(type.slice(5)) * 2)}`;
  const value = BigInt(`0x${text}`);
  return (type.startsWith('int') ? BigInt.asIntN(256, value) : value).toString();
}

const KEY = 'esker.artifacts';
const MOST = 2_000_000;

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  } catch {
    return {};
  }
}

export function keepAbi(address, name, abi) {
  const all = { ...read(), [address.toLowerCase()]: { name, abi } };
  const text = JSON.stringify(all);
  try {
    if (text.length < MOST) sessionStorage.setItem(KEY, text);
  } catch { /* without a store the ABI is asked for again */ }
}

/** `{ name, abi }` of a contract, or null. */
export const abiOf = (address) => read()[address.toLowerCase()] ?? null;

/** `{ name, abi, bytecode }` of an artifact of Hardhat, Foundry or solc, or of a bare ABI. */
export function parseArtifact(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON: ${error.message}`);
  }
  const abi = Array.isArray(value) ? value : value.abi;
  if (!Array.isArray(abi)) throw new Error('it has no "abi": choose the artifact of a contract (Hardhat, Foundry) or an ABI');
  const code = value.bytecode?.object ?? value.bytecode ?? value.evm?.bytecode?.object ?? null;
  const bytecode = typeof code === 'string' && code ? `0x${code.replace(/^0x/, '')}` : null;
  if (bytecode && /[^0-9a-fx]/i.test(bytecode)) throw new Error('its bytecode needs libraries to be linked first');
  return { name: value.contractName ?? 'Contract', abi, bytecode };
}
