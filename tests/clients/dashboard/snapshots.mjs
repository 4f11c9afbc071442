// A snapshot with a name is taken, and all chains go back to it.

import { check, client, open, panel, sees, until } from './lib.mjs';

export async function run({ page, url }) {
  const node = client(url);
  await open(page, url, '#/do', 'Do');
  const form = panel(page, 'Snapshots');
  const height = Number(await node.evm('evm_blockNumber'));
  await form.getByLabel('Name').fill('before the journey');
  await form.getByRole('button', { name: 'Take a snapshot' }).click();
  await sees(page, 'before the journey', 'table');

  const hash = await node.pay('0x3');
  await node.receipt(hash);
  check(Number(await node.evm('evm_blockNumber')) > height, 'the chain goes on');
  await form.getByRole('button', { name: /Revert to snapshot/ }).last().click();
  await until('C is at its height again', async () => Number(await node.evm('evm_blockNumber')) === height);
  await until('the snapshot is gone from the list', async () => !(await form.innerText()).includes('before the journey'));

  await open(page, url, `#/tx/c/${hash}`, 'Transaction of C');
  await sees(page, /unknown|waiting/, '.title');
  await open(page, url, '', 'Overview');
  await until('the overview has no block above', async () => (await page.locator('.strip').innerText()).includes(`\n${height.toLocaleString('en')}\n`));
  check((await page.locator(`.stream a[href="#/block/c/${height + 1}"]`).count()) === 0, 'the stream has no block that was taken back');
}
