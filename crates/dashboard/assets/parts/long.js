// Long texts, bytes and JSON, each bounded, with more on request.

import { fromHex } from '../format/bytes.js';
import { bytes as size, textOfBytes, visible } from '../format/text.js';
import { h, replace } from './dom.js';

const STEP = 4000;

/** A text of others: escaped, and cut until its reader asks for more. */
export function longText(text, limit = 400) {
  const whole = String(text);
  const place = h('span.long', { dir: 'ltr' });
  const show = (length) => {
    const rest = whole.length - length;
    replace(place, visible(whole.slice(0, length)), rest > 0
      ? ['… ', h('button.btn.plain', { type: 'button', onclick: () => show(length + STEP) }, `show more (${rest} of ${whole.length} characters left)`)] : null);
  };
  show(limit);
  return place;
}

/** Bytes of hex as text where they are one, with their size. */
export function textOfHex(hex) {
  const bytes = fromHex(hex);
  return bytes.length ? longText(textOfBytes(bytes)) : h('span.muted', null, 'empty');
}

const LINE = 16;
const LINES = 32;

/** Bytes as offset, hex and ASCII. */
export function hexView(hex) {
  const bytes = fromHex(hex);
  if (!bytes.length) return h('p.muted', null, 'No bytes.');
  const place = h('pre.bytes', { tabindex: '0', 'aria-label': `${bytes.length} bytes in hex` });
  const more = h('p');
  const show = (lines) => {
    replace(place, dump(bytes, lines));
    const rest = bytes.length - lines * LINE;
    replace(more, rest > 0 ? h('button.btn', { type: 'button', onclick: () => show(lines * 4) }, `Show more (${size(rest).join(' ')} left)`) : null);
  };
  show(LINES);
  return h('div', null, h('p.muted.small', null, size(bytes.length).join(' ')), place, more);
}

function dump(bytes, lines) {
  const rows = [];
  for (let at = 0; at < bytes.length && rows.length < lines; at += LINE) {
    const part = [...bytes.slice(at, at + LINE)];
    const digits = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ').padEnd(LINE * 3 - 1);
    const letters = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    rows.push(`${at.toString(16).padStart(6, '0')}  ${digits}  ${letters}`);
  }
  return rows.join('\n');
}

/** A JSON value, indented, cut to 20,000 characters until more is asked for. */
export function jsonView(value) {
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  return h('div.json.mono', { tabindex: '0', role: 'region', 'aria-label': 'JSON' }, longText(text, 20_000));
}
