// The reason, the call tree, and the instructions of a failing transaction are read.

import { ACCOUNTS, check, client, open, sees, until } from './lib.mjs';

const INNER = '0x00000000000000000000000000000000000f0001';
const OUTER = '0x00000000000000000000000000000000000f0002';

/** Code that reverts with `Error(string)`. */
function reverts(text) {
  const data = Buffer.from(text);
  const words = Math.ceil(data.length / 32) * 32;
  const error = `08c379a0${'20'.padStart(64, '0')}${data.length.toString(16).padStart(64, '0')}${data.toString('hex').padEnd(words * 2, '0')}`;
  const size = (error.length / 2).toString(16).padStart(4, '0');
  return `0x61${size}600c5f3961${size}5ffd${error}`;
}

/** Code that calls another contract and fails as that one does. */
const calls = (address) => `0x5f5f5f5f5f73${address.slice(2)}5af13d5f5f3e3d5ffd`;

export async function run({ page, url }) {
  const node = client(url);
  await node.evm('anvil_setCode', INNER, reverts('the vault is closed'));
  await node.evm('anvil_setCode', OUTER, calls(INNER));
  const hash = await node.evm('evm_sendTransaction', { from: ACCOUNTS[0], to: OUTER, gas: '0x30d40', data: '0x12345678' });
  const { status } = await node.receipt(hash);
  check(status === '0x0', 'the transaction fails');

  await open(page, url, `#/tx/c/${hash}`, 'Transaction of C');
  await sees(page, 'failed', '.title');
  await sees(page, 'the vault is closed', '[data-reason]');
  const tree = page.locator('.calls');
  await until('the tree shows both calls', async () => (await tree.locator('summary').count()) === 2);
  check((await tree.locator('details.failed').count()) === 2, 'both calls are marked as failed');

  await page.getByRole('tab', { name: 'Calls' }).focus();
  await page.keyboard.press('ArrowRight');
  await sees(page, 'It wrote no events', '[role=tabpanel]:not([hidden])');
  await page.getByRole('tab', { name: 'Steps' }).click();
  const steps = page.getByRole('region', { name: /Instructions/ });
  await until('instructions are shown', async () => (await steps.innerText()).includes('CALL'));
  await steps.focus();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowDown');
  await sees(page, /^3: PUSH0/, '.steps h3');
  await page.getByRole('tab', { name: 'State changes' }).click();
  await sees(page, 'Nonce', '[role=tabpanel]:not([hidden])');
}
