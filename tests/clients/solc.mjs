#!/usr/bin/env node
// npm's solc as forge wants a compiler: it answers `--version` and `--standard-json`. In this process: the program of the package ends before
// a long answer is written.
import { readFileSync } from 'node:fs';
import solc from 'solc';

const args = process.argv.slice(2);
if (args.includes('--standard-json')) {
  const input = readFileSync(0, 'utf8');
  process.stdout.write(solc.compile(input, { import: () => ({ error: 'not found' }) }));
} else {
  process.stdout.write(`${solc.version()}\n`);
}
