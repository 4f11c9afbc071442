// viem 2 against the EVM chain of a development node: `node viem2.mjs URL`.
import assert from 'node:assert/strict';
import {
  BaseError, ContractFunctionRevertedError, createPublicClient, createWalletClient, getContract, http,
  parseAbi, parseEventLogs, recoverMessageAddress, recoverTypedDataAddress,
} from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { steps, until } from './check.mjs';
import {
  CHAIN_ID, FIRST, GWEI, IS_ETHEREUM, LEAST_BASE_FEE, NOBODY, PATIENT, PHRASE, STORE, STORE_CODE, TRANSFER_GAS, UNIT, rpcOf,
  viemChain,
} from './evm.mjs';

const FUNDS = 10_000n * UNIT;

const url = rpcOf(process.argv[2]);
const chain = viemChain({ http: [url] });
const bodies = [];
const transport = http(url, {
  ...PATIENT,
  batch: true,
  onFetchRequest: (_request, { body }) => {
    bodies.push(JSON.parse(body));
  },
});
// Blocks follow within milliseconds: an answer kept for a while would be an old one.
const common = { chain, transport, cacheTime: 0, pollingInterval: 20 };
const node = createPublicClient(common);
/** A wallet of account N of the phrase. */
const wallet = (n) => createWalletClient({ ...common, account: mnemonicToAccount(PHRASE, { addressIndex: n }) });
const first = wallet(0);
const second = wallet(1);
const third = wallet(2);
const abi = parseAbi(STORE);

const done = (hash) => node.waitForTransactionReceipt({ hash });

/** The error with which a promise ends; `name` is that of it or of one of its causes. */
async function failure(name, promise) {
  const error = await promise.then(() => undefined, (e) => e);
  assert.ok(error instanceof BaseError, `${name} was expected: ${error}`);
  const found = error.walk((e) => e.name === name);
  assert.ok(found, `${name} was expected: ${error}`);
  return found;
}

let store;

