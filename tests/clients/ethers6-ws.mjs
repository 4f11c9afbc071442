// ethers 6 over a websocket of a development node: `node ethers6-ws.mjs URL`.
import assert from 'node:assert/strict';
import { Contract, ContractFactory, Wallet, WebSocketProvider } from 'ethers';
import { steps } from './check.mjs';
import { CHAIN_ID, FIRST, FIRST_KEY, NOBODY, STORE, STORE_CODE, cuttable } from './evm.mjs';

const way = await cuttable(process.argv[2]);
// Blocks follow within milliseconds: an answer kept for the usual 250 ms would be an old one.
const open = () => new WebSocketProvider(way.url, undefined, { cacheTimeout: -1 });
let provider = open();
let first = new Wallet(FIRST_KEY, provider);
let store;

/** The first thing that a listener is told. */
const once = (target, event) => new Promise((resolve) => void target.once(event, (...args) => resolve(args)));
/** A listener is there when its subscription was answered: what is asked after it is answered after it. */
const settled = () => provider.send('eth_blockNumber', []);

await steps([
  ['calls and transactions', async () => {
    assert.equal((await provider.getNetwork()).chainId, BigInt(CHAIN_ID));
    const receipt = await (await first.sendTransaction({ to: NOBODY, value: 5n })).wait();
    assert.equal(receipt.status, 1);
    assert.equal(await provider.getBalance(NOBODY), 5n);
    const deployed = await new ContractFactory(STORE, STORE_CODE, first).deploy();
    await deployed.waitForDeployment();
    store = new Contract(await deployed.getAddress(), STORE, first);
  }],

  ['blocks, pending transactions, events of a contract', async () => {
    const block = once(provider, 'block');
    const pending = once(provider, 'pending');
    const put = once(store, store.filters.Put(null, 5n));
    await settled();
    await (await store.put(4n, 1n)).wait();
    const receipt = await (await store.put(5n, 6n)).wait();
    assert.ok((await block)[0] <= receipt.blockNumber);
    assert.match((await pending)[0], /^0x[0-9a-f]{64}$/);
    const [{ args, log }] = await put;
    assert.deepEqual([...args], [FIRST, 5n, 6n]);
    assert.equal(log.blockHash, receipt.blockHash);
  }],

  ['many events of one block, in their order', async () => {
    const heard = [];
    const all = new Promise((resolve) => {
      void store.on('Put', (...args) => {
        heard.push(args.at(-1).log.index);
        if (heard.length === 50) resolve();
      });
    });
    await settled();
    await (await store.many(50n)).wait();
    await all;
    assert.deepEqual(heard, [...Array(50).keys()]);
    await store.removeAllListeners();
  }],

  ['a new connection hears what comes, and reads what it missed', async () => {
    const before = await provider.getBlockNumber();
    const gone = new Promise((resolve) => {
      provider.websocket.onclose = resolve;
    });
    way.cut();
    await gone;
    await provider.destroy().catch(() => {});
    provider = open();
    first = new Wallet(FIRST_KEY, provider);
    store = store.connect(first);
    await (await store.put(6n, 1n)).wait();
    const put = once(store, store.filters.Put(null, 7n));
    await settled();
    await (await store.put(7n, 2n)).wait();
    assert.deepEqual([...(await put)[0].args], [FIRST, 7n, 2n]);
    const since = await store.queryFilter('Put', before + 1);
    assert.deepEqual(since.map(({ args }) => args.key), [6n, 7n]);
  }],
]);
await provider.destroy();
way.close();
