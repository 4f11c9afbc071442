// Runs a script's steps against a development node and then, as the control, against anvil: `node SCRIPT URL`. What anvil does
// otherwise is said of each step, and has to be so (docs/from-anvil.md).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ANVIL, freePort } from './anvil.mjs';
import { until } from './check.mjs';
import { CHAIN_ID, rpcOf, wsOf } from './evm.mjs';

const [, , given, mode] = process.argv;
/** Whether this process runs the steps against anvil. */
export const isControl = mode === 'control';
/** The JSON-RPC endpoint of the steps. */
export const endpoint = isControl ? given : rpcOf(given);
/** Where the steps subscribe. */
export const socketEndpoint = isControl ? `ws://${new URL(given).host}` : wsOf(given);

/** Runs the steps of the script with this address: a name, what has to hold, and what anvil does otherwise, if it does. */
export async function runOnBoth(script, list) {
  for (const [name, holds, differs] of list) {
    const error = await holds().then(() => undefined, (reason) => reason);
    const isExpected = (error !== undefined) === (isControl && differs !== undefined);
    const tool = isControl ? 'anvil' : 'esker';
    console.log(`${isExpected ? 'ok  ' : 'FAIL'} ${tool}: ${name}${isControl && differs ? ` (${differs})` : ''}`);
    if (isExpected) continue;
    console.error(error ?? 'anvil does the same now');
    process.exit(1);
  }
  if (isControl) return;
  // The pinned anvil is a program of one machine.
  if (process.platform === 'linux' && process.arch === 'x64') await runControl(script);
  else console.log('no anvil for this machine: no control');
}

async function runControl(script) {
  const anvil = await startAnvil();
  const steps = spawn(process.execPath, [fileURLToPath(script), anvil.url, 'control'], { stdio: 'inherit' });
  const code = await new Promise((exited) => steps.on('exit', exited));
  assert.equal(code, 0, 'the steps on anvil');
  anvil.stop();
}

/** Starts anvil with these flags on a port of its own; its URL, and how it ends. */
export async function startAnvil(...flags) {
  const port = await freePort();
  const anvil = spawn(ANVIL, ['--port', `${port}`, '--chain-id', `${CHAIN_ID}`, '--silent', ...flags], { stdio: 'inherit' });
  process.on('exit', () => anvil.kill());
  const url = `http://127.0.0.1:${port}`;
  await until('anvil answers', () => fetch(url, { method: 'POST' }).then(() => true, () => false));
  return { url, stop: () => anvil.kill() };
}
