// A transfer between the chains, by mouse and by keyboard.

import { check, client, open, panel, sees, until } from './lib.mjs';

export async function run({ page, url, kind }) {
  const node = client(url);
  await open(page, url, '#/do', 'Do');
  const form = panel(page, 'Move between the chains');
  const before = BigInt(await node.evm('evm_getBalance', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'latest'));

  await form.getByLabel('Account').selectOption({ label: 'account 1' });
  await form.getByLabel(/^Amount/).fill('2.5');
  await form.getByRole('button', { name: 'Move' }).click();
  await until('both steps are done', async () => /1\. Exported from X[\s\S]*2\. Imported on C/.test(await form.innerText()));
  const after = BigInt(await node.evm('evm_getBalance', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'latest'));
  check(after - before > 2_490_000_000_000_000_000n, 'the account has 2.5 more on C');
  check(/esker call xvm\.export/.test(await form.innerText()), 'the equal commands are beside the form');

  await form.getByLabel('Direction').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('1');
  await page.keyboard.press('Enter');
  await until('the way back is done', async () => /1\. Exported from C[\s\S]*2\. Imported on X/.test(await form.innerText()));
  await form.getByRole('link').last().click();
  await sees(page, /Import from C/, 'h1');

  const left = async () => (await node.rpc('/ext/keystore', 'keystore.listUsers', {})).users.filter((name) => name.startsWith('page-'));
  check(!(await left()).length, 'no user of the page is left in the keystore');
  // A busy Firefox may lose the last request of a page that is left.
  if (kind === 'firefox') return;
  await open(page, url, '#/do', 'Do');
  await panel(page, 'Transfer on X').getByLabel('To').fill((await node.user()).address);
  // The payment is on its way when the page is left.
  await page.evaluate(() => {
    const { fetch } = window;
    window.fetch = (url, options) => {
      window.isPaying ||= Boolean(options?.body?.includes('"xvm.send"'));
      return options?.body?.includes('"xvm.send"') ? new Promise(() => {}) : fetch(url, options);
    };
  });
  await panel(page, 'Transfer on X').getByRole('button', { name: 'Transfer' }).click();
  await until('the page pays', () => page.evaluate(() => window.isPaying));
  check((await left()).length === 1, 'the page has a user');
  await page.goto('about:blank');
  await until('the user of a page that is left is deleted', async () => !(await left()).length);
}
