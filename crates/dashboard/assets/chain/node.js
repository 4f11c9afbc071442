// The node that the page looks at: where it is, which chains and methods it has.

import { call, callNamed, get } from './rpc.js';

const PRIMARY = { mainnet: 'avax', fuji: 'fuji', local: 'local' };

/** Facts about the node, known after `connect`. */
export const node = {
  base: new URL(new URLSearchParams(location.search).get('node') ?? location.origin, location.href),
  network: '', networkID: null, version: '', isDev: false, modules: {},
  evm: null, x: null, symbol: 'NAT', prefix: 'local', assetID: null, chains: [],
};

/** URL of a path of the node. */
export function urlOf(path) {
  return new URL(path, node.base).href;
}

/** URL of a websocket of the node. */
export function socketOf(path) {
  const url = new URL(path, node.base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

/** Calls the EVM chain. */
export const evm = (method, ...params) => call(urlOf(node.evm.path), method, ...params);
/** Calls the X-Chain. */
export const xvm = (method, params, signal) => callNamed(urlOf(node.x.path), method, params, signal);
/** Calls the methods of the C-Chain for exports and imports. */
export const nat = (method, params, signal) => callNamed(urlOf(`/ext/bc/${node.evm.alias}/nat`), method, params, signal);
/** Calls a method of the node itself: info, admin, keystore. */
export const ext = (service, method, params, signal) => callNamed(urlOf(`/ext/${service}`), `${service}.${method}`, params, signal);
/** Role, heights, peers and followers. */
export const status = (signal) => get(urlOf('/ext/status'), signal);

/** Learns what the node is. Throws if it does not answer. */
export async function connect() {
  const found = await status().catch((error) => {
    if (error.lost) throw error;
    return null;
  });
  if (found) readChains(found);
  else Object.assign(node, { evm: { alias: '', path: '/', socket: '/', id: null }, x: null });
  await Promise.all([readVersion(), readEvm(), readX()]);
}

function readChains(found) {
  node.chains = found.chains;
  node.network = found.network;
  node.networkID = found.networkID;
  node.prefix = PRIMARY[found.network] ?? 'custom';
  const at = (alias) => found.chains.find((chain) => chain.alias === alias);
  const x = at('X');
  const c = at('C') ?? found.chains.find((chain) => chain.alias !== 'X');
  node.x = x ? { alias: 'X', path: '/ext/bc/X', socket: '/ext/bc/X/ws', id: x.id } : null;
  node.evm = c ? { alias: c.alias, path: `/ext/bc/${c.alias}/rpc`, socket: `/ext/bc/${c.alias}/ws`, id: c.id } : null;
}

async function readVersion() {
  const version = await ext('info', 'getNodeVersion').catch(() => null);
  node.version = version?.version.replace('esker/', '') ?? '';
  node.versions = version;
}

async function readEvm() {
  if (!node.evm) return;
  const [modules, chainId, client] = await Promise.all([
    evm('rpc_modules').catch(() => ({})), evm('evm_chainId').catch(() => null), evm('web3_clientVersion').catch(() => ''),
  ]);
  node.modules = modules;
  node.chainId = chainId ? Number(chainId) : null;
  node.client = client;
  node.isDev = 'anvil' in modules;
  if (!node.version) node.version = client;
}

async function readX() {
  if (!node.x) return;
  const [native, fee] = await Promise.all([
    xvm('xvm.getAssetDescription', { assetID: 'NAT' }).catch(() => null), xvm('xvm.getTxFee', {}).catch(() => null),
  ]);
  if (native) node.assetID = native.assetID;
  node.xFee = fee ? BigInt(fee.txFee) : null;
}

/** Whether the node serves a namespace of the EVM, such as `debug`. */
export const hasModule = (name) => name in node.modules;

/** The letter of a chain for its ID. */
export function chainName(id) {
  if (id === '11111111111111111111111111111111LpoYY') return 'P';
  return node.chains.find((chain) => chain.id === id)?.alias ?? id;
}
