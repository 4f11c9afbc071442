// The node that the page looks at: JSON-RPC over HTTP, which chains and methods it has, its figures.

const TIMEOUT_MS = 30_000;
const BATCH = 100;

/** The code of a node that limits requests. */
export const LIMITED = -32005;

/** An error of the node or of the way to it, with what to do next. */
export class RpcError extends Error {
  constructor(message, { code, data, next, method, lost = false } = {}) {
    super(message);
    Object.assign(this, { code, data, next: next ?? nextStep(code, message, lost), method, lost });
  }

  get isMissing() {
    return this.code === -32601 || /can't find (method|service)|does not exist\/is not available/.test(this.message);
  }
}

function nextStep(code, message, lost) {
  if (lost) return 'The page tries again by itself. Check that the node runs and that its URL is right.';
  if (code === -32601 || /can't find (method|service)/.test(message)) return 'This node does not serve the method: see rpc.discover, and the settings that enable its service.';
  if (/origin not allowed/.test(message)) return 'Open the page from the node itself, or name its origin in http-allowed-origins.';
  if (code === LIMITED) return 'The node limits requests: wait, then try again.';
  if (code === 4444) return 'Ask an archive, or a node that holds these blocks.';
  return null;
}

/** Parses JSON; integers of 16 digits and more become texts, which BigInt takes exactly. */
export function parseJson(text) {
  if (!/[^"\d]\d{16,}/.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (m) => (m[0] === '"' ? m : `"${m}"`)));
}

async function ask(url, options, signal) {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...options, signal: signal ? AbortSignal.any([signal, deadline]) : deadline, cache: 'no-store', credentials: 'omit' });
    return [response, await response.text()];
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RpcError(`no answer from ${new URL(url).host}`, { lost: true });
  }
}

async function post(url, body, signal) {
  const [response, text] = await ask(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }, signal);
  try {
    return parseJson(text);
  } catch {
    throw new RpcError(`status ${response.status}: ${text.slice(0, 200) || response.statusText}`, { code: response.status });
  }
}

function resultOf(reply, method) {
  if (reply?.error) throw new RpcError(reply.error.message, { ...reply.error, method });
  if (!reply || !('result' in reply)) throw new RpcError('the answer has no result', { method });
  return reply.result;
}

/** Calls a method with named arguments: those of X, P, info, admin and so on. */
export async function callNamed(url, method, params = {}, signal) {
  return resultOf(await post(url, { jsonrpc: '2.0', id: 1, method, params }, signal), method);
}

const queues = new Map();

/** Calls a method of an EVM chain. Calls of the same moment travel in one batch. */
export function call(url, method, ...params) {
  return new Promise((resolve, reject) => {
    if (!queues.has(url)) {
      queues.set(url, []);
      queueMicrotask(() => flush(url));
    }
    queues.get(url).push({ method, params, resolve, reject });
  });
}

async function flush(url) {
  const calls = queues.get(url);
  queues.delete(url);
  for (let at = 0; at < calls.length; at += BATCH) sendBatch(url, calls.slice(at, at + BATCH));
}

async function sendBatch(url, calls) {
  const requests = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
  try {
    const answer = await post(url, requests.length === 1 ? requests[0] : requests);
    const replies = new Map([answer].flat().map((reply) => [reply.id, reply]));
    const common = replies.get(null) ?? (replies.size === 1 && calls.length > 1 ? answer : null);
    calls.forEach((item, id) => settle(item, replies.get(id) ?? common));
  } catch (error) {
    calls.forEach(({ reject }) => reject(error));
  }
}

function settle({ method, resolve, reject }, reply) {
  try {
    resolve(resultOf(reply, method));
  } catch (error) {
    reject(error);
  }
}

/** GETs a text or, where the answer is JSON, its value. */
export async function get(url, signal) {
  const [response, text] = await ask(url, {}, signal);
  if (!response.ok && response.status !== 503) throw new RpcError(`status ${response.status}: ${text.slice(0, 200)}`, { code: response.status });
  return /json/.test(response.headers.get('content-type') ?? '') ? parseJson(text) : text;
}

const PRIMARY = { mainnet: 'avax', fuji: 'fuji', local: 'local' };

/** Returns a function that calls others, at most so many at a time; those that wait are given up when the signal aborts. */
export function limited(most, signal) {
  const waiting = [];
  let running = 0;
  const start = () => {
    if (running === most || !waiting.length) return;
    running += 1;
    waiting.shift()();
  };
  return async (ask) => {
    await new Promise((resolve) => { waiting.push(resolve); start(); });
    try {
      signal?.throwIfAborted();
      return await ask();
    } finally {
      running -= 1;
      start();
    }
  };
}

