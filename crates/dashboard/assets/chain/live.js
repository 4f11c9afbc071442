// New blocks as they are accepted (websockets that reconnect, else polling), past notifications, the stream of all chains.

import { evm, node, socketOf, status, xvm } from './node.js';
import { extraData } from '../format/bytes.js';

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
    // The page has just asked which chains the node has, and at which heights.
    this.heights = node.report;
    if (this.heights) this.pollTimer = setTimeout(() => this.poll(), POLL_MS);
    else this.poll();
    addEventListener('online', () => this.retryNow());
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) return;
      this.retryNow();
      this.poll();
    });
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
        if (document.hidden) this.poll();
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
    // Nobody looks, and a websocket that closes says when the node is lost.
    if (document.hidden && this.state === 'live') return;
    const wait = this.isDown ? Math.min(250 * 2 ** this.failures, LONGEST_WAIT_MS) : document.hidden ? 5 * POLL_MS : POLL_MS;
    this.pollTimer = setTimeout(() => this.poll(), wait);
  }

  async evmHeight() {
    return { chains: [{ alias: node.evm.alias, height: Number(await evm('evm_blockNumber')), pending: 0 }] };
  }

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

export const live = new Live();

/** The heights from a chain's last one on, newest first. Where the page knows it by a report, that takes no request. */
async function lastHeights(alias, count) {
  const known = (live.heights ?? node).chains.find((chain) => chain.alias === alias);
  const height = known?.height ?? Number(await evm('evm_blockNumber'));
  return Array.from({ length: Math.min(count, height + 1) }, (_, i) => height - i);
}

async function xBlocks(heights, signal) {
  const blocks = await Promise.all(heights.map((at) => xvm('xvm.getBlockByHeight', { height: at, encoding: 'json' }, signal).catch(() => null)));
  return blocks.filter(Boolean).map(({ block }) => block);
}

/** A busy node may pause for so long between two notifications. */
const IDLE_MS = 1000;

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

const KEPT = 200;
const GATHER_MS = 250;
/** Pause between two reads of blocks while they follow each other. */
const BUSY_MS = 1000;
/** How long a new row is marked. */
export const FRESH_MS = 1500;
const AT_ONCE = 20;

/** Rows `{ key, chain, kind, height, time, .. }`; `onChange(rows, freshKeys)` is called at most four times a second. */
export class Stream {
  rows = [];
  paused = false;
  heads = [];
  types = new Map();

  constructor(onChange, signal) {
    this.onChange = onChange;
    this.signal = signal;
    live.on('evm', (head) => this.takeHead(head), signal);
    live.on('x', (block) => this.takeX(block), signal);
    live.on('xtx', (item) => this.takeType(item), signal);
    live.on('heights', (heights) => this.takeHeights(heights), signal);
    document.addEventListener('visibilitychange', () => { this.gather(); this.later(); }, { signal });
  }

  /** Each chain is shown when its blocks are there. */
  async begin() {
    const fill = async (blocks, rows) => {
      this.add((await blocks).flatMap(rows), false);
      if (!this.signal.aborted) this.onChange(this.rows, this.types);
    };
    await Promise.all([
      node.evm ? fill(lastHeights(node.evm.alias, 12).then((heights) => this.evmBlocks(heights)), evmRows) : null,
      node.x ? fill(lastHeights('X', 8).then((heights) => xBlocks(heights, this.signal)), xRows) : null,
    ]);
    this.hasBegun = true;
  }

  async evmBlocks(heights) {
    const blocks = await Promise.all(heights.map((at) => evm('evm_getBlockByNumber', `0x${at.toString(16)}`, true).catch(() => null)));
    return blocks.filter(Boolean);
  }

  takeHead(head) {
    this.heads = [...this.heads, Number(head.number)].slice(-AT_ONCE);
    this.gather();
  }

