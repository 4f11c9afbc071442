// Functions that the scripts with cast and forge share: running them against the node whose URL the script was given.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EVM_VERSION, FIRST_KEY, rpcOf } from './evm.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const url = rpcOf(process.argv[2]);
/** Folder of a project of forge, empty at first. */
export const project = mkdtempSync(join(tmpdir(), 'esker-forge-'));
process.on('exit', () => rmSync(project, { recursive: true, force: true }));

// Settings of the user have no place here; the compiler's wrapper finds this very Node.js.
const env = {
  HOME: project,
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  NO_COLOR: '1',
};

/** Runs one of the tools; what it prints. The package of this one machine: the one in front hides exit statuses. */
export function run(tool, args, more = {}) {
  const program = here(`node_modules/@foundry-rs/${tool}-linux-amd64/bin/${tool}`);
  const options = { cwd: project, env: { ...env, ...more }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
  return execFileSync(program, args, options).trim();
}
export const offline = (...args) => run('cast', args);
export const cast = (command, ...args) => run('cast', [command, '--rpc-url', url, ...args]);
export const json = (...args) => JSON.parse(cast(...args, '--json'));
/** Sends from the first account and waits; the receipt. */
export const send = (...args) => json('send', '--private-key', FIRST_KEY, ...args);
/** What a tool writes to its error output where it fails. */
export function refusal(...args) {
  try {
    cast(...args);
  } catch (error) {
    assert.equal(error.status, 1, String(error));
    return error.stderr;
  }
  assert.fail(`${args[0]} went through`);
}

/** Options of forge: the compiler of npm, nothing from elsewhere. */
export const build = [
  '--root', project, '--use', here('solc.mjs'), '--offline',
  '--optimize', '--optimizer-runs', '200', '--evm-version', EVM_VERSION,
];
