// Events of the X-Chain over a plain websocket: `node x-events.mjs URL`.
import assert from 'node:assert/strict';
import { WebSocket as Installed } from 'ws';
import { FUNDED, FUNDED_KEY, OTHER, call, steps, until } from './check.mjs';

const WebSocket = globalThis.WebSocket ?? Installed;
const url = process.argv[2];
const X = '/ext/bc/X';
const USER = { username: 'watcher', password: 'Str0ng-Pass-W0rd!' };

/** A connection: calls by ID, and what each subscription was notified of. */
class Events {
  static async open() {
    const events = new Events();
    events.socket = new WebSocket(`${url.replace(/^http/, 'ws')}${X}/ws`);
    events.replies = new Map();
    events.heard = new Map();
    events.calls = 0;
    events.socket.onmessage = ({ data }) => {
      const { id, method, params, ...reply } = JSON.parse(data);
      if (method !== 'xvm.subscription') return events.replies.get(id)(reply);
      assert.ok(events.heard.has(params.subscription), 'the ID comes first');
      return events.heard.get(params.subscription).push(params.result);
    };
    await new Promise((resolve, reject) => {
      events.socket.onopen = resolve;
      events.socket.onerror = reject;
    });
    return events;
  }

  call(method, params) {
    this.calls += 1;
    const id = this.calls;
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return new Promise((resolve, reject) => {
      this.replies.set(id, ({ result, error }) => {
        if (error) return reject(new Error(error.message));
        if (result.subscription) this.heard.set(result.subscription, []);
        return resolve(result);
      });
    });
  }

  /** Subscribes; what will be heard. */
  async subscribe(params) {
    const { subscription } = await this.call('xvm.subscribe', params);
    return this.heard.get(subscription);
  }
}

const send = async (amount) => {
  const params = { ...USER, amount, assetID: 'NAT', to: `X-${OTHER}` };
  return (await call(url, X, 'xvm.send', params)).txID;
};
let events;
let utxos;
const sent = [];

await steps([
  ['a user', async () => {
    await call(url, '/ext/keystore', 'keystore.createUser', USER);
    await call(url, X, 'xvm.importKey', { ...USER, privateKey: FUNDED_KEY });
  }],

  ['blocks, transactions and UTXOs as they are accepted', async () => {
    events = await Events.open();
    const blocks = await events.subscribe({ kind: 'blocks' });
    const txs = await events.subscribe({ kind: 'transactions', encoding: 'json' });
    utxos = await events.subscribe({ kind: 'utxos', addresses: [`X-${OTHER}`] });
    for (let amount = 1; amount <= 3; amount += 1) sent.push(await send(amount));
    await until('all was heard', () => utxos.length === 3 && txs.length === 3 && blocks.length > 0);
    assert.deepEqual(txs.map(({ txID }) => txID), sent);
    assert.deepEqual(utxos.map(({ output }) => output.amount), ['1', '2', '3']);
    assert.deepEqual(utxos.map(({ change }) => change), ['created', 'created', 'created']);
    const { tx } = await call(url, X, 'xvm.getTx', { txID: sent[0], encoding: 'json' });
    assert.deepEqual(txs[0].tx, tx);
    const heights = blocks.map(({ height }) => BigInt(height));
    assert.ok(heights.every((height, at) => at === 0 || height === heights[at - 1] + 1n));
  }],

  ['what another connection has missed', async () => {
    const later = await Events.open();
    const heard = await later.subscribe({ kind: 'utxos', addresses: [`X-${OTHER}`], fromHeight: 0 });
    sent.push(await send(4));
    await until('the past and the present', () => heard.length === 4 && utxos.length === 4);
    assert.deepEqual(heard, utxos);
    later.socket.close();
  }],

  ['the set of UTXOs, made of nothing else', async () => {
    const heard = await events.subscribe({ kind: 'utxos', fromHeight: 0 });
    const last = sent.at(-1);
    const { tx } = await call(url, X, 'xvm.getTx', { txID: last, encoding: 'json' });
    const created = () => heard.filter(({ txID, change }) => txID === last && change === 'created');
    await until('all of the last transaction', () => created().length === tx.unsignedTx.outputs.length);
    const set = new Map();
    for (const { change, utxoID, output } of heard) {
      if (change === 'created') set.set(utxoID, output);
      if (change === 'consumed') assert.ok(set.delete(utxoID), utxoID);
    }
    for (const owner of [FUNDED, OTHER]) {
      const { numFetched } = await call(url, X, 'xvm.getUTXOs', { addresses: [`X-${owner}`] });
      const held = [...set.values()].filter(({ addresses }) => addresses.includes(`X-${owner}`));
      assert.equal(String(held.length), numFetched, owner);
    }
  }],

  ['errors', async () => {
    await assert.rejects(events.call('xvm.subscribe', { kind: 'heads' }), /no "heads" subscription/);
    await assert.rejects(events.call('xvm.unsubscribe', { subscription: '99' }), /subscription not found/);
    await assert.rejects(call(url, X, 'xvm.subscribe', { kind: 'blocks' }), /need a websocket/);
  }],
]);
process.exit(0);
