// Blocks of a live chain, executed again on forks of the blocks before them: what the transactions did and the state root must be the same.
//
// `node fork-blocks.mjs ESKER URL COMMAND KEY [BLOCKS] [FLAG...]`: ESKER is the program, COMMAND is `evm`, or `dev` where URL is that of a
// C-Chain, and KEY the private key of an account with funds, which sends random transactions to the live chain first. No other account may send
// meanwhile. The flags are given to each fork.
import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { createPublicClient, http, parseGwei, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { freePort } from './anvil.mjs';

const [, , ESKER, URL, COMMAND, KEY, BLOCKS = '5', ...FLAGS] = process.argv;
const LIMIT_MS = 120_000;
const TRANSACTIONS_A_BLOCK = 200;
/** Init code of a contract that stores its second word at the slot of its first one. */
const STORE = '0x600880600b6000396000f36020356000355500';
const SLOTS = 48;

const rpc = (url) => createPublicClient({ transport: http(url, { timeout: LIMIT_MS, retryCount: 0 }) });
const ask = (client, method, ...params) => client.request({ method, params });

/** Waits for a value that is not null. */
const until = async (what, find) => {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const found = await find().catch(() => null);
    if (found !== null && found !== undefined) return found;
    if (Date.now() > end) throw new Error(`${what} took longer than ${LIMIT_MS} ms`);
    await pause(50);
  }
};

/** Numbers that are the same in each run. */
let seed = 33;
const random = (below) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};

const word = (value) => value.toString(16).padStart(64, '0');

/** Transfers to new and to known accounts, values that are stored, changed and deleted, new contracts, and failures. */
const randomCall = (stores) => {
  const to = stores[random(stores.length)];
  const slot = word(BigInt(random(SLOTS)) << 192n);
  const choice = random(10);
  if (choice < 6) return { to, data: `0x${slot}${word(random(3))}`, gas: 100_000n };
  if (choice === 6) return { to, data: `0x${slot}${word(3 + random(3))}`, gas: 22_272n };
  if (choice === 7) return { data: STORE, gas: 200_000n };
  return { to: toHex(0xacc00000n + BigInt(random(60)), { size: 20 }), value: BigInt(random(3)), gas: 21_000n };
};

const account = privateKeyToAccount(KEY);
const live = rpc(URL);
const chainId = Number(await ask(live, 'eth_chainId'));
let nonce = Number(await ask(live, 'eth_getTransactionCount', account.address, 'latest'));

/** Sends a transaction to the live chain; its hash. */
const send = async (call) => {
  const fees = { maxFeePerGas: parseGwei('500'), maxPriorityFeePerGas: parseGwei('2') };
  const raw = await account.signTransaction({ chainId, nonce, type: 'eip1559', ...fees, ...call });
  nonce += 1;
  return ask(live, 'eth_sendRawTransaction', raw);
};
const receipt = (hash) => until(`the receipt of ${hash}`, () => ask(live, 'eth_getTransactionReceipt', hash));

const makeTraffic = async () => {
  const stores = [];
  for (const _ of [1, 2, 3]) stores.push((await receipt(await send({ data: STORE, gas: 200_000n }))).contractAddress);
  for (let block = 0; block < Number(BLOCKS); block += 1) {
    let newest;
    for (let count = 0; count < TRANSACTIONS_A_BLOCK; count += 1) newest = await send(randomCall(stores));
    await receipt(newest);
  }
};

/** A fork of a block, and the way to end it. */
const forkOf = async (block) => {
  const [port, other] = [await freePort(), await freePort()];
  const ports = COMMAND === 'dev' ? ['--evm-port', String(port), '--http-port', String(other)] : ['--port', String(port)];
  const forked = ['--fork-url', URL, '--fork-block', block, '--fork-keep-balances', '--fork-cache', 'off'];
  const child = spawn(ESKER, [COMMAND, '--silent', ...ports, ...forked, ...FLAGS], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((done) => child.once('exit', done));
  const client = rpc(`http://127.0.0.1:${port}`);
  const started = until('the start of the fork', () => ask(client, 'eth_chainId'));
  const failed = ended.then((code) => Promise.reject(new Error(`the fork ended with exit code ${code}`)));
  await Promise.race([started, failed]);
  failed.catch(() => {});
  return { client, stop: () => child.kill() && ended };
};

/** Executes the transactions of a block on a fork of its parent, with its time, its beneficiary and its random value. */
const again = async (block) => {
  const fork = await forkOf(block.parentHash);
  try {
    const run = (method, ...params) => ask(fork.client, method, ...params);
    await run('evm_setAutomine', false);
    await run('evm_setNextBlockTimestamp', block.timestamp);
    if (COMMAND === 'evm') {
      await run('evm_setBlockGasLimit', block.gasLimit);
      await run('anvil_setCoinbase', block.miner);
      await run('anvil_setNextBlockPrevRandao', block.mixHash);
    }
    for (const { hash } of block.transactions) await run('eth_sendRawTransaction', await ask(live, 'eth_getRawTransactionByHash', hash).catch(() => ask(live, 'debug_getRawTransaction', hash)));
    await run('evm_mine');
    return await run('eth_getBlockByNumber', 'latest', false);
  } finally {
    await fork.stop();
  }
};

const COMPARED = ['number', 'parentHash', 'timestamp', 'miner', 'gasLimit', 'gasUsed', 'baseFeePerGas', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'stateRoot'];
console.log(await ask(live, 'web3_clientVersion'));
await makeTraffic();
let [number, compared, transactions, sameHash] = [Number(await ask(live, 'eth_blockNumber')), 0, 0, 0];
for (; compared < Number(BLOCKS) && number > 0; number -= 1) {
  const block = await ask(live, 'eth_getBlockByNumber', toHex(number), true);
  if (block.transactions.length === 0) continue;
  const made = await again(block);
  const differing = COMPARED.filter((field) => made[field] !== block[field]);
  if (differing.length > 0) {
    const lines = differing.map((field) => `${field}: ${block[field]}, on the fork ${made[field]}`);
    throw new Error(`block ${number} with ${block.transactions.length} transactions differs:\n${lines.join('\n')}`);
  }
  compared += 1;
  transactions += block.transactions.length;
  sameHash += made.hash === block.hash ? 1 : 0;
}
if (compared === 0) throw new Error('no block has transactions');
console.log(`${compared} blocks with ${transactions} transactions are the same on forks, state roots included; ${sameHash} of them have the same hash`);
process.exit(0);
