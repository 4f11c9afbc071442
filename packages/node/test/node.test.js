// The package against the binary that ESKER_BIN names.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { EskerError, RpcError, startNode, withNode } from 'esker-dev';

const OTHER = '0x00000000000000000000000000000000000000a1';
const PATIENCE_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'esker-dev-test-'));
after(() => rmSync(folder, { recursive: true }));

const height = async (node) => Number(await node.rpc('eth_blockNumber'));
const refused = (message) => ({ name: 'EskerError', message });

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    // One that nobody has waited for yet has ended, too.
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !readFileSync(stat, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

async function until(what, ask) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!ask()) {
    assert.ok(Date.now() < deadline, `still not so: ${what}`);
    await pause(10);
  }
}

test('accounts, addresses and calls', async () => {
  const mnemonic = `${'abandon '.repeat(11)}about`;
  let pid;
  const options = { accounts: 3, balance: 7n, timestamp: 2_000_000_000, mnemonic, args: ['--index-enabled'] };
  await withNode(options, async (node) => {
    ({ pid } = node);
    assert.equal(node.accounts.length, 3);
    const [first] = node.accounts;
    assert.equal(first.cAddress, '0x9858EfFD232B4033E47d90003D41EC34EcaEda94');
    assert.match(first.privateKey, /^0x[0-9a-f]{64}$/);
    assert.match(first.xPrivateKey, /^PrivateKey-/);
    const seven = `0x${(7n * 10n ** 18n).toString(16)}`;
    assert.equal(await node.rpc('eth_getBalance', [first.cAddress, 'latest']), seven);
    const { balance } = await node.rpc('xvm.getBalance', { address: first.xAddress, assetID: 'NAT' });
    assert.equal(balance, '7000000000');
    assert.equal((await node.rpc('info.getNetworkID')).networkID, '12345');
    assert.ok(await node.rpc('rpc.discover', {}, { path: '/ext/bc/X' }));
    assert.ok(await node.rpc('avax.version'));
    await assert.rejects(node.rpc('index.isAccepted', { id: 'x' }), { name: 'RpcError', method: 'index.isAccepted' });
    await assert.rejects(node.rpc('rpc.discover'), { name: 'TypeError', message: /which path/ });
    await assert.rejects(node.rpc('eth_no'), { name: 'RpcError', code: -32601, method: 'eth_no' });
    await assert.rejects(node.rpc('eth_chainId', [], { path: '/none' }), refused(/eth_chainId: status 404/));
    const reply = await fetch(node.evmUrl, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' }),
    });
    assert.equal((await reply.json()).result, '0xa868');
    assert.equal(node.wsUrl, `${node.url.replace('http:', 'ws:')}/ext/bc/C/ws`);
    assert.notEqual(node.evmUrl, node.url);
  });
  assert.ok(!isRunning(pid));
});

test('blocks, time and snapshots', async () => {
  await withNode(async (node) => {
    const id = await node.snapshot();
    await node.mine();
    await node.mine(2, 60);
    assert.equal(await height(node), 3);
    const now = await node.time();
    const later = await node.increaseTime(1000);
    assert.ok(later >= now + 1000 && later < now + 1060, `${now} ${later}`);
    assert.equal(await node.setTime(4_000_000_000), 4_000_000_000);
    await node.revert(id);
    assert.equal(await height(node), 0);
    assert.ok((await node.time()) < now + 1000);
    const gone = /^snapshot 1 is gone: it, or an earlier one, was reverted already, or the node was reset\n[^]*Try/;
    await assert.rejects(node.revert(id), refused(gone));
    await assert.rejects(node.setTime(5), (error) => error instanceof RpcError && /is lower than/.test(error.message));

    assert.equal(await node.isolated(async () => (await node.mine(2), height(node))), 2);
    assert.equal(await height(node), 0);
    const failure = new Error('of the test');
    await assert.rejects(node.isolated(async () => { await node.mine(2); throw failure; }), failure);
    assert.equal(await height(node), 0);
    await assert.rejects(node.isolated(() => node.rpc('dev.reset')), refused(/is gone/));

    const tx = { from: node.accounts[0].cAddress, to: OTHER, value: 5n };
    const receipt = await node.waitReceipt(await node.rpc('eth_sendTransaction', [tx]));
    assert.equal(receipt.status, '0x1');
    await assert.rejects(node.waitReceipt(`0x${'0'.repeat(64)}`, 50), refused(/^timed out after 0.05 s: waiting until a block has 0x0000/));
  });
});

