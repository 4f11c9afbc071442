// JSON-RPC over HTTP: one error type, big integers kept exact, calls of one moment in one batch.

const TIMEOUT_MS = 30_000;
const BATCH = 100;

/** An error of the node or of the way to it, with what to do next. */
export class RpcError extends Error {
  constructor(message, { code, data, next, method, lost = false } = {}) {
    super(message);
    Object.assign(this, { code, data, next: next ?? nextStep(code, message, lost), method, lost });
  }

  /** Whether the node does not have the method. */
  get isMissing() {
    return this.code === -32601 || /can't find (method|service)|does not exist\/is not available/.test(this.message);
  }
}

function nextStep(code, message, lost) {
  if (lost) return 'The page tries again by itself. Check that the node runs and that its URL is right.';
  if (code === -32601 || /can't find (method|service)/.test(message)) return 'This node does not serve the method: see rpc.discover, and the settings that enable its service.';
  if (/origin not allowed/.test(message)) return 'Open the page from the node itself, or name its origin in http-allowed-origins.';
  if (code === -32005) return 'The node limits requests: wait, then try again.';
  if (code === 4444) return 'Ask an archive, or a node that holds these blocks.';
  return null;
}

/** Parses JSON; integers of 16 digits and more become texts, which BigInt takes exactly. */
export function parseJson(text) {
  if (!/[^"\d]\d{16,}/.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (m) => (m[0] === '"' ? m : `"${m}"`)));
}

/** Sends a body and returns the answer's JSON; other answers are errors. */
async function post(url, body, signal) {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  let response;
  try {
    response = await fetch(url, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline, cache: 'no-store', credentials: 'omit',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RpcError(`no answer from ${new URL(url).host}`, { lost: true });
  }
  const text = await response.text();
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
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  let response;
  try {
    response = await fetch(url, { signal: signal ? AbortSignal.any([signal, deadline]) : deadline, cache: 'no-store', credentials: 'omit' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RpcError(`no answer from ${new URL(url).host}`, { lost: true });
  }
  const text = await response.text();
  if (!response.ok && response.status !== 503) throw new RpcError(`status ${response.status}: ${text.slice(0, 200)}`, { code: response.status });
  return /json/.test(response.headers.get('content-type') ?? '') ? parseJson(text) : text;
}
