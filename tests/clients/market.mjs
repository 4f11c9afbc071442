// The tests of a Hardhat and of a Foundry project on a development node, and in turn on anvil as the control:
// `node market.mjs URL [ROUNDS]`. They share the contracts of `market/`. Prints how long the whole processes took.
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startAnvil } from './control.mjs';
import { EVM_VERSION } from './evm.mjs';
import { build, project, run, url } from './foundry-tools.mjs';

const rounds = Number(process.argv[3] ?? 1);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
cpSync(here('market/contracts'), join(project, 'src'), { recursive: true });
cpSync(here('market/forge'), join(project, 'test'), { recursive: true });

const env = { ...process.env, HOME: project, BUILD: project, EVM_VERSION, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' };
const hardhat = (task, more = {}) =>
  execFileSync(process.execPath, [here('node_modules/hardhat/internal/cli/bootstrap.js'), task], {
    cwd: here('market'), env: { ...env, ...more }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
  });

/** The projects: how one is built, how its tests run on a node, and what they say when all pass. */
const projects = {
  hardhat: [() => hardhat('compile'), (NODE) => hardhat('test', { NODE }), /23 passing/],
  foundry: [() => run('forge', ['build', ...build]), (NODE) => run('forge', ['test', ...build, '--threads', '1'], { NODE }), /5 tests passed, 0 failed/],
};

const anvil = await startAnvil();
const nodes = { esker: url, anvil: anvil.url };
for (const [name, [prepare, test, passed]] of Object.entries(projects)) {
  prepare();
  const took = { esker: [], anvil: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [tool, node] of Object.entries(nodes)) {
      const begun = performance.now();
      let said;
      try {
        said = test(node);
      } catch (error) {
        said = `${error.stdout}\n${error.stderr}`;
      }
      took[tool].push(performance.now() - begun);
      if (passed.test(said)) continue;
      console.log(`FAIL ${name} on ${tool}`);
      console.error(said);
      process.exit(1);
    }
  }
  const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)].toFixed(0);
  console.log(`ok   ${name}: ${median(took.esker)} ms on esker, ${median(took.anvil)} ms on anvil`);
}
anvil.stop();
