// The contract ABI (selectors are the node's hashes), and the artifacts that the user gave to this tab.

import { evm } from './node.js';
import { fromHex, toHex } from '../format/bytes.js';
import { textOfBytes } from '../format/text.js';

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

/** Hex digits of values of these inputs. */
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

/** Values of these outputs in hex digits. */
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

/** Keeps the ABI of a contract. */
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
