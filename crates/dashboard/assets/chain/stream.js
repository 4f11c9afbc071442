// The newest blocks and transactions of all chains as one list, newest first.

import { lastXBlocks, live } from './live.js';
import { evm, node, xvm } from './node.js';

const KEPT = 200;
const GATHER_MS = 250;
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
  }

  /** Reads the last blocks of both chains. */
  async begin() {
    const [x, c] = await Promise.all([node.x ? lastXBlocks(8, this.signal) : [], this.lastEvm(12)]);
    this.add([...x.flatMap(xRows), ...c.flatMap(evmRows)], false);
  }

  async lastEvm(count) {
    if (!node.evm) return [];
    const height = Number(await evm('evm_blockNumber'));
    return this.evmBlocks(Array.from({ length: Math.min(count, height + 1) }, (_, i) => height - i));
  }

  async evmBlocks(heights) {
    const blocks = await Promise.all(heights.map((at) => evm('evm_getBlockByNumber', `0x${at.toString(16)}`, true).catch(() => null)));
    return blocks.filter(Boolean);
  }

  takeHead(head) {
    this.heads.push(Number(head.number));
    this.gather();
  }

  gather() {
    this.timer ??= setTimeout(async () => {
      this.timer = null;
      const heights = [...new Set(this.heads)].slice(-AT_ONCE);
      this.heads = [];
      const blocks = await this.evmBlocks(heights).catch(() => []);
      if (this.signal.aborted) return;
      if (heights.length) this.drop('C', Math.min(...heights));
      this.add(blocks.flatMap(evmRows), true);
    }, GATHER_MS);
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

  /** Notices blocks that were taken back, and new ones where no websocket told of them. */
  takeHeights({ chains }) {
    for (const { alias, height } of chains) {
      const chain = alias === node.x?.alias ? 'X' : alias === node.evm?.alias ? 'C' : null;
      const known = this.rows.find((row) => row.chain === chain && row.kind === 'block')?.height ?? -1;
      if (chain && known > height) this.drop(chain, height + 1);
      if (chain && known < height && live.state !== 'live') this.fetchNew(chain, known, height);
    }
  }

  async fetchNew(chain, known, height) {
    const heights = Array.from({ length: Math.min(height - known, AT_ONCE) }, (_, i) => height - i);
    const rows = chain === 'C' ? (await this.evmBlocks(heights)).flatMap(evmRows)
      : (await Promise.all(heights.map((at) => xvm('xvm.getBlockByHeight', { height: at, encoding: 'json' })))).flatMap(({ block }) => xRows(block));
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
    this.rows = [...fresh, ...this.rows].sort(newestFirst).slice(0, KEPT);
    this.later();
  }

  later() {
    this.drawTimer ??= setTimeout(() => {
      this.drawTimer = null;
      if (!this.signal.aborted && !this.paused) this.onChange(this.rows, this.types);
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
    { ...common, kind: 'block', key: block.hash, place: 0, txs: block.transactions.length, gas: Number(block.gasUsed), atomic: block.blockExtraData?.length > 2 },
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
