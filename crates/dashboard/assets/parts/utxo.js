// Outputs as cells of tables, and the graph of UTXOs around a transaction.

import { oneLine, utc } from '../format/text.js';
import { append, h, svg, textOfHex } from './base.js';
import { addressId, assetAmount, cut, id, to } from './values.js';

/** Columns for items of which `of(item)` is `{ assetID, type, output }`. */
export function outputCells(of) {
  return [
    ['Amount', (item) => content(of(item)), 'num'],
    ['Owner', (item) => owners(of(item).output)],
  ];
}

function content({ assetID, type, output }) {
  if (output.amount !== undefined) return assetAmount(output.amount, assetID);
  const link = id(assetID, { href: to.asset(assetID), kind: 'Asset' });
  if (output.payload === undefined) return h('span.nowrap', null, `${type ?? output.type}${output.groupID === undefined ? '' : ` of group ${output.groupID}`} `, link);
  return h('span', null, h('span.nowrap', null, `NFT of group ${output.groupID} `, link), h('div', null, textOfHex(output.payload)));
}

/** Owners, how many of them must sign, and until when the output is locked. */
export function owners(output) {
  const addresses = output.addresses ?? [];
  const locked = Number(output.locktime ?? 0);
  return h('div', null,
    addresses.length ? addresses.map((address) => h('div', null, addressId(address))) : h('span.muted', null, 'nobody'),
    addresses.length > 1 || Number(output.threshold) !== 1 ? h('div.muted.small', null, `${output.threshold} of ${addresses.length} must sign`) : null,
    locked ? h(locked > Date.now() / 1000 ? 'div.warn.small' : 'div.muted.small', null, `locked until ${utc(locked)}`) : null);
}

const BOX = { width: 220, height: 44, gap: 12 };
const LANE = 190;
/** Most boxes on a side of the graph. */
export const BOXES = 40;

/**
 * `left` and `right` are `[{ title, detail, href, amount, tone }]`, `center` is one such box.
 * Boxes with an `href` are links; `tone` is `open` for what is unspent, `other` for another chain. `hidden` more have no box.
 */
export function utxoGraph(left, center, right, hidden) {
  const place = h('div.table-wrap.graph', { tabindex: '0', role: 'region', 'aria-label': 'Graph of UTXOs' });
  append(place, [drawing(left, center, right), hidden ? h('p.muted.small.empty', null, `${hidden} more are in the lists below.`) : null]);
  // Narrow windows begin with the transaction itself.
  requestAnimationFrame(() => { place.scrollLeft = (place.scrollWidth - place.clientWidth) / 2; });
  return place;
}

function drawing(left, center, right) {
  const rows = Math.max(left.length, right.length, 1);
  const height = rows * (BOX.height + BOX.gap) + BOX.gap;
  const width = 3 * BOX.width + 2 * LANE + 2;
  const middle = height / 2;
  const x = [1, BOX.width + LANE, 2 * (BOX.width + LANE)];
  const y = (i, count) => middle + (i - (count - 1) / 2) * (BOX.height + BOX.gap);
  const lines = [
    left.map((box, i) => edge(x[0] + BOX.width, y(i, left.length), x[1], middle, box)),
    right.map((box, i) => edge(x[1] + BOX.width, middle, x[2], y(i, right.length), box)),
  ];
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': `${left.length} inputs, ${right.length} outputs` },
    lines,
    left.map((box, i) => node(box, x[0], y(i, left.length))),
    node(center, x[1], middle, true),
    right.map((box, i) => node(box, x[2], y(i, right.length))));
}

function edge(x1, y1, x2, y2, box) {
  const bend = (x2 - x1) / 2;
  const path = svg('path', { class: `edge ${box.tone ?? ''}`, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  const text = box.amount ? svg('text.edge-text', { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 4, 'text-anchor': 'middle' }, oneLine(box.amount, 24)) : null;
  return [path, text];
}

function node(box, x, y, isCenter = false) {
  const group = [
    svg('rect', { class: `node ${box.tone ?? ''} ${isCenter ? 'center' : ''}`, x, y: y - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 4 }),
    svg('text.node-title', { x: x + 10, y: y - 4 }, oneLine(box.title, 30)),
    svg('text.node-detail', { x: x + 10, y: y + 13 }, oneLine(box.detail.length > 32 ? cut(box.detail, 12, 10) : box.detail, 34)),
  ];
  return box.href && !isCenter ? svg('a', { href: box.href }, group) : svg('g', null, group);
}