await steps([
  ['network and accounts', async () => {
    assert.equal(await node.getChainId(), CHAIN_ID);
    assert.equal(first.account.address, FIRST);
    assert.equal(await node.getBlockNumber(), 0n);
    assert.equal(await node.getBalance({ address: FIRST }), FUNDS);
    assert.equal(await node.getTransactionCount({ address: FIRST }), 0);
    assert.ok((await node.getGasPrice()) >= LEAST_BASE_FEE);
    const fees = await node.estimateFeesPerGas();
    assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas);
    assert.equal(await node.estimateGas({ account: FIRST, to: NOBODY, value: 1n }), TRANSFER_GAS);
  }],

  ['transfer with the defaults', async () => {
    const hash = await first.sendTransaction({ to: NOBODY, value: 5n });
    const receipt = await done(hash);
    assert.deepEqual([receipt.status, receipt.type, receipt.gasUsed], ['success', 'eip1559', TRANSFER_GAS]);
    const paid = receipt.gasUsed * receipt.effectiveGasPrice;
    assert.equal(await node.getBalance({ address: FIRST }), FUNDS - 5n - paid);
    const mined = await node.getTransaction({ hash });
    assert.deepEqual([mined.blockHash, mined.from], [receipt.blockHash, FIRST.toLowerCase()]);
    assert.equal(await node.getTransactionConfirmations({ hash }), 1n);
    const found = await node.getTransaction({ blockHash: receipt.blockHash, index: 0 });
    assert.equal(found.hash, hash);
  }],

  ['legacy, access-list and EIP-1559 transactions', async () => {
    const accessList = [{ address: NOBODY, storageKeys: [`0x${'01'.padStart(64, '0')}`] }];
    const fees = { maxFeePerGas: 60n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    const forms = [
      { type: 'legacy', gasPrice: 50n * GWEI },
      { type: 'eip2930', gasPrice: 50n * GWEI, accessList },
      { type: 'eip1559', ...fees },
      { type: 'eip1559', ...fees, accessList },
    ];
    for (const form of forms) {
      const hash = await second.sendTransaction({ to: NOBODY, value: 1n, ...form });
      const receipt = await done(hash);
      assert.deepEqual([receipt.status, receipt.type], ['success', form.type]);
      // 2,400 for the address and 1,900 for the key.
      assert.equal(receipt.gasUsed, TRANSFER_GAS + (form.accessList ? 4_300n : 0n));
      const block = await node.getBlock({ blockHash: receipt.blockHash });
      assert.equal(receipt.effectiveGasPrice, form.gasPrice ?? block.baseFeePerGas + fees.maxPriorityFeePerGas);
      const mined = await node.getTransaction({ hash });
      assert.deepEqual(mined.accessList, form.type === 'legacy' ? undefined : (form.accessList ?? []));
      assert.equal(mined.chainId, CHAIN_ID);
    }
  }],

  ['deploy', async () => {
    const hash = await first.deployContract({ abi, bytecode: STORE_CODE, value: 7n });
    const { contractAddress } = await done(hash);
    store = getContract({ abi, address: contractAddress, client: { public: node, wallet: first } });
    assert.equal(await store.read.owner(), FIRST);
    assert.equal(await node.getBalance({ address: store.address }), 7n);
    assert.ok(STORE_CODE.endsWith((await node.getCode({ address: store.address })).slice(2)));
  }],

  ['call, write, events', async () => {
    const { result, request } = await store.simulate.put([3n, 4n], { account: first.account });
    assert.equal(result, 0n);
    const receipt = await done(await first.writeContract(request));
    assert.deepEqual([await store.read.count(), await store.read.data([3n])], [1n, 4n]);
    assert.equal(await store.read.data([3n], { blockNumber: receipt.blockNumber - 1n }), 0n);
    const [event] = parseEventLogs({ abi, logs: receipt.logs });
    assert.equal(event.eventName, 'Put');
    assert.deepEqual(event.args, { who: FIRST, key: 3n, value: 4n });
    assert.equal(BigInt(await node.getStorageAt({ address: store.address, slot: '0x0' })), 1n);
    const note = await done(await store.write.note(['grüße']));
    assert.equal(parseEventLogs({ abi, logs: note.logs, eventName: 'Note' })[0].args.text, 'grüße');
  }],

  ['reverts: reason, custom error, panic, nothing', async () => {
    const cases = [
      [store.simulate.reason(), { errorName: 'Error', args: ['not today'] }],
      [store.estimateGas.reason({ account: FIRST }), { errorName: 'Error', args: ['not today'] }],
      [store.write.reason(), { errorName: 'Error', args: ['not today'] }],
      [store.read.custom({ account: FIRST }), { errorName: 'Denied', args: [FIRST, 42n] }],
      [store.read.check(), { errorName: 'Panic', args: [0x01n] }],
      [store.read.div([1n, 0n]), { errorName: 'Panic', args: [0x12n] }],
    ];
    for (const [promise, expected] of cases) {
      const error = await failure('ContractFunctionRevertedError', promise);
      const { errorName, args } = error.data ?? {};
      assert.deepEqual(error.data ? { errorName, args } : error.reason, expected);
    }
    const empty = await store.read.empty().then(() => undefined, (e) => e);
    assert.ok(empty instanceof BaseError && /revert/.test(empty.message), String(empty));
    assert.equal(empty.walk((e) => e instanceof ContractFunctionRevertedError)?.data, undefined);
  }],

  ['a reverted transaction', async () => {
    const receipt = await done(await store.write.reason({ gas: 100_000n }));
    assert.equal(receipt.status, 'reverted');
    assert.equal(await store.read.count(), 1n);
  }],

  ['block tags', async () => {
    const latest = await node.getBlock();
    assert.equal((await node.getBlock({ blockHash: latest.hash })).number, latest.number);
    assert.equal((await node.getBlock({ blockTag: 'earliest' })).number, 0n);
    for (const blockTag of ['safe', 'finalized']) {
      assert.equal((await node.getBlock({ blockTag })).hash, latest.hash);
    }
    for (const blockTag of ['latest', 'pending', 'safe', 'finalized']) {
      assert.equal(await store.read.count({ blockTag }), 1n);
      assert.ok((await node.getBalance({ address: FIRST, blockTag })) < FUNDS);
    }
    assert.equal(await node.getBalance({ address: FIRST, blockTag: 'earliest' }), FUNDS);
    await failure('BlockNotFoundError', node.getBlock({ blockNumber: latest.number + 1_000_000n }));
    const full = await node.getBlock({ blockNumber: 1n, includeTransactions: true });
    assert.equal(full.transactions[0].value, 5n);
    assert.equal(await node.getBlockTransactionCount({ blockNumber: 1n }), 1);
  }],

  ['batches', async () => {
    bodies.length = 0;
    const answers = await Promise.all([
      node.getBlockNumber(),
      ...Array.from({ length: 20 }, (_, n) => node.getStorageAt({ address: store.address, slot: `0x${n.toString(16)}` })),
      store.read.custom({ account: FIRST }).catch((e) => e.walk((c) => c instanceof ContractFunctionRevertedError)),
    ]);
    assert.ok(bodies.some((body) => Array.isArray(body) && body.length >= 20));
    assert.equal(BigInt(answers[1]), 1n);
    assert.equal(answers.at(-1).data.errorName, 'Denied');
  }],

  ['replacement of a waiting transaction', async () => {
    const nonce = await node.getTransactionCount({ address: third.account.address });
    // It waits for the one before it.
    const form = { to: NOBODY, value: 11n, nonce: nonce + 1, gas: TRANSFER_GAS };
    const fees = (factor) => ({ maxFeePerGas: 50n * factor * GWEI, maxPriorityFeePerGas: factor * GWEI });
    const waiting = await third.sendTransaction({ ...form, ...fees(1n) });
    assert.equal((await node.getTransaction({ hash: waiting })).blockNumber, null);
    await failure('TransactionReceiptNotFoundError', node.getTransactionReceipt({ hash: waiting }));
    await assert.rejects(
      third.sendTransaction({ ...form, value: 12n, ...fees(1n) }),
      /replacement transaction underpriced/,
    );
    const replacing = await third.sendTransaction({ ...form, ...fees(2n) });
    await failure('TransactionNotFoundError', node.getTransaction({ hash: waiting }));
    const before = await node.getBalance({ address: NOBODY });
    await done(await third.sendTransaction({ to: NOBODY, value: 1n, nonce }));
    assert.equal((await done(replacing)).status, 'success');
    assert.equal((await node.getBalance({ address: NOBODY })) - before, 12n);
    assert.equal(await node.getTransactionCount({ address: third.account.address }), nonce + 2);
  }],

  ['what the pool refuses', async () => {
    const form = { to: NOBODY, gas: TRANSFER_GAS };
    await failure('NonceTooLowError', third.sendTransaction({ ...form, nonce: 0 }));
    await failure('InsufficientFundsError', third.sendTransaction({ ...form, value: FUNDS }));
    await failure('IntrinsicGasTooLowError', third.sendTransaction({ ...form, gas: 20_000n }));
    const low = { maxFeePerGas: 1n, maxPriorityFeePerGas: 0n };
    if (IS_ETHEREUM) {
      // As with geth it waits for a lower base fee.
      const waiting = await third.sendTransaction({ ...form, ...low });
      assert.equal((await node.getTransaction({ hash: waiting })).blockNumber, null);
    } else {
      await assert.rejects(third.sendTransaction({ ...form, ...low }), /transaction underpriced/);
    }
    await failure('FeeCapTooLowError', node.call({ account: third.account, to: NOBODY, ...low }));
  }],

  ['accounts on the node', async () => {
    const client = createWalletClient(common);
    const [, , , , , , account] = await client.getAddresses();
    assert.equal(account, wallet(6).account.address);
    const receipt = await done(await client.sendTransaction({ account, to: NOBODY, value: 1n }));
    assert.deepEqual([receipt.status, receipt.from], ['success', account.toLowerCase()]);
    const typed = {
      domain: { name: 'Client', version: '1', chainId: CHAIN_ID, verifyingContract: store.address },
      types: { Mail: [{ name: 'to', type: 'address' }, { name: 'text', type: 'string' }] },
      primaryType: 'Mail',
      message: { to: NOBODY, text: 'hello' },
    };
    const signature = await client.signTypedData({ account, ...typed });
    assert.equal(await recoverTypedDataAddress({ ...typed, signature }), account);
    assert.equal(signature, await wallet(6).signTypedData(typed));
  }],

  ['texts that the node signs', async () => {
    const client = createWalletClient(common);
    const [, , , , , , account] = await client.requestAddresses();
    const signature = await client.signMessage({ account, message: 'hello' });
    assert.equal(await recoverMessageAddress({ message: 'hello', signature }), account);
    assert.equal(signature, await wallet(6).signMessage({ message: 'hello' }));
  }],

  ['send and wait in one call, find it by sender and nonce', async () => {
    const sender = second.account.address;
    const nonce = await node.getTransactionCount({ address: sender });
    const receipt = await second.sendTransactionSync({ to: NOBODY, value: 1n, nonce });
    assert.deepEqual([receipt.status, receipt.from], ['success', sender.toLowerCase()]);
    assert.deepEqual(await node.getTransactionReceipt({ hash: receipt.transactionHash }), receipt);
    assert.equal((await node.getTransaction({ sender, nonce })).hash, receipt.transactionHash);
    await failure('TransactionNotFoundError', node.getTransaction({ sender, nonce: nonce + 1 }));
    const early = second.sendTransactionSync({ to: NOBODY, nonce: nonce + 5, timeout: 50 });
    await failure('WaitForTransactionReceiptTimeoutError', early);
  }],

  ['many reads in one call', async () => {
    const contracts = { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } };
    const reader = createPublicClient({ ...common, chain: { ...chain, contracts } });
    bodies.length = 0;
    const call = (functionName, args) => ({ abi, address: store.address, functionName, args });
    const answers = await reader.multicall({ contracts: [call('count'), call('data', [3n]), call('reason')] });
    assert.equal(bodies.flat().filter(({ method }) => method === 'eth_call').length, 1);
    assert.deepEqual(answers.slice(0, 2).map(({ result }) => result), [await store.read.count(), await store.read.data([3n])]);
    assert.match(answers[2].error.message, /not today/);
  }],

  ['overrides, fee history, an access list, a proof', async () => {
    const call = { abi, address: store.address, functionName: 'count' };
    const stateDiff = [{ slot: `0x${'0'.padStart(64, '0')}`, value: `0x${'63'.padStart(64, '0')}` }];
    assert.equal(await node.readContract({ ...call, stateOverride: [{ address: store.address, stateDiff }] }), 99n);
    const history = await node.getFeeHistory({ blockCount: 4, rewardPercentiles: [25, 75] });
    assert.deepEqual([history.baseFeePerGas.length, history.reward.length], [5, 4]);
    const { accessList } = await node.createAccessList({ account: FIRST, to: store.address, data: '0x06661abd' });
    assert.deepEqual(accessList, [{ address: store.address, storageKeys: [stateDiff[0].slot] }]);
    const proof = await node.getProof({ address: store.address, storageKeys: [stateDiff[0].slot] });
    assert.equal(proof.storageProof[0].value, 1n);
    assert.equal(proof.balance, 7n);
  }],

  ['logs: pages, topics, filters, watchers', async () => {
    await done(await store.write.many([20n]));
    const last = await node.getBlockNumber();
    const put = abi.find((item) => item.type === 'event' && item.name === 'Put');
    const { address } = store;
    const place = (log) => [log.blockNumber, log.logIndex, log.data];
    const whole = await node.getLogs({ address, fromBlock: 0n, toBlock: 'latest' });
    assert.equal(whole.length, 1 + 2 + 20);
    const paged = [];
    for (let fromBlock = 0n; fromBlock <= last; fromBlock += 3n) {
      const toBlock = fromBlock + 2n < last ? fromBlock + 2n : last;
      paged.push(...(await node.getLogs({ address: [address], fromBlock, toBlock })));
    }
    assert.deepEqual(paged.map(place), whole.map(place));
    const { blockHash } = whole.at(-1);
    assert.equal((await node.getLogs({ blockHash, address })).length, 20);
    const some = await node.getLogs({ address, event: put, args: { key: [3n, 7n] }, fromBlock: 0n, strict: true });
    assert.deepEqual(some.map(({ args }) => [args.key, args.value]), [[3n, 4n], [3n, 9n], [7n, 49n]]);
    assert.deepEqual(await node.getLogs({ event: put, args: { who: NOBODY }, fromBlock: 0n }), []);

    const events = await node.createContractEventFilter({ abi, address, eventName: 'Put', fromBlock: 0n });
    const blocks = await node.createBlockFilter();
    const waiting = await node.createPendingTransactionFilter();
    assert.equal((await node.getFilterLogs({ filter: events })).length, 21);
    const receipt = await done(await store.write.put([5n, 6n]));
    const [event, ...others] = await node.getFilterChanges({ filter: events });
    assert.deepEqual([event.args, others], [{ who: FIRST, key: 5n, value: 6n }, []]);
    assert.deepEqual(await node.getFilterChanges({ filter: blocks }), [receipt.blockHash]);
    assert.deepEqual(await node.getFilterChanges({ filter: waiting }), [receipt.transactionHash]);
    assert.deepEqual(await node.getFilterChanges({ filter: events }), []);
    assert.equal(await node.uninstallFilter({ filter: events }), true);
    await assert.rejects(node.getFilterChanges({ filter: events }), /filter not found/);

    // Over HTTP a watcher is a filter that is asked again and again.
    let stop;
    const seen = new Promise((resolve) => {
      stop = node.watchContractEvent({ abi, address, eventName: 'Put', onLogs: resolve, poll: true });
    });
    const asked = bodies.length;
    const methods = () => bodies.slice(asked).flat().map(({ method }) => method);
    await until('the filter is asked', () => methods().includes('eth_getFilterChanges'));
    await done(await store.write.put([6n, 7n]));
    assert.deepEqual((await seen)[0].args, { who: FIRST, key: 6n, value: 7n });
    stop();
  }],
]);
