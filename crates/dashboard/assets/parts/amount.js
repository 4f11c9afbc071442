// Amounts with their units.

import { node } from '../chain/node.js';
import { asset } from '../chain/assets.js';
import { decimal, gasPrice, grouped } from '../format/units.js';
import { visible } from '../format/text.js';
import { h } from './dom.js';
import { to } from './id.js';

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