test('answers that are none', async (t) => {
  let answer;
  const server = createHttpServer((request, response) => request.resume().on('end', () => answer(response)));
  server.listen(0, '127.0.0.1');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  await once(server, 'listening');
  await withNode(async (node) => {
    node.url = `http://127.0.0.1:${server.address().port}`;
    const error = '{"error":{"code":-32005,"message":"limit exceeded"}}';
    for (const [status, text, expected] of [
      [429, error, /^eth_chainId: status 429: .*limit exceeded/],
      [201, '{"result":1}', /^eth_chainId: status 201: /],
      [200, '', /^eth_chainId: unexpected reply: /],
      [200, 'null', /^eth_chainId: unexpected reply: null/],
      [200, '[1]', /^eth_chainId: unexpected reply: \[1\]/],
      [200, '{"id":1}', /^eth_chainId: unexpected reply: {"id":1}/],
      [200, '{"error":"no"}', /^eth_chainId: unexpected reply: {"error":"no"}/],
    ]) {
      answer = (response) => response.writeHead(status).end(text);
      await assert.rejects(node.rpc('eth_chainId'), refused(expected));
    }
    answer = (response) => response.end('{"result":null}');
    assert.equal(await node.rpc('eth_chainId'), null);
    answer = (response) => response.end(error);
    await assert.rejects(node.rpc('eth_chainId'), { name: 'RpcError', code: -32005, message: 'limit exceeded' });
    answer = (response) => {
      response.writeHead(200, { 'Content-Length': 1000 });
      response.write('{', () => response.destroy());
    };
    await assert.rejects(node.rpc('eth_chainId'), refused(/^eth_chainId: [^]*Try/));
  });
});

test('starts that fail say why', async () => {
  const starts = (options) => assert.rejects.bind(null, startNode(options));
  await starts({ binary: 'no/such/esker' })(refused(/^starting no\/such\/esker: /));
  await starts({ binary: join(process.execPath, 'esker') })(refused(/^starting .*esker: .*ENOTDIR/));
  await starts({ binary: '' })(refused(/^starting : /));
  await starts({ args: ['x'.repeat(1 << 22)] })(refused(/^starting .*: .*E2BIG/));
  const logFile = join(folder, 'none', 'log');
  await starts({ logFile })({ name: 'EskerError', message: new RegExp(`^${logFile}: ENOENT`) });
  await starts({ acounts: 3 })({ name: 'TypeError', message: 'unknown option acounts' });
  const fixture = join(folder, 'fixture.json');
  writeFileSync(fixture, '{"assetz": []}');
  await starts({ fixture })(refused(/^the node ended: exit code 2\n[^]*assetz: unknown field/));
  await starts({ args: ['--no-such-flag'] })(refused(/^the node ended: exit code 2\n[^]*--no-such-flag/));
  await starts({ startTimeoutMs: 0 })(refused(/^timed out after 0 s: waiting until the node is ready/));
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address();
  await starts({ httpPort: port })(refused(new RegExp(`^the node ended: exit code 4\n[^]*${port}`)));
  taken.close();
});

test('the binary is looked for', async () => {
  const { ESKER_BIN, PATH } = process.env;
  try {
    process.env.ESKER_BIN = join(folder, 'none');
    await assert.rejects(startNode(), refused(/^starting .*none: /));
    delete process.env.ESKER_BIN;
    process.env.PATH = folder;
    await assert.rejects(startNode(), refused(/^there is no `esker` on the PATH: build it/));
  } finally {
    Object.assign(process.env, { ESKER_BIN, PATH });
  }
});

test('a folder and a log outlive the node', async () => {
  const options = { dataDir: join(folder, 'data'), logFile: join(folder, 'log') };
  await withNode(options, (node) => node.mine(3));
  assert.match(readFileSync(options.logFile, 'utf8'), /Accounts, 10,000 each/);
  assert.equal(await withNode(options, height), 3);
});

