// One JSON-RPC call.

/** Paths of the namespaces whose methods have a dot; methods without one are of the C-Chain. */
const PATHS = {
  admin: '/ext/admin',
  avm: '/ext/bc/X',
  dev: '/ext/bc/X',
  health: '/ext/health',
  info: '/ext/info',
  keystore: '/ext/keystore',
  nat: '/ext/bc/C/nat',
  platform: '/ext/bc/P',
  wallet: '/ext/bc/X/wallet',
  xvm: '/ext/bc/X',
};
const C_PATH = '/ext/bc/C/rpc';

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

/** Calls a method; a refusal is an `RpcError`. */
export async function call(url, method, params, { path = pathOf(method), timeoutMs }) {
  const body = { jsonrpc: '2.0', id: 1, method, params: params ?? (method.includes('.') ? {} : []) };
  const reply = await fetch(url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : value)),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await reply.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`status ${reply.status}: ${text.slice(0, 1000)}`);
  }
  if (answer.error) throw new RpcError(method, answer.error);
  return answer.result;
}
