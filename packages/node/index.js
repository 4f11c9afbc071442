// Starts `esker dev` for tests, and ends it with them.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { lastLines } from './log.js';
import { RpcError, bodyOf, call, pathOf } from './rpc.js';

export { RpcError } from './rpc.js';

const START_TIMEOUT_MS = 60_000;
const CALL_TIMEOUT_MS = 60_000;
/** How long a node may take to stop before it is killed. */
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 10;

/** What is left to do when this process ends without having stopped its nodes. */
const onExit = new Set();
process.once('exit', () => onExit.forEach((stop) => stop()));

/** A node that could not be started, used or stopped; its message ends with the node's last log lines, if it has run. */
export class EskerError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = 'EskerError';
  }
}

/** Flags of the options that `esker dev` has, too. */
const FLAGS = {
  accounts: '--accounts',
  balance: '--balance',
  mnemonic: '--mnemonic',
  timestamp: '--timestamp',
  fixture: '--fixture',
  dataDir: '--data-dir',
};
const OTHER_OPTIONS = ['binary', 'httpPort', 'evmPort', 'logFile', 'startTimeoutMs', 'args'];

function argumentsOf(options, readyFile) {
  const ports = ['--http-port', options.httpPort ?? 0, '--evm-port', options.evmPort ?? 0];
  const args = ['dev', ...ports, '--ready-file', readyFile, '--stop-with-input'];
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || OTHER_OPTIONS.includes(name)) continue;
    if (!Object.hasOwn(FLAGS, name)) throw new TypeError(`unknown option ${name}`);
    args.push(FLAGS[name], value);
  }
  return [...args, ...(options.args ?? [])].map(String);
}

/** The variables of this process, without those that the node would take for settings. */
function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ESKER_')));
}

/** The binary of the package `esker-cli`, if that is installed and has one for this platform. */
async function installedBinary() {
  try {
    return (await import('esker-cli')).default.binaryPath();
  } catch {
    return undefined;
  }
}

function spawnError(binary, isOnPath, error) {
  if (isOnPath && error.code === 'ENOENT') {
    return new EskerError(
      'there is no `esker` on the PATH: build it (`cargo build --release` makes target/release/esker) and put it on the ' +
        'PATH, add the package `esker-cli` of the same release, or name it in ESKER_BIN or with the option `binary`',
    );
  }
  return new EskerError(`starting ${binary}: ${error.message}`, { cause: error });
}

/** A running node; made by `startNode`. */
export class EskerNode {
  #child;
  /** Open for writing and reading; undefined when the node was stopped. */
  #log;
  #stoppedLines = '';
  /** Resolves with what an error says of the end of the process. */
  #ended;
  #isEnded = false;
  #stopping;
  #onExit = () => this.#child.kill('SIGTERM');

