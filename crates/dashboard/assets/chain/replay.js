// Past notifications of the X-Chain, read over a websocket of their own within a bound.

import { node, socketOf } from './node.js';

const IDLE_MS = 400;

/**
 * Reads notifications of `xvm.subscribe` from a height on until `take(item)` returns true, nothing more comes,
 * or the bound is reached. Resolves to `found`, `end` or `bound`.
 */
export function replay(params, take, { signal, atMost = 20_000, deadlineMs = 8000 } = {}) {
  return new Promise((resolve) => {
    const socket = new WebSocket(socketOf(node.x.socket));
    let seen = 0;
    let idle = null;
    const deadline = setTimeout(() => finish('bound'), deadlineMs);
    const finish = (how) => {
      clearTimeout(deadline);
      clearTimeout(idle);
      socket.onclose = null;
      socket.close();
      resolve(how);
    };
    signal?.addEventListener('abort', () => finish('bound'), { once: true });
    socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'xvm.subscribe', params: { fromHeight: '0', ...params } }));
    socket.onclose = () => finish('bound');
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.error) return finish('bound');
      clearTimeout(idle);
      idle = setTimeout(() => finish('end'), IDLE_MS);
      const item = message.params?.result;
      if (!item) return undefined;
      seen += 1;
      if (take(item)) return finish('found');
      if (seen >= atMost) return finish('bound');
      return undefined;
    };
  });
}
