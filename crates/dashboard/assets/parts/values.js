// Values as elements: IDs with their middle cut, times, amounts with units, and charts of figures.

import { node } from '../chain/node.js';
import { asset } from '../chain/utxo.js';
import { compact, decimal, duration, gasPrice, grouped, utc, visible } from '../format/text.js';
import { copyText, h, replace, svg } from './base.js';

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

export const to = {
  block: (chain, key) => `#/block/${chain.toLowerCase()}/${key}`,
  tx: (chain, key) => `#/tx/${chain.toLowerCase()}/${key}`,
  address: (address) => `#/address/${address}`,
  asset: (asset) => `#/asset/${asset}`,
  utxo: (txID, index) => `#/utxo/${txID}/${index}`,
};

/** An address as a link; those that are absent as a dash. */
export const addressId = (address) => (address ? id(address, { href: to.address(address), kind: 'Address', head: /^0x/.test(address) ? 8 : 13 }) : h('span.muted', null, '–'));
export const txId = (chain, hash) => id(hash, { href: to.tx(chain, hash), kind: 'Transaction' });
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

export function quantity(text, unit) {
  return h('span.nowrap', null, text, unit ? h('span.unit', null, ` ${unit}`) : null);
}

export const wei = (value) => quantity(decimal(value ?? 0, 18), node.symbol);
export const nano = (value) => quantity(decimal(value ?? 0, 9), node.symbol);
export const price = (value) => quantity(...gasPrice(value ?? 0));
export const gas = (value) => quantity(grouped(BigInt(value ?? 0)), 'gas');
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

export function status(receipt) {
  if (!receipt) return h('span.mark.warn', null, 'waiting');
  return Number(receipt.status) === 1 ? h('span.mark.ok', null, 'succeeded') : h('span.mark.bad', null, 'failed');
}

const WIDTH = 240;
const HEIGHT = 48;

class Chart extends HTMLElement {
  points = [];
  limit = 150;

  connectedCallback() {
    if (this.childNodes.length) return;
    this.value = h('span.chart-value', null, '–');
    this.drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    this.low = h('span');
    this.span = h('span');
    this.append(h('div.chart-head', null, h('h3', null, this.name), this.value), this.drawing, h('div.chart-foot', null, this.low, this.span));
    this.setAttribute('role', 'group');
    this.drawing.addEventListener('pointermove', (event) => this.point(event));
    this.drawing.addEventListener('pointerleave', () => { this.at = null; this.draw(); });
    this.draw();
  }

  /** Adds a value at a time in seconds. */
  push(value, time = Date.now() / 1000) {
    if (!Number.isFinite(value)) return;
    this.points.push([time, value]);
    if (this.points.length > this.limit) this.points.shift();
    if (this.isConnected) this.draw();
  }

  /** Replaces all values: `[[time, value]]`. */
  fill(points) {
    this.points = points.slice(-this.limit);
    if (this.isConnected) this.draw();
  }

  point(event) {
    const box = this.drawing.getBoundingClientRect();
    this.at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    this.draw();
  }

  draw() {
    if (!this.points.length) return;
    const times = this.points.map(([time]) => time);
    const values = this.points.map(([, value]) => value);
    const [from, until] = [times[0], times.at(-1)];
    const top = Math.max(...values);
    const bottom = Math.min(...values, this.zero ? 0 : Infinity);
    const x = (time) => (until > from ? ((time - from) / (until - from)) * WIDTH : WIDTH);
    const y = (value) => (top > bottom ? HEIGHT - 2 - ((value - bottom) / (top - bottom)) * (HEIGHT - 4) : HEIGHT - 2);
    const line = this.points.map(([time, value], i) => `${i ? 'L' : 'M'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join('');
    const index = this.at == null ? values.length - 1 : nearest(times, from + this.at * (until - from));
    replace(this.drawing,
      svg('line.axis', { x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
      values.length > 1 ? [svg('path.area', { d: `${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }), svg('path.stroke', { d: line })] : null,
      this.at == null ? null : svg('line.cursor', { x1: x(times[index]), x2: x(times[index]), y1: 0, y2: HEIGHT }));
    const show = this.format ?? ((value) => [compact(value), this.unit]);
    const [text, unit] = show(values[index]);
    replace(this.value, text, unit ? h('span.unit', null, ` ${unit}`) : null);
    replace(this.low, top > bottom ? `${show(bottom)[0]} to ${show(top).join(' ')}` : 'steady');
    const age = until - times[index];
    replace(this.span, this.at != null && age > 0.5 ? `${duration(age)} before` : `last ${duration(until - from)}`);
    this.setAttribute('aria-label', `${this.name}: ${text} ${unit ?? ''}`);
  }
}

function nearest(times, time) {
  let best = 0;
  times.forEach((t, i) => { if (Math.abs(t - time) < Math.abs(times[best] - time)) best = i; });
  return best;
}

customElements.define('e-chart', Chart);

/** A chart; `zero` includes zero in its range, `format` makes text and unit of a value. */
export function chart(name, { unit, zero = true, format, limit = 150 } = {}) {
  const element = document.createElement('e-chart');
  Object.assign(element, { name, unit, zero, format, limit });
  return element;
}
