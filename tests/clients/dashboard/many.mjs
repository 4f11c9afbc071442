// An address with 2,000 transactions of X: the list has few elements, and goes to its end and back quickly.

import { check, client, open, sees, until } from './lib.mjs';

const COUNT = 2_000;
/** Most elements of the page while the list is shown. */
const MOST_ELEMENTS = 1_500;
/** Most time until rows elsewhere in the list are complete, milliseconds. A busy machine is slow. */
const TURN_MS = 10_000;

export async function run({ page, url }) {
  const node = client(url);
  const user = await node.user();
  const { address } = await node.xvm('xvm.createAddress', user);
  let last = '';
  for (let i = 0; i < COUNT; i += 1) {
    last = (await node.rpc('/ext/bc/X/wallet', 'wallet.send', { ...user, from: [user.address], assetID: 'NAT', amount: 1 + i, to: address, changeAddr: user.address })).txID;
  }
  await node.acceptedX(last);

  await open(page, url, `#/address/${address}`, 'Address');
  await page.getByRole('tab', { name: 'History' }).click();
  await sees(page, '2,000 transactions, newest first');
  const list = page.getByRole('region', { name: 'History' });
  const rows = list.locator('.list-row');
  const complete = async () => !(await rows.allInnerTexts()).some((text) => /…(\n|$)/.test(text));
  const isShown = (amount) => async () => (await rows.filter({ hasText: `+${amount} NAT` }).count()) === 1 && complete();
  const elements = () => page.evaluate(() => document.querySelectorAll('*').length);
  await until('the newest row is there', isShown('0.000002'));
  await rows.first().locator('a').first().waitFor();
  check((await elements()) < MOST_ELEMENTS, `the page has few elements (${await elements()})`);

  await list.focus();
  const start = performance.now();
  await page.keyboard.press('End');
  await until('the oldest row is there', isShown('0.000000001'), TURN_MS);
  console.log(`to the oldest row: ${Math.round(performance.now() - start)} ms`);
  for (let i = 0; i < 40; i += 1) await page.keyboard.press('PageUp');
  await until('rows between are there', complete, TURN_MS);
  await page.keyboard.press('Home');
  await until('the newest row is there again', isShown('0.000002'), TURN_MS);
  check((await elements()) < MOST_ELEMENTS, `the page still has few elements (${await elements()})`);

  await page.getByRole('tab', { name: 'UTXOs' }).click();
  await until('UTXOs are shown', async () => (await page.locator('[role=tabpanel]:not([hidden]) tbody tr').count()) === 50);
  await page.getByRole('button', { name: /^Show more/ }).click();
  await until('more UTXOs are shown', async () => (await page.locator('[role=tabpanel]:not([hidden]) tbody tr').count()) === 100);
}
