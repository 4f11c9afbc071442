// The methods of `trace` here and on anvil: `node parity-traces.mjs URL`. The same transactions are made on both, and what the methods say of
// them has to be the same but for what docs/api/evm-trace.md names.
import assert from 'node:assert/strict';
import { steps, until } from './check.mjs';
import { startAnvil } from './control.mjs';
import { FIRST, rpcOf } from './evm.mjs';

const anvil = await startAnvil();
const nodes = [rpcOf(process.argv[2]), anvil.url];
const BOB = '70997970c51812dc3a010c7d01b50e0d17dc79c8';
const ALL = ['trace', 'stateDiff', 'vmTrace'];

async function rpc(url, method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = await reply.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function send(url, tx) {
  const hash = await rpc(url, 'eth_sendTransaction', { from: FIRST, gas: '0x1e8480', gasPrice: '0x77359400', ...tx });
  let receipt;
  await until('the transaction is in a block', async () => {
    receipt = await rpc(url, 'eth_getTransactionReceipt', hash);
    return receipt;
  });
  return receipt;
}

const hex = (number, bytes) => number.toString(16).padStart(bytes * 2, '0');
/** Init code of a contract: PUSH2 length, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN, and the code. */
const deploying = (code) => `0x61${hex(code.length / 2, 2)}80600a5f395ff3${code}`;
/** A call without data and with little gas, whose result is dropped. */
const call = (op, to, value = '5f') => `5f5f5f5f${['f1', 'f2'].includes(op) ? value : ''}73${to}61fffe${op}50`;

/** What each node has made: receipts by what was done. */
const made = new Map();
const each = (ask) => Promise.all(nodes.map(ask));

async function transactions(url) {
  const create = async (code) => (await send(url, { data: deploying(code) })).contractAddress.slice(2);
  const store = await create('602a5f5560205ff3');
  const reverter = await create('63deadbeef5f526004601cfd');
  const failing = [];
  // Endless, undefined, a wrong jump, too few items, a SELFDESTRUCT.
  for (const code of ['5b5f56', 'fe', '600156', '01', `73${BOB}ff`]) failing.push(await create(code));
  const inner = [['f1', store], ['f4', store], ['f2', store], ['fa', store], ['f1', reverter], ['f1', BOB, '6001']];
  const code = [...inner, ...failing.map((to) => ['f1', to])].map(([op, to, value]) => call(op, to, value)).join('');
  const nested = await create(`${code}00`);
  // CREATE and CREATE2 of a byte of code; CREATE of code that reverts.
  const maker = await create('6360015ff35f526004601c5ff0505f6004601c5ff550635f5ffd005f526004601c5ff05000');
  const txs = {
    transfer: { to: `0x${BOB}`, value: '0x5' },
    toNew: { to: `0x${'11'.repeat(20)}`, value: '0x5' },
    created: { data: deploying('00') },
    createdWithStorage: { data: '0x60075f556001600155005ff3', value: '0x9' },
    createdReverting: { data: '0x63deadbeef5f526004601cfd' },
    createdEndless: { data: '0x5b5f56', gas: '0x186a0' },
    createdDestroying: { data: '0x33ff', value: '0x3' },
    stored: { to: `0x${store}`, data: '0x1234' },
    reverted: { to: `0x${reverter}` },
    invalid: { to: `0x${failing[1]}`, gas: '0x186a0' },
    destroyed: { to: `0x${failing[4]}`, value: '0x7' },
    precompile: { to: `0x${await create(`${call('f1', '4'.padStart(40, '0'))}00`)}` },
    identity: { to: `0x${'4'.padStart(40, '0')}`, data: '0x1234' },
    nested: { to: `0x${nested}`, value: '0x2' },
    deeper: { to: `0x${await create(`${call('f1', nested)}${call('fa', store)}00`)}` },
    maker: { to: `0x${maker}`, value: '0x2' },
  };
  const receipts = {};
  for (const [what, tx] of Object.entries(txs)) receipts[what] = await send(url, tx);
  made.set(url, receipts);
}

/** Without what differs between two nodes: hashes of blocks and transactions. */
const plain = (traces) => traces.map(({ blockHash, transactionHash, ...trace }) => trace);

/** A replay without fees, and without what is known to differ in instructions. */
function plainReplay({ transactionHash, stateDiff, vmTrace, ...replay }) {
  const op = ({ cost, ex: { store, ...ex }, sub, ...rest }) => ({ ...rest, ex, sub: sub && vm(sub) });
  const vm = ({ code, ops }) => ops.map(op);
  const { balance, ...sender } = stateDiff[FIRST.toLowerCase()];
  const { '0x0000000000000000000000000000000000000000': coinbase, ...diff } = stateDiff;
  return { ...replay, stateDiff: { ...diff, [FIRST.toLowerCase()]: sender }, vmTrace: vm(vmTrace) };
}

/** Asks both nodes about each transaction. */
async function compare(ask) {
  for (const what of Object.keys(made.get(nodes[0]))) {
    const [ours, theirs] = await each((url) => ask(url, made.get(url)[what]));
    assert.deepEqual(ours, theirs, what);
  }
}

await steps([
  ['the same transactions on both', async () => {
    await each(transactions);
    await compare(async (url, { gasUsed, status, blockNumber }) => [gasUsed, status, blockNumber]);
  }],
  ['trace_transaction', () => compare(async (url, { transactionHash }) => plain(await rpc(url, 'trace_transaction', transactionHash)))],
  ['trace_block', () => compare(async (url, { blockNumber }) => plain(await rpc(url, 'trace_block', blockNumber)))],
  ['trace_replayBlockTransactions', () => compare(async (url, { blockNumber }) => (
    (await rpc(url, 'trace_replayBlockTransactions', blockNumber, ALL)).map(plainReplay)
  ))],
  ['trace_filter', async () => {
    const { nested, maker } = made.get(nodes[0]);
    const filters = [
      {}, { count: 3 }, { after: 2, count: 3 }, { after: 1e6 }, { count: 0 }, { fromBlock: '0x2', toBlock: '0x4' },
      { toAddress: [`0x${BOB}`] }, { fromAddress: [nested.to] }, { fromAddress: [nested.to], toAddress: [`0x${BOB}`, maker.to] },
      { fromAddress: [nested.to], toAddress: [`0x${BOB}`], mode: 'intersection' },
    ];
    for (const filter of filters) {
      const [ours, theirs] = await each(async (url) => plain(await rpc(url, 'trace_filter', filter)));
      assert.deepEqual(ours, theirs, JSON.stringify(filter));
    }
    for (const url of nodes) await assert.rejects(rpc(url, 'trace_filter', { fromBlock: '0x5', toBlock: '0x3' }), /block/);
  }],
  ['what only Esker has agrees with it', async () => {
    const [url] = nodes;
    for (const [what, { transactionHash, blockNumber, blockHash }] of Object.entries(made.get(url))) {
      const traces = await rpc(url, 'trace_transaction', transactionHash);
      for (const trace of traces) assert.deepEqual(await rpc(url, 'trace_get', transactionHash, trace.traceAddress), trace, what);
      assert.deepEqual(await rpc(url, 'trace_block', blockHash), traces, what);
      const [{ transactionHash: hash, ...block }] = await rpc(url, 'trace_replayBlockTransactions', blockNumber, ALL);
      assert.deepEqual(await rpc(url, 'trace_replayTransaction', transactionHash, ALL), block, what);
      const raw = await rpc(url, 'eth_getRawTransactionByHash', transactionHash);
      const before = `0x${(BigInt(blockNumber) - 1n).toString(16)}`;
      const { trace } = await rpc(url, 'trace_rawTransaction', raw, ['trace'], before);
      assert.deepEqual(trace, block.trace, what);
    }
  }],
  ['what is unknown', async () => {
    const unknown = `0x${'12'.repeat(32)}`;
    assert.deepEqual(await each((url) => rpc(url, 'trace_transaction', unknown)), [null, []]);
    assert.deepEqual(await each((url) => rpc(url, 'trace_block', '0xffffff')), [null, []]);
    assert.deepEqual(await each((url) => rpc(url, 'trace_block', 'earliest')), [[], []]);
    await assert.rejects(rpc(nodes[0], 'trace_replayTransaction', unknown, ['nope']), /unknown trace type/);
  }],
]);
anvil.stop();
