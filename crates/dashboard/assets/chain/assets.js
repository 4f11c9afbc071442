// Descriptions of assets, and the accounts of development networks, whose keys everyone knows.

import { node, xvm } from './node.js';
import { fromHex, toBech32 } from '../format/bytes.js';

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

// [account of the EVM, bytes of the X-Chain's address, private key]; the last one is the well-known key.
const KNOWN = [
  ['f39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'a55476015c13afb8afb92160329a8cde976f1f2e', 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'],
  ['70997970c51812dc3a010c7d01b50e0d17dc79c8', 'c4841b8f5e6f10a38dc5e672e183ffd9be0cd12f', '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'],
  ['3c44cdddb6a900fa2b585dd299e03d12fa4293bc', '84a3b88b8d059d50fe0cdf82f3dca0397f0255c1', '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'],
  ['90f79bf6eb2c4f870365e785982e1f101e93b906', '245289ae1d4ab1b27e13e44e77a3ce0ebb2f445c', '7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'],
  ['15d34aaf54267db7d7c367839aaf71a00a2c6a65', '925754f8d4c7644769c762645f3cfb316498380f', '47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a'],
  ['9965507d1a55bcc2695c58ba16fb37d819b0a4dc', '8102522b7f48c72737b2a117915caee646ee5e78', '8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba'],
  ['976ea74026e726554db657fa54763abd0c3a0aa9', '1112747621394db974d2cab1662d979099e42ab0', '92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e'],
  ['14dc79964da2c08b23698b3d3cc7ca32193d9955', 'de47530dee07c1e61f7af1d8c354592642a7b0e3', '4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356'],
  ['23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f', 'fd063656bc48005f061c548062bcbb6ce5d0b98f', 'dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97'],
  ['a0ee7a142d267c1f36714e4a8f75612f20a79720', 'aa7ec73cc74c162f93c55f708873e66582c3d0e0', '2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6'],
  ['8db97c7cece249c2b98bdc0226cc4c2a57bf52fc', '3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c', '56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027'],
];

const all = () => KNOWN.map(([account, owner, key], i) => ({
  name: i === KNOWN.length - 1 ? 'well-known key' : `account ${i}`, address: `0x${account}`, owner, key,
  x: `X-${toBech32(node.prefix, fromHex(owner))}`, isWellKnown: i === KNOWN.length - 1,
}));

/** The accounts whose keys are public; empty but on development networks. */
export const knownAccounts = () => (node.isDev ? all() : []);

/** The known account with this address, of either form. */
export function knownAccount(address) {
  const text = address.toLowerCase();
  const tail = text.includes('-') ? text.split('-')[1] : null;
  return knownAccounts().find((account) => account.address === text || (tail && account.x.endsWith(`-${tail}`))) ?? null;
}
