// Texts for people: escaped texts of others, amounts, sizes and times with their units.

// C0 and C1 controls but tab and newline, soft hyphen, marks of direction, zero widths, lone surrogates.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with everything that is invisible, or that changes its order, as `\u{..}`. */
export function visible(text) {
  return String(text).replace(HIDDEN, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

/** The text on one line, cut to `limit` characters. */
export function oneLine(text, limit = 200) {
  const line = visible(String(text).slice(0, limit + 1)).replace(/[\n\t]+/g, ' ');
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}

/** Bytes as text if they are UTF-8, else as ASCII with `\xff` for the rest. */
export function textOfBytes(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    let text = '';
    for (const byte of bytes) {
      text += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
    }
    return text;
  }
}

/** Digits in groups of three: `12,345`. */
export function grouped(value) {
  const text = String(value);
  return text.replace(/^(-?)(\d+)/, (_, sign, digits) => sign + digits.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** An amount of the smallest unit with this many decimal places, exact. */
export function decimal(units, places) {
  const value = BigInt(units);
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const rest = places ? digits.slice(-places).replace(/0+$/, '') : '';
  return sign + grouped(whole) + (rest ? `.${rest}` : '');
}

/** Smallest units of a decimal text, or null if it is no amount with so many places. */
export function toUnits(text, places) {
  const match = /^(\d+)(?:\.(\d*))?$/.exec(text.trim().replace(/,/g, ''));
  if (!match || (match[2] ?? '').length > places) return null;
  return BigInt(match[1] + (match[2] ?? '').padEnd(places, '0'));
}

/** A price in wei per gas, in gwei from a thousandth on. */
export function gasPrice(wei) {
  const value = BigInt(wei);
  return value >= 1_000_000n ? [decimal(value, 9), 'gwei'] : [grouped(value), 'wei'];
}

/** Bytes with a unit: `12.4 KiB`. */
export function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = Number(count);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return [unit === 0 ? grouped(value) : value.toFixed(value < 10 ? 2 : 1), units[unit]];
}

/** A number for people: three significant digits, thousands as such. */
export function compact(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
  if (size >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (size >= 1000) return grouped(Math.round(value));
  if (Number.isInteger(value)) return String(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** A length of time: `4 s`, `3 min`, `2 h`, `5 d`. */
export function duration(seconds) {
  const s = Math.abs(seconds);
  if (s < 60) return `${s < 10 && s % 1 ? s.toFixed(1) : Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${grouped(Math.floor(s / 86400))} d ${Math.floor((s % 86400) / 3600)} h`;
}

/** Unix seconds as UTC: `2026-11-27 14:05:09 UTC`. */
export function utc(seconds) {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
