// <e-id>: an ID with its middle cut, whole in its label, copied on click.

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
        h('a', { href: this.href, title: this.data, 'aria-label': label }, text),
        h('button.copy', { type: 'button', title: 'Copy', 'aria-label': `Copy ${label}`, onclick: () => copyText(this.data) }, copyIcon()),
      );
    } else {
      this.append(h('button', { type: 'button', title: `${this.data} (click to copy)`, 'aria-label': `Copy ${label}`, onclick: () => copyText(this.data) }, text));
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
export const blockLink = (chain, height) => h('a.mono', { href: to.block(chain, height), 'aria-label': `Block ${height} of ${chain}` }, String(height));
