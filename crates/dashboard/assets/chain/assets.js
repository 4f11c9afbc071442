// Descriptions of assets, each asked for once.

import { node, xvm } from './node.js';

const known = new Map();

/** Name, symbol and denomination of an asset. */
export function asset(assetID) {
  if (assetID === node.assetID) return Promise.resolve({ assetID, name: 'Native asset', symbol: node.symbol, denomination: '9' });
  if (!known.has(assetID)) {
    const found = xvm('xvm.getAssetDescription', { assetID });
    known.set(assetID, found);
    found.catch(() => known.delete(assetID));
  }
  return known.get(assetID);
}
