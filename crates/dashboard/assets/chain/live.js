// New blocks as they are accepted (websockets that reconnect, polling where there are none), and past notifications.

import { evm, node, socketOf, status, xvm } from './node.js';

const POLL_MS = 2000;
const LONGEST_WAIT_MS = 8000;

/**
 * Events: `state` (live, polling, lost), `evm` (header of a block), `x` (notification of a block),
 * `xtx` (notification of a transaction), `heights` (answer of /ext/status).
 */
class Live extends EventTarget {
  state = 'connecting';
  failures = 0;
  heights = null;

  start() {
    if (node.evm) this.evmSocket = this.open(node.evm.socket, (send) => send('evm_subscribe', ['newHeads']), 'evm');
    if (node.x) this.xSocket = this.open(node.x.socket, (send) => this.subscribeX(send), 'x');
    this.poll();
    addEventListener('online', () => this.retryNow());
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.retryNow(); });
  }

  subscribeX(send) {
    const from = this.nextX ? { fromHeight: String(this.nextX) } : {};
    send('xvm.subscribe', { kind: 'blocks', ...from });
    send('xvm.subscribe', { kind: 'transactions', ...from });
  }

  open(path, subscribe, kind) {
    const link = { kind, tries: 0, isOpen: false };
    const connect = () => {
      clearTimeout(link.timer);
      let socket;
      try {
        socket = new WebSocket(socketOf(path));
      } catch {
        return;
      }
      link.socket = socket;
      let id = 0;
      const send = (method, params) => socket.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }));
      socket.onopen = () => {
        link.tries = 0;
        link.isOpen = true;
        subscribe(send);
        this.update();
      };
      socket.onmessage = (event) => this.receive(kind, JSON.parse(event.data));
      socket.onclose = () => {
        link.isOpen = false;
        link.tries += 1;
        this.update();
        const wait = Math.min(250 * 2 ** link.tries, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
        link.timer = setTimeout(() => this.reconnect(link), wait);
      };
    };
    link.connect = connect;
    connect();
    return link;
  }

  // A websocket that fails writes to the console, so a lost node is asked over HTTP first.
  reconnect(link) {
    if (this.isDown) link.timer = setTimeout(() => this.reconnect(link), 500);
    else link.connect();
  }

  receive(kind, message) {
    if (message.error && kind === 'x' && /fromHeight/.test(message.error.message)) {
      this.nextX = null;
      this.xSocket.socket.close();
      return;
    }
    const result = message.params?.result;
    if (!result) return;
    if (kind === 'evm') this.emit('evm', result);
    else if ('txIDs' in result) {
      this.nextX = Number(result.height) + (result.removed ? 0 : 1);
      this.emit('x', result);
    } else this.emit('xtx', result);
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  async poll() {
    clearTimeout(this.pollTimer);
    const wasDown = this.isDown;
    try {
      const heights = node.chains.length ? await status() : await this.evmHeight();
      this.isDown = false;
      this.failures = 0;
      this.heights = heights;
      this.emit('heights', heights);
      if (wasDown) this.retryNow();
    } catch {
      this.isDown = true;
      this.failures += 1;
    }
    this.update();
    const wait = this.isDown ? Math.min(250 * 2 ** this.failures, LONGEST_WAIT_MS) : document.hidden ? 5 * POLL_MS : POLL_MS;
    this.pollTimer = setTimeout(() => this.poll(), wait);
  }

  async evmHeight() {
    return { chains: [{ alias: node.evm.alias, height: Number(await evm('evm_blockNumber')), pending: 0 }] };
  }

  /** Tries again at once. */
  retryNow() {
    for (const link of [this.evmSocket, this.xSocket]) {
      if (link && !link.isOpen && link.socket?.readyState === WebSocket.CLOSED && !this.isDown) link.connect();
    }
    if (this.isDown) this.poll();
  }

  update() {
    const links = [this.evmSocket, this.xSocket].filter(Boolean);
    const state = this.isDown ? 'lost' : links.every((link) => link.isOpen) ? 'live' : 'polling';
    if (state === this.state) return;
    this.state = state;
    this.emit('state', state);
  }

  /** Listens until the signal aborts. */
  on(name, listener, signal) {
    this.addEventListener(name, (event) => listener(event.detail), { signal });
  }
}

/** The one source of news of this page. */
export const live = new Live();

/** The last `count` blocks of the X-Chain, newest first. */
export async function lastXBlocks(count, signal) {
  const { height } = await xvm('xvm.getHeight', {}, signal);
  const heights = Array.from({ length: Math.min(count, Number(height) + 1) }, (_, i) => Number(height) - i);
  const blocks = await Promise.all(heights.map((at) => xvm('xvm.getBlockByHeight', { height: at, encoding: 'json' }, signal).catch(() => null)));
  return blocks.filter(Boolean).map(({ block }) => block);
}

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
