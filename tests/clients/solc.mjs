#!/usr/bin/env node
// npm's solc as forge wants a compiler: `--version` and `--standard-json` are passed on, and the lines with which
// it tells how it reads its input are dropped.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PASSED = ['--version', '--standard-json'];

const solcjs = fileURLToPath(new URL('node_modules/solc/solc.js', import.meta.url));
const args = process.argv.slice(2).filter((arg) => PASSED.includes(arg));
const { status, stdout } = spawnSync(process.execPath, [solcjs, ...args], {
  stdio: ['inherit', 'pipe', 'inherit'],
  encoding: 'utf8',
  maxBuffer: Infinity,
});
process.stdout.write(stdout.replaceAll(/^>>> .*\n/gm, ''));
process.exitCode = status ?? 1;
