// Values as elements: IDs with their middle cut, times, amounts with units, and how a transaction ended.

import { asset } from '../chain/assets.js';
import { node } from '../chain/node.js';
import { decimal, duration, gasPrice, grouped, utc, visible } from '../format/text.js';
import { copyText, h, svg } from './dom.js';

/** `0xf39F…2266`: the beginning and the end of a long ID. */
export function cut(text, head = 8, tail = 6) {
  return text.length > head + tail + 2 ? `${text.slice(0, head)}…${text.slice(-tail)}` : text;
}

class Id extends HTMLElement {
  connectedCallback() {
    if (this.childNodes.length) return;
    const text = this.whole ? this.data : cut(this.data, this.head, this.tail);
    const label = this.kind ? `${this.kind} ${this.data}` : this.data;
    if (this.whole) this.classList.add('whole');
    if (this.href) {
      this.append(
        h('a', { href: this.href, title: label }, text),
        h('button.copy', { type: 'button', title: 'Copy', 'aria-label': `Copy ${label}`, onclick: () => copyText(this.data) }, copyIcon()),
      );
    } else {
      this.append(h('button', { type: 'button', title: `${this.data} (click to copy)`, onclick: () => copyText(this.data) }, text));
    }
  }
}

function copyIcon() {
  return svg('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true' },
    svg('path', { d: 'M4 4h6v7H4zM2 8V1h6', fill: 'none', stroke: 'currentColor' }));
}

customElements.define('e-id', Id);

/** An ID; `href` makes it a link, `whole` shows all of it. */
export function id(text, { href, kind, whole = false, head, tail } = {}) {
  const element = document.createElement('e-id');
  Object.assign(element, { data: String(text), href, kind, whole, head, tail });
  return element;
}

/** Links to the views of things. */
export const to = {
  block: (chain, key) => `#/block/${chain.toLowerCase()}/${key}`,
  tx: (chain, key) => `#/tx/${chain.toLowerCase()}/${key}`,
  address: (address) => `#/address/${address}`,
  asset: (asset) => `#/asset/${asset}`,
  utxo: (txID, index) => `#/utxo/${txID}/${index}`,
};

/** An address as a link; those that are absent as a dash. */
export const addressId = (address) => (address ? id(address, { href: to.address(address), kind: 'Address', head: /^0x/.test(address) ? 8 : 13 }) : h('span.muted', null, '–'));
/** A transaction of a chain as a link. */
export const txId = (chain, hash) => id(hash, { href: to.tx(chain, hash), kind: 'Transaction' });
/** A block of a chain by height, as a link. */
export const blockLink = (chain, height) => h('a.mono', { href: to.block(chain, height), title: `Block ${height} of ${chain.toUpperCase()}` }, String(height));

const shown = new Set();
let timer = null;

class Time extends HTMLElement {
  connectedCallback() {
    this.title = utc(this.data);
    this.update();
    shown.add(this);
    timer ??= setInterval(() => shown.forEach((element) => element.update()), 1000);
  }

  disconnectedCallback() {
    shown.delete(this);
    if (shown.size) return;
    clearInterval(timer);
    timer = null;
  }

  update() {
    const ago = Date.now() / 1000 - Number(this.data);
    const text = ago < -1 ? `in ${duration(ago)}` : `${duration(Math.max(0, Math.floor(ago)))} ago`;
    if (this.textContent !== text) this.textContent = text;
  }
}

customElements.define('e-time', Time);

/** Time since these Unix seconds. */
export function ago(seconds) {
  const element = document.createElement('e-time');
  element.data = Number(seconds);
  element.className = 'nowrap';
  return element;
}

/** The absolute time and how long ago it was. */
export function when(seconds) {
  const span = document.createElement('span');
  span.append(`${utc(seconds)} `);
  const relative = ago(seconds);
  relative.classList.add('muted');
  span.append(relative);
  return span;
}

/** A number and its unit. */
export function quantity(text, unit) {
  return h('span.nowrap', null, text, unit ? h('span.unit', null, ` ${unit}`) : null);
}

/** Wei as units of the chain's coin. */
export const wei = (value) => quantity(decimal(value ?? 0, 18), node.symbol);
/** Billionths of the native asset. */
export const nano = (value) => quantity(decimal(value ?? 0, 9), node.symbol);
/** A gas price in gwei or wei. */
export const price = (value) => quantity(...gasPrice(value ?? 0));
/** Gas. */
export const gas = (value) => quantity(grouped(BigInt(value ?? 0)), 'gas');
/** A plain count, grouped. */
export const count = (value, unit) => quantity(grouped(value), unit);

/** An amount of an asset of the X-Chain; its name and places are filled in when they are known. */
export function assetAmount(units, assetID) {
  if (assetID === node.assetID) return nano(units);
  const place = h('span.nowrap', null, quantity(grouped(units), 'units'));
  asset(assetID).then((known) => {
    const link = h('a.unit', { href: to.asset(assetID), title: assetID }, visible(known.symbol || known.name));
    place.replaceChildren(h('span', null, `${decimal(units, Number(known.denomination))} `), link);
  }, () => place.append(h('a.unit', { href: to.asset(assetID) }, ` of ${assetID.slice(0, 8)}…`)));
  return place;
}

/** The mark of a receipt. */
export function status(receipt) {
  if (!receipt) return h('span.mark.warn', null, 'waiting');
  return Number(receipt.status) === 1 ? h('span.mark.ok', null, 'succeeded') : h('span.mark.bad', null, 'failed');
}
