// viem 2 over a websocket of a development node: `node viem2-ws.mjs URL`.
import assert from 'node:assert/strict';
import { createPublicClient, createWalletClient, getContract, parseAbi, webSocket } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { steps, until } from './check.mjs';
import { CHAIN_ID, FIRST, FIRST_KEY, NOBODY, STORE, STORE_CODE, cuttable, viemChain } from './evm.mjs';

const way = await cuttable(process.argv[2]);
const chain = viemChain({ http: [], webSocket: [way.url] });
const transport = webSocket(way.url, { reconnect: { delay: 20, attempts: 100 }, keepAlive: false });
const options = { chain, transport, cacheTime: 0, pollingInterval: 20 };
const node = createPublicClient(options);
const wallet = createWalletClient({ ...options, account: privateKeyToAccount(FIRST_KEY) });
const abi = parseAbi(STORE);
let store;

const done = async (hash) => {
  const receipt = await node.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, 'success');
  return receipt;
};
/** What a watcher is told, and how to end it. */
const watching = (watch) => {
  const heard = [];
  const stop = watch((more) => heard.push(...[more].flat()));
  return { heard, stop };
};
/** What is asked after a subscription is answered after it. */
const settled = () => node.getBlockNumber();
const puts = (onLogs) => node.watchContractEvent({ abi, address: store.address, eventName: 'Put', onLogs });
const keys = ({ heard }) => heard.map(({ args }) => args.key);

await steps([
  ['calls and transactions', async () => {
    assert.equal(await node.getChainId(), CHAIN_ID);
    await done(await wallet.sendTransaction({ to: NOBODY, value: 5n }));
    assert.equal(await node.getBalance({ address: NOBODY }), 5n);
    const { contractAddress } = await done(await wallet.deployContract({ abi, bytecode: STORE_CODE }));
    store = getContract({ abi, address: contractAddress, client: { public: node, wallet } });
  }],

  ['blocks, pending transactions, events of a contract', async () => {
    const numbers = watching((onBlockNumber) => node.watchBlockNumber({ onBlockNumber }));
    const pending = watching((onTransactions) => node.watchPendingTransactions({ onTransactions }));
    const events = watching(puts);
    await settled();
    const receipt = await done(await store.write.put([3n, 4n]));
    await until('all is told', () => events.heard.length && pending.heard.length
      && numbers.heard.includes(receipt.blockNumber));
    assert.deepEqual(events.heard[0].args, { who: FIRST, key: 3n, value: 4n });
    assert.ok(pending.heard.includes(receipt.transactionHash));
    [numbers, pending, events].forEach(({ stop }) => stop());
  }],

  ['a watcher lives through a new connection', async () => {
    const events = watching(puts);
    const heads = watching((onBlockNumber) => node.watchBlockNumber({ onBlockNumber }));
    await settled();
    await done(await store.write.put([5n, 1n]));
    await until('it is told', () => events.heard.length === 1);
    way.cut();
    // Until the library has subscribed again it hears nothing; it tells nobody when that is.
    let key = 6n;
    await until('it is told again', async () => {
      await node.getBlockNumber().catch(() => {});
      const hash = await store.write.put([key, 1n]).catch(() => null);
      if (hash) key += 1n;
      return events.heard.length > 1;
    });
    const [first, ...later] = keys(events);
    assert.equal(first, 5n);
    assert.ok(later.every((told) => told >= 6n && told < key));
    assert.ok(heads.heard.length > 1);
    [events, heads].forEach(({ stop }) => stop());
  }],
]);
way.close();
process.exit(0);
