// The contracts of this folder and of OpenZeppelin, compiled once for both nodes.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVM_VERSION } from '../evm.mjs';

const folder = new URL('contracts/', import.meta.url);
const packages = new URL('../node_modules/', import.meta.url);
/** Contracts of OpenZeppelin that are deployed as they are. */
const UNCHANGED = [
  '@openzeppelin/contracts/governance/TimelockController.sol',
  '@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol',
];

/** Without the optimizer the governor is too large. Its slowest steps are left out. */
const optimizer = { enabled: true, details: { yul: true, cse: false, yulDetails: { optimizerSteps: 'u:' } } };

function compile(solc) {
  const names = readdirSync(folder);
  const read = (file) => ({ content: readFileSync(file, 'utf8') });
  const sources = Object.fromEntries([
    ...names.map((name) => [name, read(new URL(name, folder))]),
    ...UNCHANGED.map((name) => [name, read(new URL(name, packages))]),
  ]);
  const wanted = { '*': ['abi', 'evm.bytecode.object'] };
  const outputSelection = Object.fromEntries(Object.keys(sources).map((name) => [name, wanted]));
  const settings = { evmVersion: EVM_VERSION, optimizer, outputSelection };
  const imported = (path) => ({ contents: readFileSync(new URL(path, packages), 'utf8') });
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings }), { import: imported }));
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  assert.deepEqual(errors.map(({ formattedMessage }) => formattedMessage), []);
  const contracts = Object.values(output.contracts).flatMap((ofFile) => Object.entries(ofFile));
  return Object.fromEntries(contracts.map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]));
}

/** Compiles, and keeps the result for the process of the control. */
async function compileAndKeep() {
  const kept = mkdtempSync(join(tmpdir(), 'esker-openzeppelin-'));
  process.on('exit', () => rmSync(kept, { recursive: true, force: true }));
  const compiled = compile((await import('solc')).default);
  process.env.OPENZEPPELIN_CONTRACTS = join(kept, 'contracts.json');
  writeFileSync(process.env.OPENZEPPELIN_CONTRACTS, JSON.stringify(compiled));
  return compiled;
}

const known = process.env.OPENZEPPELIN_CONTRACTS;
/** Interface and creation code of each contract, by its name. */
export const contracts = known ? JSON.parse(readFileSync(known, 'utf8')) : await compileAndKeep();
