// One JSON-RPC call.

/** Paths of the namespaces whose methods have a dot; methods without one are of the C-Chain. */
const PATHS = {
  admin: '/ext/admin',
  avax: '/ext/bc/C/nat',
  avm: '/ext/bc/X',
  dev: '/ext/bc/X',
  health: '/ext/health',
  index: '/ext/index/X/block',
  info: '/ext/info',
  keystore: '/ext/keystore',
  nat: '/ext/bc/C/nat',
  platform: '/ext/bc/P',
  wallet: '/ext/bc/X/wallet',
  xvm: '/ext/bc/X',
};
const C_PATH = '/ext/bc/C/rpc';
/** Most characters of a reply in an error. */
const MAX_REPLY_LENGTH = 1000;

/** A refusal by the node. */
export class RpcError extends Error {
  constructor(method, { code, message, data }) {
    super(message);
    this.name = 'RpcError';
    this.method = method;
    this.code = code;
    this.data = data;
  }
}

/** The path that has a method. */
export function pathOf(method) {
  const [namespace, name] = method.split('.');
  if (name === undefined) return C_PATH;
  const path = Object.hasOwn(PATHS, namespace) ? PATHS[namespace] : undefined;
  if (!path) throw new TypeError(`${method}: which path has it? Pass one: rpc(method, params, { path })`);
  return path;
}

/** The text of a request. */
export function bodyOf(method, params) {
  const request = { jsonrpc: '2.0', id: 1, method, params: params ?? (method.includes('.') ? {} : []) };
  return JSON.stringify(request, (_, value) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : value));
}

/** Posts a request; a refusal is an `RpcError`. */
export async function call(url, method, body, timeoutMs) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`status ${reply.status}: ${text.slice(0, MAX_REPLY_LENGTH)}`);
  const { error, result } = parsed(text) ?? {};
  if (typeof error === 'object' && error !== null) throw new RpcError(method, error);
  if (result === undefined) throw new Error(`unexpected reply: ${text.slice(0, MAX_REPLY_LENGTH)}`);
  return result;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
