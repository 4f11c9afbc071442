// Forks of one source side by side, those of Esker and of anvil. Each asks the source through a proxy that counts its requests and delays
// each by 50 ms: `node fork-speed.mjs ESKER [ROUNDS] [esker|anvil]`. ESKER is the program; the last argument is the kind of the source.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import solc from 'solc';
import { encodeDeployData, encodeFunctionData } from 'viem';
import { ANVIL, freePort } from './anvil.mjs';

const [, , ESKER, ROUNDS = '3', SOURCE = 'esker'] = process.argv;
const DELAY_MS = 50;
const LIMIT_MS = 120_000;
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

/** Posts a body; the reply's text. */
const post = (port, body) =>
  new Promise((done, failed) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers, agent, timeout: LIMIT_MS }, (reply) => {
      const parts = [];
      reply.on('data', (part) => parts.push(part));
      reply.on('end', () => done(Buffer.concat(parts).toString()));
    });
    request.on('timeout', () => request.destroy(new Error(`no reply within ${LIMIT_MS} ms`)));
    request.on('error', failed);
    request.end(body);
  });

const call = async (port, method, ...params) => {
  const reply = JSON.parse(await post(port, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
  if (reply.error) throw new Error(`${method}: ${reply.error.message}`);
  return reply.result;
};

const pause = (ms) => new Promise((over) => setTimeout(over, ms));

/** Waits for a value that is not null. */
const until = async (what, ask) => {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const found = await ask().catch(() => null);
    if (found !== null && found !== undefined) return found;
    if (Date.now() > end) throw new Error(`${what} took longer than ${LIMIT_MS} ms`);
    await pause(2);
  }
};

/** Starts a node of a kind, a fork of a port if there is one. */
const start = async (kind, fork) => {
  const port = await freePort();
  const forked = fork ? ['--fork-url', `http://127.0.0.1:${fork}`] : [];
  // Each fork begins cold, those of anvil by --no-storage-caching.
  const alone = fork ? ['--fork-cache', 'off'] : [];
  const [program, args] = {
    esker: [ESKER, ['evm', '--silent', '--port', String(port), ...forked, ...alone]],
    anvil: [ANVIL, ['--silent', '--port', String(port), ...forked, ...(fork ? ['--no-storage-caching'] : [])]],
  }[kind];
  const child = spawn(program, args, { stdio: 'ignore' });
  await until(`the start of ${kind}`, () => call(port, 'eth_chainId'));
  return { port, stop: () => new Promise((ended) => child.once('exit', ended) && child.kill()) };
};

/** A proxy that counts and delays. */
const startProxy = (target) =>
  new Promise((started) => {
    const counts = { requests: 0, calls: 0 };
    const server = http.createServer((request, reply) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', async () => {
        const body = Buffer.concat(parts).toString();
        const parsed = JSON.parse(body);
        counts.requests += 1;
        counts.calls += Array.isArray(parsed) ? parsed.length : 1;
        await pause(DELAY_MS);
        const answer = await post(target, body).catch(() => null);
        if (answer === null) return reply.destroy();
        reply.writeHead(200, { 'content-type': 'application/json' });
        reply.end(answer);
      });
    });
    server.listen(0, '127.0.0.1', () => started({ port: server.address().port, counts, stop: () => server.close() }));
  });

const compile = () => {
  const sources = { 'Swap.sol': { content: readFileSync(new URL('fork-speed/Swap.sol', import.meta.url), 'utf8') } };
  const settings = { evmVersion: 'cancun', optimizer: { enabled: true, runs: 200 }, outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } };
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings })));
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  return output.contracts['Swap.sol'];
};

/** Deploys tokens A, B, C with pools A-B and B-C; the data of a swap from A to C. */
const prepare = async (port, account) => {
  const contracts = compile();
  const send = async (tx) => {
    const hash = await call(port, 'eth_sendTransaction', { from: account, gas: '0x600000', ...tx });
    const receipt = await until('a receipt', () => call(port, 'eth_getTransactionReceipt', hash));
    if (receipt.status !== '0x1') throw new Error(`a transaction failed: ${JSON.stringify(tx)}`);
    return receipt;
  };
  const deploy = async (name, ...args) => {
    const { abi, evm } = contracts[name];
    return (await send({ data: encodeDeployData({ abi, bytecode: `0x${evm.bytecode.object}`, args }) })).contractAddress;
  };
  const data = (name, functionName, ...args) => encodeFunctionData({ abi: contracts[name].abi, functionName, args });
  const tokens = [await deploy('Token', 'A'), await deploy('Token', 'B'), await deploy('Token', 'C')];
  const factory = await deploy('Factory');
  const router = await deploy('Router', factory);
  for (const [a, b] of [[0, 1], [1, 2]]) {
    await send({ to: factory, data: data('Factory', 'create', tokens[a], tokens[b]) });
    const found = await call(port, 'eth_call', { to: factory, data: data('Factory', 'getPair', tokens[a], tokens[b]) }, 'latest');
    const pair = `0x${found.slice(26)}`;
    for (const token of [tokens[a], tokens[b]]) await send({ to: token, data: data('Token', 'mint', pair, 10n ** 24n) });
    await send({ to: pair, data: data('Pair', 'sync') });
  }
  await send({ to: tokens[0], data: data('Token', 'mint', account, 10n ** 24n) });
  await send({ to: tokens[0], data: data('Token', 'approve', router, 10n ** 24n) });
  return { from: account, to: router, gas: '0x200000', data: data('Router', 'swap', 10n ** 18n, 1n, tokens, account) };
};

