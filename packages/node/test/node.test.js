// The package against the binary that ESKER_BIN names.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
  await withNode({ accounts: 3, balance: 7n, timestamp: 2_000_000_000, mnemonic }, async (node) => {
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
    await assert.rejects(node.revert(id), refused(/snapshot 1 is gone/));
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
    await assert.rejects(node.waitReceipt(`0x${'0'.repeat(64)}`, 50), refused(/still not so after 50 ms: a block has/));
  });
});

test('starts that fail say why', async () => {
  const starts = (options) => assert.rejects.bind(null, startNode(options));
  await starts({ binary: 'no/such/esker' })(refused(/^starting no\/such\/esker: /));
  await starts({ acounts: 3 })({ name: 'TypeError', message: 'unknown option acounts' });
  const fixture = join(folder, 'fixture.json');
  writeFileSync(fixture, '{"assetz": []}');
  await starts({ fixture })(refused(/^the node ended: exit code 2\n[^]*assetz: unknown field/));
  await starts({ args: ['--no-such-flag'] })(refused(/^the node ended: exit code 2\n[^]*--no-such-flag/));
  await starts({ startTimeoutMs: 0 })(refused(/^still not so after 0 ms: the node is ready/));
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

/** Runs a script that prints the number of a node's process; that, and the script's process. */
async function script(last) {
  const source = `import { startNode } from 'esker-dev';
    const node = await startNode();
    console.log(node.pid);
    ${last}`;
  const env = { ...process.env, TMPDIR: mkdtempSync(join(folder, 'tmp-')) };
  const args = ['--input-type=module', '-e', source];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: new URL('.', import.meta.url), env });
  const ended = once(child, 'exit');
  let text = '';
  for await (const part of child.stdout) {
    text += part;
    if (text.includes('\n')) break;
  }
  return { child, ended, pid: Number(text), tmp: env.TMPDIR };
}

test('a script that forgets its node ends, and the node with it', async () => {
  const { ended, pid, tmp } = await script('');
  assert.ok(pid > 0);
  assert.deepEqual(await ended, [0, null]);
  await until('the node is gone', () => !isRunning(pid));
  assert.deepEqual(readdirSync(tmp), []);
});

test('a node ends with a process that is killed', async () => {
  const { child, ended, pid, tmp } = await script('setTimeout(() => {}, 600_000);');
  assert.ok(isRunning(pid));
  child.kill('SIGKILL');
  await ended;
  await until('the node is gone', () => !isRunning(pid));
  assert.deepEqual(readdirSync(tmp), []);
});

test('await using', { skip: !Symbol.asyncDispose }, async () => {
  const node = await startNode();
  assert.ok(isRunning(node.pid));
  await node[Symbol.asyncDispose]();
  assert.ok(!isRunning(node.pid));
  assert.equal(await node.stop(), undefined);
  assert.equal(new EskerError('x').name, 'EskerError');
});
