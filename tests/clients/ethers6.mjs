// ethers 6 against the EVM chain of a development node: `node ethers6.mjs URL`.
import assert from 'node:assert/strict';
import {
  Contract, ContractFactory, HDNodeWallet, JsonRpcProvider, NonceManager, Transaction, isError, verifyTypedData,
} from 'ethers';
import { steps, until } from './check.mjs';
import { CHAIN_ID, FIRST, GWEI, LEAST_BASE_FEE, NOBODY, PHRASE, STORE, STORE_CODE, TRANSFER_GAS, UNIT, rpcOf } from './evm.mjs';

const FUNDS = 10_000n * UNIT;

// Blocks follow within milliseconds: an answer kept for the usual 250 ms would be an old one.
const provider = new JsonRpcProvider(rpcOf(process.argv[2]), undefined, { cacheTimeout: -1, pollingInterval: 20 });
/** Account N of the phrase. */
const account = (n) => HDNodeWallet.fromPhrase(PHRASE, undefined, `m/44'/60'/0'/0/${n}`).connect(provider);
const first = account(0);
const second = account(1);
const third = account(2);

/** The error of ethers that a promise ends with. */
async function failure(code, promise) {
  let error;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  assert.ok(error, `${code} was expected`);
  assert.ok(isError(error, code), `${error.code}: ${error.message}`);
  return error;
}

let store;

