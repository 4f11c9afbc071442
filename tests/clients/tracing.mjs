// The debug and txpool namespaces of an EVM chain through viem 2 and ethers 6: `node tracing.mjs URL`. What a trace says is
// held against receipts, calls and state.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Interface, JsonRpcProvider, Transaction, keccak256 } from 'ethers';
import {
  concat, createTestClient, createWalletClient, decodeErrorResult, encodeAbiParameters, encodeFunctionData, getContractAddress, http,
  numberToHex, parseAbi, publicActions, toFunctionSelector, walletActions,
} from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { steps, until } from './check.mjs';
import { FIRST, GWEI, IS_ETHEREUM, NOBODY, PATIENT, PHRASE, STORE, STORE_CODE, rpcOf, viemChain } from './evm.mjs';

const url = rpcOf(process.argv[2]);
const chain = viemChain({ http: [url] });
const account = mnemonicToAccount(PHRASE);
// `hardhat` and `anvil` are what viem knows; the methods that it asks for are the node's.
const client = (mode) => createTestClient({
  chain, mode, account, transport: http(url, PATIENT), cacheTime: 0, pollingInterval: 20,
}).extend(publicActions).extend(walletActions);
const viem = client('anvil');
const ethers = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 20 });
const abi = parseAbi(STORE);
const forms = new Interface(STORE);
const data = (functionName, args) => encodeFunctionData({ abi, functionName, args });

const trace = (method, ...params) => viem.request({ method: `debug_${method}`, params });
const CALLS = { tracer: 'callTracer', tracerConfig: { withLog: true } };
const PUT = 'Put(address,uint256,uint256)';
/** What contracts call to print. */
const CONSOLE = '0x000000000000000000636F6e736F6c652e6c6f67';

let store;
/** What was sent together: a contract, a call of it, a call that reverts. */
let sent;
let receipts;

/** An error's message, wherever a library puts it. */
async function refusal(promise) {
  const error = await promise.then(() => undefined, (e) => e);
  assert.ok(error, 'an error was expected');
  return error.error?.message ?? error.details ?? error.message;
}

