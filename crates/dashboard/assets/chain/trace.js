// Traces of EVM transactions: calls, state, console, steps, and the reason of a failure.

import { evm, hasModule } from './node.js';

/** Whether the node traces. */
export const canTrace = () => hasModule('debug');

/** The tree of calls, with the names that the node knows. */
export const callTree = (hash) => evm('debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true, names: true } })
  .catch((error) => {
    if (/names/.test(error.message)) return evm('debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true } });
    throw error;
  });

/** What the transaction changed: `{ pre, post }`. */
export const stateChanges = (hash) => evm('debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } });
/** What contracts printed. */
export const consoleLines = (hash) => evm('debug_traceTransaction', hash, { tracer: 'consoleTracer' });
/** The first `limit` instructions. */
export const steps = (hash, limit) => evm('debug_traceTransaction', hash, { limit, enableMemory: true, enableReturnData: false });

/**
 * The reason of a failure in the node's words, or null. The call is executed again on the state before the block;
 * the text counts only if it fails with the same data.
 */
export async function reasonOf(tx, top) {
  const call = { from: tx.from, to: tx.to ?? undefined, data: tx.input, value: tx.value, gas: tx.gas };
  const block = `0x${(BigInt(tx.blockNumber) - 1n).toString(16)}`;
  const error = await evm('evm_call', call, block).then(() => null, (failure) => failure);
  if (error && (error.data ?? '0x') === (top?.output ?? '0x') && !error.lost) return error.message;
  return top?.error ?? null;
}

/** A call as a text: `Store.store(v: 42)`, or its selector. */
export function callName({ type, to, input, names }) {
  if (names?.function || names?.contract) {
    const args = (names.arguments ?? []).map(({ name, value }) => (name ? `${name}: ${value}` : value)).join(', ');
    const owner = names.contract ? `${names.contract}.` : '';
    if (names.function) return `${owner}${names.function}(${args})`;
    if (!input || input === '0x') return `${names.contract} receives`;
    return `${owner}${input.slice(0, 10)}`;
  }
  if (type?.startsWith('CREATE')) return 'new contract';
  if (!input || input === '0x') return to ? 'transfer' : 'new contract';
  return `${input.slice(0, 10)}(…)`;
}
