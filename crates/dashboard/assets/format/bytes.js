// Hex, SHA-256, cb58 and bech32: the forms of the chains' IDs and addresses.

export function fromHex(text) {
  const digits = text.replace(/^0x/i, '');
  const bytes = new Uint8Array(digits.length >> 1);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = parseInt(digits.substr(i * 2, 2), 16);
  return bytes;
}

/** `blockExtraData` of a C block without its control record, and whether it has one. */
export function extraData(hex = '0x') {
  if (!hex.startsWith('0xffff')) return [hex, false];
  return [`0x${hex.slice(14 + 2 * parseInt(hex.slice(6, 14), 16))}`, true];
}

export function toHex(bytes) {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

const K = primes(64).map((p) => fraction(Math.cbrt(p)));
const H = primes(8).map((p) => fraction(Math.sqrt(p)));

function primes(count) {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
}

function fraction(x) {
  return ((x - Math.floor(x)) * 2 ** 32) | 0;
}

/** SHA-256; `crypto.subtle` is absent on pages from plain HTTP. */
export function sha256(bytes) {
  const length = ((bytes.length + 8) >> 6) + 1;
  const padded = new Uint8Array(length * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const state = Int32Array.from(H);
  for (let at = 0; at < padded.length; at += 64) compress(state, view, at);
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => out.setInt32(i * 4, word));
  return new Uint8Array(out.buffer);
}

function compress(state, view, at) {
  const w = new Int32Array(64);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(at + i * 4);
  for (let i = 16; i < 64; i += 1) {
    const s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
    const s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  let [a, b, c, d, e, f, g, k] = state;
  for (let i = 0; i < 64; i += 1) {
    const t1 = (k + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
    const t2 = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [k, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, k].forEach((word, i) => { state[i] = (state[i] + word) | 0; });
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Bytes in cb58: base 58 with the last four bytes of their SHA-256. */
export function toCb58(bytes) {
  const all = new Uint8Array([...bytes, ...sha256(bytes).slice(-4)]);
  let number = BigInt(`0x${toHex(all) || '0'}`);
  let text = '';
  while (number > 0n) {
    text = BASE58[Number(number % 58n)] + text;
    number /= 58n;
  }
  for (const byte of all) {
    if (byte !== 0) break;
    text = `1${text}`;
  }
  return text;
}

/** Bytes of a cb58 text, or null if it is none. */
export function fromCb58(text) {
  let number = 0n;
  for (const c of text) {
    const digit = BASE58.indexOf(c);
    if (digit < 0) return null;
    number = number * 58n + BigInt(digit);
  }
  const zeros = text.match(/^1*/)[0].length;
  let digits = number === 0n ? '' : number.toString(16);
  if (digits.length % 2) digits = `0${digits}`;
  const all = new Uint8Array([...new Uint8Array(zeros), ...fromHex(digits)]);
  if (all.length < 4) return null;
  const bytes = all.slice(0, -4);
  return toHex(sha256(bytes).slice(-4)) === toHex(all.slice(-4)) ? bytes : null;
}

const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

function checksum(values) {
  const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    generators.forEach((g, i) => { if ((top >>> i) & 1) sum ^= g; });
  }
  return sum;
}

function expand(prefix) {
  const codes = [...prefix].map((c) => c.charCodeAt(0));
  return [...codes.map((c) => c >> 5), 0, ...codes.map((c) => c & 31)];
}

function regroup(values, from, to, pad) {
  let held = 0;
  let bits = 0;
  const out = [];
  for (const value of values) {
    held = (held << from) | value;
    bits += from;
    while (bits >= to) {
      bits -= to;
      out.push((held >> bits) & ((1 << to) - 1));
    }
    held &= (1 << bits) - 1;
  }
  if (pad && bits) out.push((held << (to - bits)) & ((1 << to) - 1));
  return out;
}

/** `{ prefix, bytes }` of a bech32 text, or null if it is none. */
export function fromBech32(text) {
  const at = text.lastIndexOf('1');
  if (at < 1 || text !== text.toLowerCase()) return null;
  const prefix = text.slice(0, at);
  const values = [...text.slice(at + 1)].map((c) => BECH32.indexOf(c));
  if (values.includes(-1) || checksum([...expand(prefix), ...values]) !== 1) return null;
  return { prefix, bytes: new Uint8Array(regroup(values.slice(0, -6), 5, 8, false)) };
}

export function toBech32(prefix, bytes) {
  const values = regroup(bytes, 8, 5, true);
  const sum = checksum([...expand(prefix), ...values, 0, 0, 0, 0, 0, 0]) ^ 1;
  const tail = [25, 20, 15, 10, 5, 0].map((shift) => (sum >>> shift) & 31);
  return `${prefix}1${[...values, ...tail].map((v) => BECH32[v]).join('')}`;
}

/** ID of a UTXO: SHA-256 of its output index (8 bytes) and its transaction's ID. */
export function utxoId(txId, index) {
  const bytes = new Uint8Array(40);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(index));
  bytes.set(fromCb58(txId), 8);
  return sha256(bytes);
}

/** `[chain, bytes]` of an address of the UTXO chains, with or without the chain's alias. */
export function bech32Address(text) {
  const [alias, rest] = text.includes('-') ? text.split(/-(.*)/s) : ['X', text];
  const parsed = fromBech32(rest);
  return parsed?.bytes.length === 20 ? [alias, parsed.bytes, parsed.prefix] : null;
}