await steps([
  ['three transactions of one block', async () => {
    store = getContractAddress({ from: FIRST, nonce: 0n });
    const common = { gas: 1_000_000n, maxFeePerGas: 60n * GWEI, maxPriorityFeePerGas: GWEI };
    const txs = [
      { data: STORE_CODE, value: 7n },
      { to: store, data: data('put', [3n, 4n]) },
      { to: store, data: data('reason', []) },
    ];
    sent = [];
    // The first one comes last: the others wait for it.
    for (const nonce of [1, 2, 0]) sent[nonce] = await viem.sendTransaction({ ...common, ...txs[nonce], nonce });
    receipts = await Promise.all(sent.map((hash) => viem.waitForTransactionReceipt({ hash })));
    assert.deepEqual(receipts.map((receipt) => receipt.blockNumber), [1n, 1n, 1n]);
    assert.deepEqual(receipts.map((receipt) => receipt.status), ['success', 'success', 'reverted']);
    assert.equal(receipts[0].contractAddress, store.toLowerCase());
  }],

  ['viem: frames of calls are what receipts say', async () => {
    for (const [at, receipt] of receipts.entries()) {
      const frame = await trace('traceTransaction', sent[at], CALLS);
      const tx = await viem.getTransaction({ hash: sent[at] });
      assert.deepEqual(
        [frame.type, frame.from, frame.to, BigInt(frame.value), frame.input, BigInt(frame.gas), BigInt(frame.gasUsed)],
        [
          at === 0 ? 'CREATE' : 'CALL', tx.from, tx.to ?? receipt.contractAddress, tx.value, tx.input, tx.gas,
          receipt.gasUsed,
        ],
      );
      const logs = (list) => (list ?? []).map(({ address, topics, data: bytes }) => ({ address, topics, data: bytes }));
      assert.deepEqual(logs(frame.logs), logs(receipt.logs));
      assert.equal(frame.error, receipt.status === 'success' ? undefined : 'execution reverted');
      assert.equal(frame.calls, undefined);
      if (at === 0) assert.equal(frame.output, await viem.getCode({ address: store }));
      if (at === 2) {
        assert.equal(frame.revertReason, 'not today');
        assert.deepEqual(decodeErrorResult({ abi, data: frame.output }).args, ['not today']);
      }
    }
  }],

  ['viem: a block by number, by hash, as bytes', async () => {
    const { number, hash } = await viem.getBlock({ blockNumber: 1n });
    const raw = await trace('getRawBlock', numberToHex(number));
    for (const config of [undefined, CALLS, { tracer: '4byteTracer' }]) {
      const alone = await Promise.all(sent.map((tx) => trace('traceTransaction', tx, config)));
      const expected = alone.map((result, at) => ({ txHash: sent[at], result }));
      assert.deepEqual(await trace('traceBlockByNumber', numberToHex(number), config), expected);
      assert.deepEqual(await trace('traceBlockByHash', hash, config), expected);
      assert.deepEqual(await trace('traceBlock', raw, config), expected);
    }
  }],

  ['viem: a traced call is the call', async () => {
    const put = { from: FIRST, to: store, data: data('put', [3n, 5n]) };
    const result = await viem.call({ account: FIRST, to: put.to, data: put.data });
    const frame = await trace('traceCall', put, 'latest', CALLS);
    assert.equal(frame.output, result.data);
    assert.equal(BigInt(frame.logs[0].data), 5n);
    const plain = await trace('traceCall', put, { blockNumber: '0x1' });
    // Only newer versions of geth, which chains with Ethereum's rules follow, have `0x`.
    const returned = IS_ETHEREUM ? result.data : result.data.slice(2);
    assert.deepEqual([plain.failed, plain.returnValue], [false, returned]);
    const denied = await trace('traceCall', { from: FIRST, to: store, data: data('custom', []) }, 'latest', CALLS);
    assert.deepEqual(decodeErrorResult({ abi, data: denied.output }).args, [FIRST, 42n]);
    // Before the block the contract was not there.
    assert.equal((await trace('traceCall', put, '0x0', CALLS)).output, undefined);
    const slot = numberToHex(0, { size: 32 });
    const stateDiff = [{ slot, value: numberToHex(99, { size: 32 }) }];
    const counted = await viem.readContract({
      abi, address: store, functionName: 'count', stateOverride: [{ address: store, stateDiff }],
    });
    const overridden = await trace('traceCall', { to: store, data: data('count', []) }, 'latest', {
      ...CALLS, stateOverrides: { [store]: { stateDiff: { [slot]: stateDiff[0].value } } },
    });
    assert.equal(BigInt(overridden.output), counted);
    const ahead = await trace('traceCall', { to: store, data: data('env', []) }, 'latest', {
      ...CALLS, blockOverrides: { number: '0x1234' },
    });
    assert.equal(BigInt(ahead.output.slice(0, 66)), 0x1234n);
  }],

  ['viem: every function of the console contract of Hardhat', async () => {
    const source = readFileSync(new URL('node_modules/hardhat/console.sol', import.meta.url), 'utf8');
    const signatures = new Set([...source.matchAll(/"(log\([^"]*\))"/g)].map(([, signature]) => signature));
    assert.ok(signatures.size >= 375, `${signatures.size} functions`);
    const values = { uint256: 7n, int256: -7n, string: 'a', bool: true, address: FIRST, bytes: '0x00ff' };
    for (const signature of signatures) {
      const types = signature.slice(4, -1).split(',').filter(Boolean);
      const given = types.map((type) => values[type] ?? `0x${'ab'.repeat(Number(type.slice(5)))}`);
      const encoded = encodeAbiParameters(types.map((type) => ({ type })), given);
      const call = { from: FIRST, to: CONSOLE, data: concat([toFunctionSelector(signature), encoded]) };
      const shown = given.map((value) => (typeof value === 'bigint' ? String(value) : value));
      assert.deepEqual(await trace('traceCall', call, 'latest', { tracer: 'consoleTracer' }), [{
        from: FIRST.toLowerCase(), depth: 0, text: shown.join(' '), signature,
        arguments: types.map((type, at) => ({ type, value: shown[at] })),
      }]);
    }
  }],

  ['viem: actions of a test client', async () => {
    const hash = await viem.sendTransaction({ to: NOBODY, value: 1n, gas: 21_000n, nonce: 50, maxFeePerGas: 60n * GWEI });
    const { pending, queued } = await viem.getTxpoolStatus();
    assert.deepEqual([pending, queued], [0, 1]);
    const content = await viem.getTxpoolContent();
    assert.equal(content.queued[FIRST][50].hash, hash);
    const shown = await viem.inspectTxpool();
    assert.match(shown.queued[FIRST][50], new RegExp(`^${NOBODY}: 1 wei \\+ 21000 gas`, 'i'));
    for (const mode of ['anvil', 'hardhat']) assert.equal(await client(mode).getAutomine(), true, mode);
  }],

  ['ethers: instructions lead to the receipt', async () => {
    for (const hash of sent) {
      const receipt = await ethers.getTransactionReceipt(hash);
      const plain = await ethers.send('debug_traceTransaction', [hash]);
      assert.deepEqual([BigInt(plain.gas), plain.failed], [receipt.gasUsed, receipt.status === 0]);
      const ops = plain.structLogs.map(({ op }) => op);
      assert.equal(ops.at(-1), receipt.status === 1 ? 'RETURN' : 'REVERT');
      assert.equal(ops.filter((op) => /^LOG/.test(op)).length, receipt.logs.length);
      assert.equal(plain.structLogs[0].gas - plain.structLogs[1].gas, plain.structLogs[0].gasCost);
    }
    const put = await ethers.send('debug_traceTransaction', [sent[1], { enableMemory: true, enableReturnData: true }]);
    const stored = put.structLogs.filter(({ op }) => op === 'SSTORE').map(({ stack }) => stack.slice(-2));
    assert.equal(stored.length, 2);
    for (const [value, slot] of stored) assert.equal(BigInt(await ethers.getStorage(store, slot)), BigInt(value));
    assert.ok(put.structLogs.at(-1).memory.length > 0);
    const short = await ethers.send('debug_traceTransaction', [sent[1], { limit: 3, disableStack: true, disableStorage: true }]);
    assert.deepEqual([short.structLogs.length, short.structLogs[0].stack], [3, undefined]);
  }],

  ['ethers: the state before and after', async () => {
    // Alone in its block, so that the block before has the state before.
    const sending = { from: FIRST, to: store, data: forms.encodeFunctionData('put', [8, 9]), gas: '0x186a0' };
    const hash = await ethers.send('eth_sendTransaction', [sending]);
    // `waitForTransaction` waits for one more block if this one comes between its two questions, which takes a send that missed its wait.
    let receipt;
    await until('the transaction has a receipt', async () => (receipt = await ethers.getTransactionReceipt(hash)));
    const { blockNumber } = receipt;
    const before = await ethers.send('debug_traceTransaction', [hash, { tracer: 'prestateTracer' }]);
    for (const [address, state] of Object.entries(before)) {
      assert.equal(BigInt(state.balance), await ethers.getBalance(address, blockNumber - 1), address);
      assert.equal(state.nonce ?? 0, await ethers.getTransactionCount(address, blockNumber - 1), address);
      assert.equal(state.code ?? '0x', await ethers.getCode(address, blockNumber - 1), address);
      for (const [slot, value] of Object.entries(state.storage ?? {})) {
        assert.equal(await ethers.getStorage(address, slot, blockNumber - 1), value);
      }
    }
    assert.ok(before[store.toLowerCase()].storage);
    const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
    const { post } = await ethers.send('debug_traceTransaction', [hash, config]);
    for (const [slot, value] of Object.entries(post[store.toLowerCase()].storage)) {
      assert.equal(await ethers.getStorage(store, slot, blockNumber), value);
    }
    const own = post[FIRST.toLowerCase()];
    assert.equal(BigInt(own.balance), await ethers.getBalance(FIRST, blockNumber));
    assert.equal(own.nonce, await ethers.getTransactionCount(FIRST, blockNumber));

    const { hash: blockHash } = await ethers.getBlock(blockNumber);
    const range = await ethers.send('debug_storageRangeAt', [blockHash, 0, store, '0x', 10]);
    const slots = Object.values(range.storage);
    assert.equal(slots.length, 3);
    // Of the state before the transaction.
    for (const { key, value } of slots) assert.equal(await ethers.getStorage(store, key, blockNumber - 1), value);
    const changed = await ethers.send('debug_getModifiedAccountsByNumber', [blockNumber]);
    assert.ok(changed.includes(store.toLowerCase()) && changed.includes(FIRST.toLowerCase()), String(changed));
  }],

  ['ethers: selectors, several tracers at once, flat frames', async () => {
    const selector = toFunctionSelector('put(uint256,uint256)');
    const counted = { [`${selector}-64`]: 1 };
    assert.deepEqual(await ethers.send('debug_traceTransaction', [sent[1], { tracer: '4byteTracer' }]), counted);
    const { gasUsed } = await ethers.getTransactionReceipt(sent[1]);
    const both = await ethers.send('debug_traceTransaction', [
      sent[1], { tracer: 'muxTracer', tracerConfig: { '4byteTracer': {}, callTracer: { onlyTopCall: true } } },
    ]);
    assert.deepEqual(both['4byteTracer'], counted);
    assert.equal(BigInt(both.callTracer.gasUsed), gasUsed);
    const [flat] = await ethers.send('debug_traceTransaction', [sent[2], { tracer: 'flatCallTracer' }]);
    const receipt = await ethers.getTransactionReceipt(sent[2]);
    assert.deepEqual(
      [flat.transactionHash, flat.blockHash, flat.transactionPosition, flat.error],
      [sent[2], receipt.blockHash, 2, 'execution reverted'],
    );
  }],

  ['ethers: bytes are what they name', async () => {
    const block = await ethers.getBlock(1);
    assert.equal(keccak256(await ethers.send('debug_getRawHeader', ['0x1'])), block.hash);
    for (const hash of sent) {
      const tx = Transaction.from(await ethers.send('debug_getRawTransaction', [hash]));
      assert.deepEqual([tx.hash, tx.from], [hash, FIRST]);
    }
    const raw = await ethers.send('debug_getRawReceipts', ['0x1']);
    assert.deepEqual(raw.map((bytes) => bytes.slice(0, 4)), ['0x02', '0x02', '0x02']);
    const topic = forms.getEvent(PUT).topicHash.slice(2);
    assert.deepEqual(raw.map((bytes) => bytes.includes(topic)), [false, true, false]);
  }],

  ['both: what is refused', async () => {
    const nothing = numberToHex(1, { size: 32 });
    for (const [method, params, text] of [
      ['debug_traceTransaction', [nothing], 'transaction not found'],
      ['debug_traceTransaction', [sent[0], { tracer: 'noTracer' }], 'noTracer is not defined'],
      ['debug_traceTransaction', [sent[0], { tracer: 'callTracer', timeout: 'soon' }], 'time: invalid duration "soon"'],
      ['debug_traceBlockByHash', [nothing], `block ${nothing} not found`],
      ['debug_traceBlockByNumber', ['0xffff'], 'cannot query unfinalized data'],
    ]) {
      const texts = [await refusal(ethers.send(method, params)), await refusal(viem.request({ method, params }))];
      for (const found of texts) assert.ok(found.includes(text), `${method}: ${found}`);
    }
  }],
]);