/** Facts about the node, known after `connect`. */
export const node = {
  base: new URL(new URLSearchParams(location.search).get('node') ?? location.origin, location.href),
  network: '', networkID: null, version: '', isDev: false, modules: {},
  evm: null, x: null, symbol: 'NAT', prefix: 'local', assetID: null, chains: [], report: null,
};

export function urlOf(path) {
  return new URL(path, node.base).href;
}

export function socketOf(path) {
  const url = new URL(path, node.base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

export const evm = (method, ...params) => call(urlOf(node.evm.path), method, ...params);
export const xvm = (method, params, signal) => callNamed(urlOf(node.x.path), method, params, signal);
export const nat = (method, params, signal) => callNamed(urlOf(`/ext/bc/${node.evm.alias}/nat`), method, params, signal);
export const ext = (service, method, params, signal) => callNamed(urlOf(`/ext/${service}`), `${service}.${method}`, params, signal);
export const status = (signal) => get(urlOf('/ext/status'), signal);

/** Learns which chains the node has, and begins to ask for the rest: `node.details`. Throws if it does not answer. */
export async function connect() {
  const found = await status().catch((error) => {
    if (error.lost) throw error;
    return null;
  });
  if (found) readChains(found);
  else Object.assign(node, { evm: { alias: '', path: '/', socket: '/', id: null }, x: null });
  node.details = Promise.all([readVersion(), readEvm(), readX()]);
  if (!found) await node.details;
}

function readChains(found) {
  node.report = found;
  node.chains = found.chains;
  node.network = found.network;
  node.role = found.role;
  node.networkID = found.networkID;
  node.prefix = PRIMARY[found.network] ?? 'custom';
  const at = (alias) => found.chains.find((chain) => chain.alias === alias);
  const x = at('X');
  const c = at('C') ?? found.chains.find((chain) => chain.alias !== 'X');
  node.x = x ? { alias: 'X', path: '/ext/bc/X', socket: '/ext/bc/X/ws', id: x.id } : null;
  if (!x) node.symbol = 'ETH';
  node.evm = c ? { alias: c.alias, path: `/ext/bc/${c.alias}/rpc`, socket: `/ext/bc/${c.alias}/ws`, id: c.id } : null;
}

async function readVersion() {
  // The node of one EVM chain has no /ext/info.
  const version = node.x ? await ext('info', 'getNodeVersion').catch(() => null) : null;
  node.version = version?.version.replace('esker/', '') ?? '';
  node.versions = version;
}

async function readEvm() {
  if (!node.evm) return;
  const [modules, chainId, client] = await Promise.all([
    evm('rpc_modules').catch(() => ({})), evm('evm_chainId').catch(() => null), evm('web3_clientVersion').catch(() => ''),
  ]);
  node.modules = modules;
  node.chainId = chainId && BigInt(chainId);
  node.client = client;
  node.isDev = 'anvil' in modules;
  if (!node.version) node.version = client.split('/v').pop();
}

async function readX() {
  if (!node.x) return;
  const [native, fee] = await Promise.all([
    xvm('xvm.getAssetDescription', { assetID: 'NAT' }).catch(() => null), xvm('xvm.getTxFee', {}).catch(() => null),
  ]);
  if (native) node.assetID = native.assetID;
  node.xFee = fee ? BigInt(fee.txFee) : null;
}

/** The name of the EVM chain. */
export const evmName = () => node.evm?.alias || 'the EVM';

/** Whether the node serves a namespace of the EVM, such as `debug`. */
export const hasModule = (name) => name in node.modules;

export function chainName(id) {
  if (id === '11111111111111111111111111111111LpoYY') return 'P';
  return node.chains.find((chain) => chain.id === id)?.alias ?? id;
}

/** `{ 'name': [{ labels, value }] }` of these families of the node now. The node reads no others. */
export async function metrics(families, signal) {
  return parse(await get(urlOf(`/ext/metrics?${families.map((name) => `name[]=${name}`).join('&')}`), signal));
}

export function parse(text) {
  const families = {};
  for (const line of text.split('\n')) {
    if (!line || line[0] === '#') continue;
    const match = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    (families[match[1]] ??= []).push({ labels, value: Number(match[3]) });
  }
  return families;
}

/** The sum of a family over the samples that have these labels; null without any. */
export function figure(families, name, labels = {}) {
  const samples = (families[name] ?? []).filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
  return samples.length ? samples.reduce((sum, { value }) => sum + value, 0) : null;
}

/** The rate of a growing figure a second, from call to call. */
export function rate() {
  let last = null;
  return (value, time = performance.now() / 1000) => {
    const before = last;
    last = [value, time];
    if (!before || value === null || before[0] === null || time <= before[1]) return NaN;
    return Math.max(0, (value - before[0]) / (time - before[1]));
  };
}
