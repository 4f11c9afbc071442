// Functions that the scripts of both libraries share: waiting, comparing, one line for each result.
import assert from 'node:assert/strict';

/** The key of the local network that holds 300,000,000 units; public, therefore worthless. */
export const FUNDED_KEY = 'PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN';
export const FUNDED = 'local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u';
/** The same key's account on the C-Chain. */
export const FUNDED_ACCOUNT = '0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC';
/** An account of nobody. */
export const OTHER_ACCOUNT = '0x0101010101010101010101010101010101010101';
/** A key of nobody: 01 thirty-two times. */
export const OTHER = 'local1q7nedwpmvgjks36jxfm7kel0xledhg7m5kum8z';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 10;

/** Asks again until the answer is true. */
export async function until(what, ask) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    if (await ask()) return;
    assert.ok(Date.now() < deadline, `still not so: ${what}`);
    await new Promise((resume) => setTimeout(resume, PAUSE_MS));
  }
}

/** Runs named steps one after the other; the first that fails ends the process with status 1. */
export async function steps(list) {
  for (const [name, step] of list) {
    try {
      await step();
      console.log(`ok   ${name}`);
    } catch (error) {
      console.log(`FAIL ${name}`);
      console.error(error?.response?.data ?? (error?.isAxiosError ? error.message : error));
      process.exit(1);
    }
  }
}

/** A plain call, for what a library has no function for. */
export async function call(url, path, method, params) {
  const reply = await fetch(url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = await reply.json();
  if (error) throw new Error(error.message);
  return result;
}
