// A user's first tests with Ape (ape/tests) on a development node, and on anvil as the control: `node ape.mjs URL`.
// CLIENT_TESTS_APE is a Python with Ape, which `cargo xtask test` installs.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import solc from 'solc';
import { startAnvil } from './control.mjs';
import { CHAIN_ID, EVM_VERSION, IS_ETHEREUM, rpcOf } from './evm.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const python = process.env.CLIENT_TESTS_APE ?? 'python3';
const project = mkdtempSync(join(tmpdir(), 'esker-ape-'));
process.on('exit', () => rmSync(project, { recursive: true, force: true }));

/** The contract of the Hardhat example, as Ape reads compiled ones. */
function compileCounter() {
  const content = readFileSync(here('../../examples/hardhat/contracts/Counter.sol'), 'utf8');
  const outputSelection = { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
  const input = { language: 'Solidity', sources: { Counter: { content } }, settings: { evmVersion: EVM_VERSION, outputSelection } };
  const { abi, evm } = JSON.parse(solc.compile(JSON.stringify(input))).contracts.Counter.Counter;
  const code = ({ object }) => ({ bytecode: `0x${object}` });
  return { contractName: 'Counter', abi, deploymentBytecode: code(evm.bytecode), runtimeBytecode: code(evm.deployedBytecode) };
}

/** Without a setting Ape gives each transaction the gas of a whole block, which is more than Osaka allows (EIP-7825). Anvil does not check that. */
const GAS = IS_ETHEREUM ? { ethereum: { local: { gas_limit: 'auto' } } } : {};

/** What each leaves out: Ape goes back by go-ethereum's `debug_setHead`, which anvil does not have. */
const LEFT_OUT = { esker: [], anvil: ['a_snapshot_brings_state_back', 'isolation_undoes_what_a_test_did'] };

function runApe(tool, url) {
  cpSync(here('ape/tests'), join(project, 'tests'), { recursive: true });
  mkdirSync(join(project, 'contracts'), { recursive: true });
  writeFileSync(join(project, 'contracts/Counter.json'), JSON.stringify(compileCounter()));
  const config = { name: 'journey', node: { ethereum: { local: { uri: url, chain_id: CHAIN_ID } } }, ...GAS };
  writeFileSync(join(project, 'ape-config.yaml'), JSON.stringify(config));
  const PATH = [dirname(python), process.env.PATH].join(delimiter);
  const left = LEFT_OUT[tool].flatMap((name) => ['--deselect', `tests/test_journey.py::test_${name}`]);
  return execFileSync(join(dirname(python), 'ape'), ['test', '--network', 'ethereum:local:node', ...left], {
    cwd: project, env: { ...process.env, HOME: project, PATH, PYTHONDONTWRITEBYTECODE: '1' }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const anvil = await startAnvil();
for (const [tool, url] of Object.entries({ esker: rpcOf(process.argv[2]), anvil: anvil.url })) {
  try {
    console.log(`ok   ape on ${tool}: ${runApe(tool, url).trim().split('\n').at(-1)}`);
  } catch (error) {
    console.log(`FAIL ape on ${tool}`);
    console.error(`${error.stdout ?? error}\n${error.stderr ?? ''}`);
    process.exit(1);
  }
}
anvil.stop();