test('a node that is gone is reported with its last lines', async () => {
  const node = await startNode();
  await until('the screen is complete', () => node.lastLines.includes('Try'));
  process.kill(node.pid, 'SIGKILL');
  await until('it is gone', () => !isRunning(node.pid));
  await assert.rejects(node.snapshot(), refused(/^dev.snapshot: [^]*Try/));
  await assert.rejects(node.stop(), refused(/^the node ended: signal SIGKILL/));
  assert.match(node.lastLines, /Try/);
});

test('a node that does not stop is killed', async () => {
  const node = await startNode();
  process.kill(node.pid, 'SIGSTOP');
  await assert.rejects(node.stop(), refused(/^the node ended: signal SIGKILL/));
  assert.ok(!isRunning(node.pid));
});

test('a failing use of a node ends it, too', async () => {
  let pid;
  await assert.rejects(
    withNode((node) => {
      ({ pid } = node);
      throw new Error('of the test');
    }),
    /of the test/,
  );
  assert.ok(!isRunning(pid));
});

/** Runs a script; its process, how it ends, and its folder of temporary files. It is killed at the end of the test. */
function run(t, source) {
  const env = { ...process.env, TMPDIR: mkdtempSync(join(folder, 'tmp-')) };
  const args = ['--input-type=module', '-e', `import { startNode } from 'esker-dev';\n${source}`];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: new URL('.', import.meta.url), env });
  t.after(() => child.kill('SIGKILL'));
  return { child, ended: once(child, 'exit'), tmp: env.TMPDIR };
}

/** The same with a node, whose process the script prints: the number of that, too. */
async function script(t, last) {
  const running = run(t, `const node = await startNode();\nconsole.log(node.pid);\n${last}`);
  let text = '';
  for await (const part of running.child.stdout) {
    text += part;
    if (text.includes('\n')) break;
  }
  const pid = Number(text);
  assert.ok(pid > 0, text);
  return { ...running, pid };
}

test('a script that forgets its node ends, and the node with it', { timeout: PATIENCE_MS }, async (t) => {
  const { ended, pid, tmp } = await script(t, '');
  assert.deepEqual(await ended, [0, null]);
  await until('the node is gone', () => !isRunning(pid));
  assert.deepEqual(readdirSync(tmp), []);
});

test('a node ends with a process that is killed', { timeout: PATIENCE_MS }, async (t) => {
  const { child, ended, pid, tmp } = await script(t, 'setTimeout(() => {}, 600_000);');
  assert.ok(isRunning(pid));
  child.kill('SIGKILL');
  await ended;
  await until('the node is gone', () => !isRunning(pid));
  assert.deepEqual(readdirSync(tmp), []);
});

test('nothing is left of a start that a signal ends', { timeout: 3 * PATIENCE_MS }, async (t) => {
  for (const signal of ['INT', 'TERM', 'KILL']) {
    const [pidFile, binary] = [`pid-${signal}`, `binary-${signal}`].map((name) => join(folder, name));
    const lines = ['#!/bin/sh', `echo $$ > '${pidFile}'`, `kill -${signal} $PPID`, `exec '${process.env.ESKER_BIN}' "$@"`];
    writeFileSync(binary, `${lines.join('\n')}\n`, { mode: 0o700 });
    const { ended, tmp } = run(t, `await startNode({ binary: '${binary}' });`);
    assert.deepEqual(await ended, [null, `SIG${signal}`]);
    await until('the script of the binary runs', () => existsSync(pidFile));
    const pid = Number(readFileSync(pidFile, 'utf8'));
    assert.ok(pid > 0);
    await until('the node is gone', () => !isRunning(pid));
    assert.deepEqual(readdirSync(tmp), [], signal);
  }
});

test('await using', { skip: !Symbol.asyncDispose }, async () => {
  const node = await startNode();
  assert.ok(isRunning(node.pid));
  await node[Symbol.asyncDispose]();
  assert.ok(!isRunning(node.pid));
  assert.equal(await node.stop(), undefined);
  assert.equal(new EskerError('x').name, 'EskerError');
});