  /** @private */
  constructor(child, log) {
    this.#child = child;
    this.#log = log;
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#isEnded = true;
        resolve({ code, signal });
      });
    });
    onExit.add(this.#onExit);
  }

  /** @private */
  async waitReady(readyFile, timeoutMs) {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const isEnded = this.#isEnded;
      let text;
      try {
        text = readFileSync(readyFile, 'utf8');
      } catch {
        // It comes with all of its content.
      }
      if (text) {
        this.#take(JSON.parse(text));
        return;
      }
      if (isEnded) throw this.#error(`the node ended: ${describe(await this.#ended)}`);
      if (Date.now() >= deadline) throw this.#lateError(timeoutMs, 'the node is ready');
      await pause(POLL_MS);
    }
  }

  #take(ready) {
    this.ready = ready;
    this.pid = ready.pid;
    this.url = ready.url;
    this.evmUrl = ready.evmUrl ?? `${ready.url}/ext/bc/C/rpc`;
    this.wsUrl = `${ready.url.replace('http', 'ws')}/ext/bc/C/ws`;
    this.accounts = ready.accounts;
    // A script that does not stop the node ends nevertheless, and the node with it.
    this.#child.unref();
    this.#child.stdin.unref();
  }

  /** Calls a method of any namespace. */
  async rpc(method, params, { path, timeoutMs = CALL_TIMEOUT_MS } = {}) {
    const url = this.url + (path ?? pathOf(method));
    const body = bodyOf(method, params);
    try {
      return await call(url, method, body, timeoutMs);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      throw this.#error(`${method}: ${error.cause?.message || error.cause?.code || error.message}`, error);
    }
  }

  /** Takes a snapshot of all chains, their pools and the clock; its ID. */
  async snapshot() {
    return (await this.rpc('dev.snapshot')).id;
  }

  /** Goes back to a snapshot, which is then gone with all later ones. */
  async revert(id) {
    const { success } = await this.rpc('dev.revert', { id });
    if (!success) {
      throw this.#error(`snapshot ${id} is gone: it, or an earlier one, was reverted already, or the node was reset`);
    }
  }

  /** Runs a function and goes back to where the node was before it, also if it fails. */
  async isolated(use) {
    const id = await this.snapshot();
    let result;
    try {
      result = await use(this);
    } catch (error) {
      // The first failure is the one to show.
      await this.revert(id).catch(() => {});
      throw error;
    }
    await this.revert(id);
    return result;
  }

  /** Makes blocks on the C-Chain, also empty ones, each `intervalSeconds` later than it would be. */
  async mine(blocks = 1, intervalSeconds = 0) {
    await this.rpc('dev.mine', { blocks: String(blocks), interval: String(intervalSeconds) });
  }

  /** The clock of all chains, Unix seconds. */
  async time() {
    return Number((await this.rpc('dev.getTime')).timestamp);
  }

  /** Moves the clock forward; the new time, Unix seconds. */
  async increaseTime(seconds) {
    return Number((await this.rpc('dev.increaseTime', { seconds: String(seconds) })).timestamp);
  }

  /** Sets the clock, Unix seconds; the new time. */
  async setTime(timestamp) {
    return Number((await this.rpc('dev.setTime', { timestamp: String(timestamp) })).timestamp);
  }

  /** The receipt of a transaction of the C-Chain, once a block has it. */
  async waitReceipt(hash, timeoutMs = CALL_TIMEOUT_MS) {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const receipt = await this.rpc('eth_getTransactionReceipt', [hash]);
      if (receipt !== null) return receipt;
      if (Date.now() >= deadline) throw this.#lateError(timeoutMs, `a block has ${hash}`);
      await pause(POLL_MS);
    }
  }

  /** The last lines that the node has written. */
  get lastLines() {
    return this.#log === undefined ? this.#stoppedLines : lastLines(this.#log);
  }

  /** Stops the node; it is gone when this resolves. A second call waits for the first one. */
  stop() {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop() {
    this.#child.ref();
    const asked = new AbortController();
    if (!this.#isEnded) this.#child.kill('SIGTERM');
    const late = pause(STOP_TIMEOUT_MS, 'late', { signal: asked.signal }).catch(() => {});
    let end = await Promise.race([this.#ended, late]);
    asked.abort();
    if (end === 'late') {
      this.#child.kill('SIGKILL');
      end = await this.#ended;
    }
    const error = end.code === 0 ? undefined : this.#error(`the node ended: ${describe(end)}`);
    onExit.delete(this.#onExit);
    this.#stoppedLines = this.lastLines;
    closeSync(this.#log);
    this.#log = undefined;
    if (error) throw error;
  }

  #lateError(timeoutMs, what) {
    return this.#error(`timed out after ${timeoutMs / 1000} s: waiting until ${what}`);
  }

  #error(message, cause) {
    return new EskerError(`${message}\n${this.lastLines}`, { cause });
  }
}

if (Symbol.asyncDispose) {
  EskerNode.prototype[Symbol.asyncDispose] = function () {
    return this.stop();
  };
}

function describe({ code, signal }) {
  return signal ? `signal ${signal}` : `exit code ${code}`;
}

/** A name in the folder of temporary files that nothing else has. */
function temporaryPath(suffix) {
  return join(tmpdir(), `esker-dev-${randomUUID()}${suffix}`);
}

/** Opens the file for the node's output, for writing and reading. One of our own has no name: it goes with the processes. */
function openLog(logFile) {
  const path = logFile ?? temporaryPath('.log');
  try {
    if (logFile) return openSync(path, 'w+');
    const log = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return log;
  } catch (error) {
    throw new EskerError(`${path}: ${error.message}`, { cause: error });
  }
}

/** Starts a process; resolves when the binary runs. */
async function spawned(binary, args, log) {
  const child = spawn(binary, args, { stdio: ['pipe', log, log], env: environment() });
  child.stdin.on('error', () => {});
  await new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.on('error', reject);
  });
  return child;
}

/** Starts a node and waits until it serves. */
export async function startNode(options = {}) {
  // The node removes it when it stops, so that nothing is left if this process ends meanwhile.
  const readyFile = temporaryPath('.json');
  const args = argumentsOf(options, readyFile);
  const named = options.binary ?? (process.env.ESKER_BIN || (await installedBinary()));
  const binary = named ?? 'esker';
  const isOnPath = named === undefined;
  const log = openLog(options.logFile);
  let child;
  try {
    child = await spawned(binary, args, log);
  } catch (error) {
    closeSync(log);
    throw spawnError(binary, isOnPath, error);
  }
  const node = new EskerNode(child, log);
  try {
    await node.waitReady(readyFile, options.startTimeoutMs ?? START_TIMEOUT_MS);
    return node;
  } catch (error) {
    await node.stop().catch(() => {});
    throw error;
  } finally {
    // The second one is of a node that was killed while it wrote the first.
    for (const file of [readyFile, `${readyFile}.new`]) rmSync(file, { force: true });
  }
}

/** Runs a function with a node of its own, which is stopped afterwards: `withNode(use)` or `withNode(options, use)`. */
export async function withNode(options, use) {
  if (typeof options === 'function') return withNode({}, options);
  const node = await startNode(options);
  let result;
  try {
    result = await use(node);
  } catch (error) {
    await node.stop().catch(() => {});
    throw error;
  }
  await node.stop();
  return result;
}