const unknown = (n) => `0x${(0x5eed0000n + BigInt(n)).toString(16).padStart(40, '0')}`;
const range = (count) => Array.from({ length: count }, (_, n) => n);
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** The swap twenty times in a row; the median time. */
const warm = async (port, swap) => {
  const times = [];
  for (const _ of range(20)) {
    const begun = performance.now();
    await call(port, 'eth_call', swap, 'latest');
    times.push(performance.now() - begun);
  }
  return median(times);
};

/** What is measured, each on a new fork. */
const scenarios = {
  'cold call of a swap': ({ port }, { swap }) => call(port, 'eth_call', swap, 'latest'),
  'swap as a transaction': async ({ port }, { swap }) => {
    const hash = await call(port, 'eth_sendTransaction', swap);
    const receipt = await until('a receipt', () => call(port, 'eth_getTransactionReceipt', hash));
    if (receipt.status !== '0x1') throw new Error('the swap failed');
  },
  '1,000 distinct accounts': ({ port }) => Promise.all(range(1000).map((n) => call(port, 'eth_getBalance', unknown(n), 'latest'))),
  'block of 200 transfers to unknown accounts': async ({ port }, { accounts }) => {
    await call(port, 'evm_setAutomine', false);
    const nonces = await Promise.all(accounts.map((from) => call(port, 'eth_getTransactionCount', from, 'latest')));
    const tx = (n) => {
      const sender = n % accounts.length;
      const nonce = `0x${(Number(nonces[sender]) + Math.floor(n / accounts.length)).toString(16)}`;
      return { from: accounts[sender], to: unknown(n), value: '0x1', gas: '0x5208', nonce };
    };
    await Promise.all(range(200).map((n) => call(port, 'eth_sendTransaction', tx(n))));
    await call(port, 'evm_mine');
    const block = await call(port, 'eth_getBlockByNumber', 'latest', false);
    if (block.transactions.length !== 200) throw new Error(`the block has ${block.transactions.length} transactions`);
  },
};

const source = await start(SOURCE);
const accounts = await call(source.port, 'eth_accounts');
const prepared = { accounts, swap: await prepare(source.port, accounts[0]) };
const proxy = await startProxy(source.port);
const took = {};
const note = (name, kind, ms, requests) => {
  took[name] ??= { esker: { ms: [], requests: [] }, anvil: { ms: [], requests: [] } };
  took[name][kind].ms.push(ms);
  took[name][kind].requests.push(requests);
};
for (const _ of range(Number(ROUNDS))) {
  for (const kind of ['esker', 'anvil']) {
    for (const [name, run] of Object.entries(scenarios)) {
      const before = proxy.counts.requests;
      const began = performance.now();
      const fork = await start(kind, proxy.port);
      note('start', kind, performance.now() - began, proxy.counts.requests - before);
      const [requests, begun] = [proxy.counts.requests, performance.now()];
      await run(fork, prepared);
      note(name, kind, performance.now() - begun, proxy.counts.requests - requests);
      if (name === 'cold call of a swap') {
        const counted = proxy.counts.requests;
        note('warm call of a swap', kind, await warm(fork.port, prepared.swap), proxy.counts.requests - counted);
      }
      await fork.stop();
    }
  }
  const alone = { esker: await start('esker'), anvil: await start('anvil') };
  for (const [kind, node] of Object.entries(alone)) {
    const swap = await prepare(node.port, accounts[0]);
    note('warm call without a fork', kind, await warm(node.port, swap), 0);
    await node.stop();
  }
}
for (const [name, { esker, anvil }] of Object.entries(took)) {
  const text = ({ ms, requests }) => `${median(ms).toFixed(1)} ms, ${median(requests)} requests`;
  console.log(`${name}: esker ${text(esker)}; anvil ${text(anvil)}`);
}
proxy.stop();
await source.stop();
process.exit(0);