await steps([
  ['network and accounts', async () => {
    assert.equal((await provider.getNetwork()).chainId, BigInt(CHAIN_ID));
    assert.equal(first.address, FIRST);
    assert.equal(await provider.getBlockNumber(), 0);
    for (let n = 0; n < 10; n += 1) {
      assert.equal(await provider.getBalance(account(n).address), FUNDS);
    }
    assert.equal(await provider.getTransactionCount(first), 0);
    assert.equal(await provider.getCode(first), '0x');
    const fees = await provider.getFeeData();
    assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas && fees.gasPrice >= LEAST_BASE_FEE);
  }],

  ['transfer with the defaults', async () => {
    const sent = await first.sendTransaction({ to: NOBODY, value: 5n });
    assert.equal(sent.type, 2);
    const receipt = await sent.wait();
    assert.equal(receipt.status, 1);
    assert.equal(receipt.gasUsed, TRANSFER_GAS);
    assert.equal(await provider.getBalance(NOBODY), 5n);
    assert.equal(await provider.getBalance(first), FUNDS - 5n - receipt.fee);
    assert.equal(await provider.getBalance(NOBODY, receipt.blockNumber - 1), 0n);
    const mined = await provider.getTransaction(sent.hash);
    assert.equal(mined.blockHash, receipt.blockHash);
    assert.equal(Transaction.from(mined).hash, sent.hash);
    assert.equal(Transaction.from(mined).from, FIRST);
  }],

  ['legacy, access-list and EIP-1559 transactions', async () => {
    const accessList = [{ address: NOBODY, storageKeys: [`0x${'01'.padStart(64, '0')}`] }];
    const fees = { maxFeePerGas: 60n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    const forms = [
      { type: 0, gasPrice: 50n * GWEI },
      { type: 1, gasPrice: 50n * GWEI, accessList },
      { type: 2, ...fees },
      { type: 2, ...fees, accessList },
    ];
    for (const form of forms) {
      const sent = await second.sendTransaction({ to: NOBODY, value: 1n, ...form });
      const receipt = await sent.wait();
      assert.deepEqual([receipt.status, receipt.type], [1, form.type]);
      // 2,400 for the address and 1,900 for the key.
      assert.equal(receipt.gasUsed, TRANSFER_GAS + (form.accessList ? 4_300n : 0n));
      const block = await provider.getBlock(receipt.blockNumber);
      const price = form.gasPrice ?? block.baseFeePerGas + form.maxPriorityFeePerGas;
      assert.equal(receipt.gasPrice, price);
      const mined = await provider.getTransaction(sent.hash);
      assert.deepEqual(mined.accessList ?? null, form.type === 0 ? null : (form.accessList ?? []));
      assert.equal(mined.chainId, BigInt(CHAIN_ID));
    }
  }],

  ['deploy', async () => {
    const deployed = await new ContractFactory(STORE, STORE_CODE, first).deploy({ value: 7n });
    await deployed.waitForDeployment();
    store = new Contract(await deployed.getAddress(), STORE, first);
    assert.equal(await store.owner(), FIRST);
    assert.equal(await provider.getBalance(store), 7n);
    assert.ok(STORE_CODE.endsWith((await store.getDeployedCode()).slice(2)));
    const receipt = await deployed.deploymentTransaction().wait();
    assert.equal(receipt.contractAddress, store.target);
  }],

  ['call, write, events', async () => {
    assert.equal(await store.put.staticCall(3n, 4n), 0n);
    assert.equal(await store.count(), 0n);
    const receipt = await (await store.put(3n, 4n)).wait();
    assert.deepEqual([await store.count(), await store.data(3n)], [1n, 4n]);
    assert.equal(await store.data(3n, { blockTag: receipt.blockNumber - 1 }), 0n);
    const [event] = receipt.logs;
    assert.equal(event.eventName, 'Put');
    assert.deepEqual([...event.args], [FIRST, 3n, 4n]);
    assert.equal(BigInt(await provider.getStorage(store, 0)), 1n);
    const note = await (await store.note('grüße')).wait();
    assert.equal(note.logs[0].args.text, 'grüße');
    assert.equal(note.logs.length, 2);
    const many = await (await store.many(20)).wait();
    assert.deepEqual(many.logs.map((log) => log.index), [...Array(20).keys()]);
  }],

  ['the environment of a call', async () => {
    const [number, chainId] = await store.env();
    assert.equal(Number(number), await provider.getBlockNumber());
    assert.equal(chainId, BigInt(CHAIN_ID));
  }],

  ['reverts: reason, custom error, panic, nothing', async () => {
    for (const ask of [() => store.reason.staticCall(), () => store.reason.estimateGas(), () => store.reason()]) {
      const error = await failure('CALL_EXCEPTION', ask());
      assert.deepEqual([error.reason, error.revert.name], ['not today', 'Error']);
    }
    const denied = await failure('CALL_EXCEPTION', store.custom());
    assert.equal(denied.revert.name, 'Denied');
    assert.deepEqual([...denied.revert.args], [FIRST, 42n]);
    for (const [ask, code] of [[() => store.check(), 0x01], [() => store.div(1, 0), 0x12]]) {
      const panic = await failure('CALL_EXCEPTION', ask());
      assert.equal(panic.revert.name, 'Panic');
      assert.deepEqual([...panic.revert.args], [code]);
    }
    const empty = await failure('CALL_EXCEPTION', store.empty());
    assert.ok(empty.revert === null && (empty.data === '0x' || empty.data === null), empty.message);
  }],

  ['a reverted transaction', async () => {
    const sent = await store.reason({ gasLimit: 100_000n });
    const error = await failure('CALL_EXCEPTION', sent.wait());
    assert.equal(error.receipt.status, 0);
    assert.equal(await store.count(), 1n);
  }],

  ['block tags', async () => {
    const latest = await provider.getBlock('latest');
    assert.equal((await provider.getBlock(latest.number)).hash, latest.hash);
    assert.equal((await provider.getBlock(latest.hash)).number, latest.number);
    assert.equal((await provider.getBlock('earliest')).number, 0);
    for (const tag of ['safe', 'finalized']) {
      assert.equal((await provider.getBlock(tag)).hash, latest.hash);
    }
    for (const tag of ['latest', 'pending', 'safe', 'finalized', latest.number, `0x${latest.number.toString(16)}`]) {
      assert.equal(await store.count({ blockTag: tag }), 1n);
      assert.ok((await provider.getBalance(FIRST, tag)) < FUNDS);
    }
    assert.equal(await provider.getBalance(FIRST, 'earliest'), FUNDS);
    assert.equal(await provider.getBlock(latest.number + 1_000_000), null);
    const full = await provider.getBlock(1, true);
    assert.equal(full.prefetchedTransactions[0].hash, full.transactions[0]);
    assert.equal(full.parentHash, (await provider.getBlock(0)).hash);
  }],

  ['batches', async () => {
    const sizes = [];
    const note = ({ action, payload }) => {
      if (action === 'sendRpcPayload' && Array.isArray(payload)) sizes.push(payload.length);
    };
    await provider.on('debug', note);
    const answers = await Promise.all([
      provider.getBlockNumber(),
      ...Array.from({ length: 20 }, (_, n) => provider.getStorage(store, n)),
      store.reason.staticCall().catch((error) => error.reason),
    ]);
    await provider.off('debug', note);
    assert.ok(Math.max(...sizes) >= 20, `batches of ${sizes}`);
    assert.equal(BigInt(answers[1]), 1n);
    assert.equal(answers.at(-1), 'not today');
  }],

  ['many senders and nonces at once', async () => {
    const managers = [3, 4, 5].map((n) => new NonceManager(account(n)));
    const sent = await Promise.all(
      managers.flatMap((manager) => Array.from({ length: 10 }, () => manager.sendTransaction({ to: NOBODY, value: 1n }))),
    );
    const receipts = await Promise.all(sent.map((tx) => tx.wait()));
    assert.ok(receipts.every(({ status }) => status === 1));
    for (const n of [3, 4, 5]) assert.equal(await provider.getTransactionCount(account(n)), 10);
  }],

  ['replacement of a waiting transaction', async () => {
    const nonce = await third.getNonce();
    // It waits for the one before it.
    const form = { to: NOBODY, value: 11n, nonce: nonce + 1, gasLimit: TRANSFER_GAS };
    const fees = (factor) => ({ maxFeePerGas: 50n * factor * GWEI, maxPriorityFeePerGas: factor * GWEI });
    const waiting = await third.sendTransaction({ ...form, ...fees(1n) });
    assert.equal((await provider.getTransaction(waiting.hash)).blockNumber, null);
    assert.equal(await provider.getTransactionReceipt(waiting.hash), null);
    await failure('REPLACEMENT_UNDERPRICED', third.sendTransaction({ ...form, value: 12n, ...fees(1n) }));
    const replacing = await third.sendTransaction({ ...form, ...fees(2n) });
    assert.equal(await provider.getTransaction(waiting.hash), null);
    const replaced = failure('TRANSACTION_REPLACED', waiting.wait());
    const before = await provider.getBalance(NOBODY);
    await (await third.sendTransaction({ to: NOBODY, value: 1n, nonce })).wait();
    assert.equal((await replacing.wait()).status, 1);
    const error = await replaced;
    assert.deepEqual([error.reason, error.replacement.hash], ['repriced', replacing.hash]);
    assert.equal((await provider.getBalance(NOBODY)) - before, 12n);
  }],

  ['what the pool refuses', async () => {
    const form = { to: NOBODY, gasLimit: TRANSFER_GAS };
    await failure('NONCE_EXPIRED', third.sendTransaction({ ...form, nonce: 0 }));
    const broke = HDNodeWallet.createRandom().connect(provider);
    await failure('INSUFFICIENT_FUNDS', broke.sendTransaction({ ...form, value: 1n, nonce: 0 }));
    await assert.rejects(third.sendTransaction({ ...form, gasLimit: 20_000n }), /intrinsic gas too low/);
    const other = await third.signTransaction({ ...form, type: 2, chainId: 1, nonce: 2, maxFeePerGas: 50n * GWEI });
    await assert.rejects(provider.broadcastTransaction(other), /invalid sender/);
  }],

  ['a transaction of no chain, as web3j signs them', async () => {
    const sender = account(8);
    const nonce = await provider.getTransactionCount(sender);
    const form = { type: 0, nonce, to: NOBODY, value: 3n, gasLimit: TRANSFER_GAS, gasPrice: 2n * GWEI };
    const tx = Transaction.from(form);
    assert.equal(tx.chainId, 0n);
    tx.signature = sender.signingKey.sign(tx.unsignedHash);
    const receipt = await (await provider.broadcastTransaction(tx.serialized)).wait();
    assert.deepEqual([receipt.status, receipt.from, receipt.hash], [1, sender.address, tx.hash]);
    assert.equal((await provider.getTransaction(tx.hash)).chainId, null);
  }],

  ['accounts on the node', async () => {
    const signer = await provider.getSigner(6);
    assert.equal(signer.address, account(6).address);
    const receipt = await (await signer.sendTransaction({ to: NOBODY, value: 1n })).wait();
    assert.deepEqual([receipt.status, receipt.from], [1, signer.address]);
    const domain = { name: 'Client', version: '1', chainId: CHAIN_ID, verifyingContract: store.target };
    const types = { Mail: [{ name: 'to', type: 'address' }, { name: 'text', type: 'string' }] };
    const mail = { to: NOBODY, text: 'hello' };
    const signature = await signer.signTypedData(domain, types, mail);
    assert.equal(verifyTypedData(domain, types, mail, signature), signer.address);
    assert.equal(signature, await account(6).signTypedData(domain, types, mail));
    assert.equal(await signer.signMessage('hello'), await account(6).signMessage('hello'));
    assert.equal(await signer._legacySignMessage('hello'), await account(6).signMessage('hello'));
  }],

  ['receipts of a block, an access list, a proof', async () => {
    const number = await provider.getBlockNumber();
    const receipts = await provider.send('eth_getBlockReceipts', ['latest']);
    assert.equal(receipts.length, (await provider.getBlock(number)).transactions.length);
    const { accessList } = await provider.send('eth_createAccessList', [
      { from: FIRST, to: store.target, data: store.interface.encodeFunctionData('data', [3n]) },
    ]);
    assert.equal(accessList[0].address.toLowerCase(), store.target.toLowerCase());
    const proof = await provider.send('eth_getProof', [store.target, ['0x0'], 'latest']);
    assert.equal(BigInt(proof.storageProof[0].value), 1n);
  }],

  ['logs: pages, topics, filters, listeners', async () => {
    const last = await provider.getBlockNumber();
    const place = (log) => [log.blockNumber, log.index, log.data];
    const whole = await provider.getLogs({ address: store.target, fromBlock: 0, toBlock: 'latest' });
    assert.equal(whole.length, 1 + 2 + 20);
    const paged = [];
    for (let fromBlock = 0; fromBlock <= last; fromBlock += 3) {
      const toBlock = Math.min(fromBlock + 2, last);
      paged.push(...(await provider.getLogs({ address: [store.target], fromBlock, toBlock })));
    }
    assert.deepEqual(paged.map(place), whole.map(place));
    const { blockHash, blockNumber } = whole.at(-1);
    assert.equal((await provider.getLogs({ blockHash, address: store.target })).length, 20);
    const three = await store.queryFilter(store.filters.Put(FIRST, [3n, 7n]), 0, 'latest');
    assert.deepEqual(three.map((event) => [...event.args]), [[FIRST, 3n, 4n], [FIRST, 3n, 9n], [FIRST, 7n, 49n]]);
    const none = await store.queryFilter(store.filters.Put(NOBODY), 0, blockNumber);
    assert.deepEqual(none, []);

    // More than an answer holds: the error tells where to end a page.
    for (let n = 0; n < 2; n += 1) await (await store.many(6_000n)).wait();
    const all = { address: store.target, topics: [store.interface.getEvent('Put').topicHash] };
    const head = await provider.getBlockNumber();
    const sizes = [];
    let pages = 0;
    for (let fromBlock = 0, toBlock = head; fromBlock <= head; pages += 1) {
      const [logs, error] = await provider.getLogs({ ...all, fromBlock, toBlock }).then((l) => [l], (e) => [null, e]);
      if (logs) {
        sizes.push(logs.length);
        [fromBlock, toBlock] = [toBlock + 1, head];
      } else {
        assert.equal(error.error.code, -32005);
        assert.equal(Number(error.error.data.from), fromBlock);
        toBlock = Number(error.error.data.to);
      }
    }
    assert.deepEqual([sizes, pages], [[6_021, 6_000], 3]);

    // Over HTTP a listener is a filter that is asked again and again.
    const sent = new Map();
    const answered = new Set();
    const note = ({ action, payload, result }) => {
      if (action === 'sendRpcPayload') [payload].flat().forEach(({ id, method }) => sent.set(id, method));
      if (action === 'receiveRpcResult') [result].flat().forEach(({ id }) => answered.add(sent.get(id)));
    };
    await provider.on('debug', note);
    const put = new Promise((resolve) => {
      void store.on(store.filters.Put(null, 5n), ({ args }) => resolve([...args]));
    });
    const block = new Promise((resolve) => {
      void provider.on('block', resolve);
    });
    await until('the filter is asked', () => answered.has('eth_getFilterChanges'));
    const receipt = await (await store.put(5n, 6n)).wait();
    assert.deepEqual(await put, [FIRST, 5n, 6n]);
    assert.ok((await block) <= receipt.blockNumber);
    await store.removeAllListeners();
    await provider.off('block');
    await until('the filter is gone', () => answered.has('eth_uninstallFilter'));
    await provider.off('debug', note);
  }],
]);
provider.destroy();
