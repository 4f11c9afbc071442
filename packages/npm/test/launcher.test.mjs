// The launcher with a shell script in the place of the binary, as child and, where Node.js can, in its own place.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SOURCE = dirname(dirname(fileURLToPath(import.meta.url)));
const PATIENCE_MS = 60_000;
const PLATFORM = `${process.platform}-${process.arch}`;
const folder = mkdtempSync(join(tmpdir(), 'esker-cli-test-'));
after(() => rmSync(folder, { recursive: true }));

/** Installs the package, and a script as the binary of this platform; the launcher. */
function install(name, script, { glibc = '2.17', platforms = [PLATFORM] } = {}) {
  const modules = join(folder, name, 'node_modules');
  const command = join(modules, 'esker-cli');
  cpSync(SOURCE, command, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'));
  manifest.optionalDependencies = Object.fromEntries(platforms.map((of) => [`esker-cli-${of}`, manifest.version]));
  writeFileSync(join(command, 'package.json'), JSON.stringify(manifest));
  if (script !== undefined) {
    const bin = join(modules, `esker-cli-${PLATFORM}`, 'bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, '..', 'package.json'), JSON.stringify({ name: `esker-cli-${PLATFORM}`, glibc }));
    writeFileSync(join(bin, 'esker'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, 'esker'), 0o755);
  }
  return join(command, 'bin', 'esker.cjs');
}

/** A file that Node.js loads first. */
function preload(name, code) {
  const file = join(folder, `${name}.cjs`);
  writeFileSync(file, code);
  return ['--require', file];
}

const AS_CHILD = preload('child', 'process.execve = undefined;');
const WAYS = { 'as a child': AS_CHILD, ...(process.execve && { 'in its place': [] }) };

function start(launcher, args = [], flags = []) {
  const child = spawn(process.execPath, [...flags, launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => (output[name] += data));
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }));
  const late = new Promise((_, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${launcher} did not end within ${PATIENCE_MS} ms: ${JSON.stringify(output)}`));
    }, PATIENCE_MS);
    child.once('close', () => clearTimeout(timer));
  });
  return { child, ended: Promise.race([ended, late]) };
}

async function run(...args) {
  return start(...args).ended;
}

for (const [way, flags] of Object.entries(WAYS)) {
  test(`arguments, output and exit code are the binary's ${way}`, async () => {
    const launcher = install(`arguments ${way}`, 'printf "<%s>" "$@"; echo error >&2; exit 7');
    const ended = await run(launcher, ['dev', 'a b', '--x=$HOME', ''], flags);
    assert.deepEqual(ended, { code: 7, signal: null, stdout: '<dev><a b><--x=$HOME><>', stderr: 'error\n' });
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    test(`${signal} reaches the binary ${way}`, async () => {
      const name = signal.slice(3);
      // The shell handles a signal once `wait` returns; the child ends with the shell. SIGTERM would be lost while the child
      // has the shell's handlers still.
      const script = `trap 'kill -KILL $!; echo got; exit 5' ${name}; sleep ${PATIENCE_MS / 1000} & echo ready; wait`;
      const { child, ended } = start(install(`${signal} ${way}`, script), [], flags);
      await once(child.stdout, 'data');
      child.kill(signal);
      assert.deepEqual(await ended, { code: 5, signal: null, stdout: 'ready\ngot\n', stderr: '' });
    });
  }

  test(`the end by a signal is passed on ${way}`, async () => {
    const { code, signal } = await run(install(`killed ${way}`, 'kill -KILL $$'), [], flags);
    assert.deepEqual({ code, signal }, { code: null, signal: 'SIGKILL' });
  });
}

/** The binary's output until the last process that has it ends, when the shell that npx starts it with is stopped. */
async function outputUnderNpx(name, flags) {
  const script = `trap 'kill -KILL $!; echo got; exit 5' TERM; sleep ${PATIENCE_MS / 1000} & echo ready; wait`;
  const launcher = install(name, script);
  const wrapper = join(folder, `${name}.sh`);
  const command = [process.execPath, ...flags, launcher].map((word) => `'${word}'`).join(' ');
  // A second command: the shell stays.
  writeFileSync(wrapper, `${command}\nexit $?\n`);
  const env = { ...process.env, npm_lifecycle_event: 'npx' };
  const shell = spawn('/bin/sh', [wrapper], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(shell.stdout, 'end', { signal: AbortSignal.timeout(PATIENCE_MS) });
  let text = '';
  shell.stdout.on('data', (data) => (text += data));
  await once(shell.stdout, 'data', { signal: AbortSignal.timeout(PATIENCE_MS) });
  shell.kill('SIGTERM');
  await closed;
  return text;
}

test('under npx the binary ends with the shell of npx', async () => {
  assert.equal(await outputUnderNpx('npx', []), 'ready\ngot\n');
});

test('under npx the shell may end while the launcher starts the binary', async () => {
  // The launcher goes on only once the shell, its parent, has ended.
  const code = `
    const { spawn } = require('node:child_process');
    const parent = process.ppid;
    require('node:child_process').spawn = (...args) => {
      const child = spawn(...args);
      const pause = new Int32Array(new SharedArrayBuffer(4));
      const end = Date.now() + ${PATIENCE_MS};
      while (process.ppid === parent && Date.now() < end) Atomics.wait(pause, 0, 0, 5);
      return child;
    };`;
  assert.equal(await outputUnderNpx('slow', preload('slow', code)), 'ready\ngot\n');
});

async function refusal(...args) {
  const { code, signal, stdout, stderr } = await run(...args);
  assert.deepEqual({ code, signal, stdout }, { code: 1, signal: null, stdout: '' });
  return stderr;
}

test('optional dependencies that were left out are named', async () => {
  const text = await refusal(install('omitted', undefined));
  assert.match(text, new RegExp(`^esker: the package esker-cli-${PLATFORM} with the binary is missing: install again`));
  assert.match(text, new RegExp(`--omit=optional.* esker-cli-${PLATFORM}@\\d`));
});

test('a platform without a binary is named, and those that have one', async () => {
  const launcher = install('platform', undefined, { platforms: ['linux-x64', 'linux-arm64'] });
  const flags = preload('platform', "Object.defineProperty(process, 'platform', { value: 'sunos' });");
  const text = await refusal(launcher, ['dev'], flags);
  const start = `esker: there is no binary for sunos-${process.arch}, only for linux-x64, linux-arm64: build it with Rust: `;
  assert.ok(text.startsWith(`${start}\`cargo install`), text);
});

/** Another C library than this system's: its version as Node.js reports it. */
const withGlibc = (name, version) =>
  preload(
    name,
    `process.report.getReport = () => ({ header: { glibcVersionRuntime: ${version} } });
     Object.defineProperty(process, 'platform', { value: 'linux' });
     process.report.excludeNetwork = true;`,
  );

test('another C library is named', async () => {
  const launcher = install('musl', undefined, { platforms: [`linux-${process.arch}`] });
  const text = await refusal(launcher, ['dev'], withGlibc('musl', 'undefined'));
  assert.ok(text.startsWith('esker: the binary needs glibc, and this system has another C library: build it'), text);
});

test('a glibc that is too old is named', { skip: process.platform !== 'linux' }, async () => {
  const launcher = install('glibc', 'echo started', { glibc: '2.36' });
  for (const version of ['2.9', '1.40']) {
    const text = await refusal(launcher, ['dev'], withGlibc('old', `'${version}'`));
    assert.ok(text.startsWith(`esker: the binary needs glibc 2.36 or newer, and this system has ${version}: `), text);
  }
  for (const version of ['2.36', '2.100', '3.0']) {
    assert.equal((await run(launcher, ['dev'], withGlibc('new', `'${version}'`))).stdout, 'started\n', version);
  }
});

test('a binary that can not be started is named', async () => {
  const launcher = install('damaged', 'exit 0');
  const binary = join(folder, 'damaged', 'node_modules', `esker-cli-${PLATFORM}`, 'bin', 'esker');
  chmodSync(binary, 0o644);
  // As root everything may be read, but nothing executed that is not executable.
  assert.match(await refusal(launcher), /^esker: EACCES: permission denied, access '.*bin\/esker'\n$/);
  chmodSync(binary, 0o755);
  writeFileSync(binary, '#!/nowhere/loader\n');
  assert.match(await refusal(launcher, [], AS_CHILD), /^esker: starting .*bin\/esker: spawn /);
});