  /** Reads the blocks of the last headers, but not while nobody looks. */
  gather() {
    if (document.hidden || !this.heads.length) return;
    this.timer ??= setTimeout(async () => {
      this.timer = null;
      this.gathered = performance.now();
      const heights = [...new Set(this.heads)];
      this.heads = [];
      const blocks = await this.evmBlocks(heights).catch(() => []);
      if (this.signal.aborted) return;
      if (heights.length) this.drop('C', Math.min(...heights));
      this.add(blocks.flatMap(evmRows), true);
    }, performance.now() - (this.gathered ?? -BUSY_MS) < BUSY_MS ? BUSY_MS : GATHER_MS);
  }

  takeX(block) {
    this.drop('X', Number(block.height));
    if (!block.removed) this.add(xRows({ ...block, txs: block.txIDs.map((txID) => ({ id: txID })) }), true);
  }

  takeType(item) {
    this.types.set(item.txID, item.type);
    if (this.types.size > KEPT * 2) this.types.delete(this.types.keys().next().value);
    this.later();
  }

  /** Notices blocks that were taken back, and new ones of which no websocket told. */
  takeHeights({ chains }) {
    if (!this.hasBegun) return;
    for (const { alias, height } of chains) {
      const chain = alias === node.x?.alias ? 'X' : alias === node.evm?.alias ? 'C' : null;
      const known = this.rows.find((row) => row.chain === chain && row.kind === 'block')?.height ?? -1;
      if (chain && known > height) this.drop(chain, height + 1);
      if (chain && known < height && !this.timer && !document.hidden) this.fetchNew(chain, known, height).catch(() => {});
    }
  }

  async fetchNew(chain, known, height) {
    const heights = Array.from({ length: Math.min(height - known, AT_ONCE) }, (_, i) => height - i);
    const rows = chain === 'C' ? (await this.evmBlocks(heights)).flatMap(evmRows) : (await xBlocks(heights, this.signal)).flatMap(xRows);
    this.drop(chain, Math.min(...heights));
    this.add(rows, true);
  }

  drop(chain, from) {
    const kept = this.rows.filter((row) => row.chain !== chain || row.height < from);
    if (kept.length !== this.rows.length) {
      this.rows = kept;
      this.later();
    }
  }

  add(rows, isNew) {
    const known = new Set(this.rows.map(({ key }) => key));
    const fresh = rows.filter(({ key }) => !known.has(key));
    if (isNew) for (const row of fresh) row.since = performance.now();
    // Then they are drawn as the others.
    if (isNew && fresh.length) setTimeout(() => this.later(), FRESH_MS);
    this.rows = [...fresh, ...this.rows].sort(newestFirst).slice(0, KEPT);
    this.later();
  }

  later() {
    this.drawTimer ??= setTimeout(() => {
      this.drawTimer = null;
      if (!this.signal.aborted && !this.paused && !document.hidden) this.onChange(this.rows, this.types);
    }, GATHER_MS);
  }
}

function newestFirst(a, b) {
  return b.time - a.time || a.chain.localeCompare(b.chain) || b.height - a.height || a.place - b.place;
}

function evmRows(block) {
  const height = Number(block.number);
  const time = Number(block.timestamp);
  const common = { chain: 'C', height, time };
  return [
    { ...common, kind: 'block', key: block.hash, place: 0, txs: block.transactions.length, gas: Number(block.gasUsed), extra: extraData(block.blockExtraData) },
    ...block.transactions.map((tx, i) => ({ ...common, kind: 'tx', key: tx.hash, place: i + 1, tx })),
  ];
}

function xRows(block) {
  const common = { chain: 'X', height: Number(block.height), time: Number(block.time) };
  return [
    { ...common, kind: 'block', key: block.id, place: 0, txs: block.txs.length },
    ...block.txs.map((tx, i) => ({ ...common, kind: 'tx', key: tx.id, place: i + 1, tx })),
  ];
}
