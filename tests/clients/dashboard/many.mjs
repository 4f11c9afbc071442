// An address with 2,000 transactions of X: the list has few elements, and goes to its end and back quickly. `MANY` is another number
// of them, of up to 100,000.

import { check, client, open, sees, until } from './lib.mjs';

const COUNT = Number(process.env.MANY ?? 2_000);
/** Sends that wait for the node at a time. */
const AT_ONCE = 8;
/** An amount as the page shows it. */
const decimal = (units) => (units / 1e9).toFixed(9).replace(/0+$/, '');
/** Most elements of the page while the list is shown. */
const MOST_ELEMENTS = 1_500;
/** Most time until rows elsewhere in the list are complete, milliseconds. A busy machine is slow. */
const TURN_MS = 10_000;

export async function run({ page, url }) {
  const node = client(url);
  const user = await node.user();
  const { address } = await node.xvm('xvm.createAddress', user);
  // Each amount is its own, so that rows are known by it; the first and the last one are at the ends of the list.
  const send = async (amount) => (await node.rpc('/ext/bc/X/wallet', 'wallet.send', { ...user, from: [user.address], assetID: 'NAT', amount, to: address, changeAddr: user.address })).txID;
  const begun = performance.now();
  await node.acceptedX(await send(1));
  let sent = 1;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (sent < COUNT - 1) {
      sent += 1;
      await send(sent);
    }
  }));
  const waiting = async () => (await (await fetch(new URL('/ext/status', url))).json()).chains.find(({ alias }) => alias === 'X').pending;
  await until('all but one are accepted', async () => (await waiting()) === 0);
  await node.acceptedX(await send(COUNT));
  console.log(`${COUNT} transactions: ${Math.round((performance.now() - begun) / 1000)} s`);

  await open(page, url, `#/address/${address}`, 'Address');
  await page.getByRole('tab', { name: 'History' }).click();
  await sees(page, `${COUNT.toLocaleString('en')} transactions, newest first`);
  const list = page.getByRole('region', { name: 'History' });
  const rows = list.locator('.list-row');
  const complete = async () => !(await rows.allInnerTexts()).some((text) => /…(\n|$)/.test(text));
  const isShown = (amount) => async () => (await rows.filter({ hasText: `+${amount} NAT` }).count()) === 1 && complete();
  const elements = () => page.evaluate(() => document.querySelectorAll('*').length);
  await until('the newest row is there', isShown(decimal(COUNT)));
  await rows.first().locator('a').first().waitFor();
  check((await elements()) < MOST_ELEMENTS, `the page has few elements (${await elements()})`);

  await list.focus();
  const start = performance.now();
  await page.keyboard.press('End');
  await until('the oldest row is there', isShown(decimal(1)), TURN_MS);
  console.log(`to the oldest row: ${Math.round(performance.now() - start)} ms`);
  for (let i = 0; i < 40; i += 1) await page.keyboard.press('PageUp');
  await until('rows between are there', complete, TURN_MS);
  await page.keyboard.press('Home');
  await until('the newest row is there again', isShown(decimal(COUNT)), TURN_MS);
  check((await elements()) < MOST_ELEMENTS, `the page still has few elements (${await elements()})`);

  await page.getByRole('tab', { name: 'UTXOs' }).click();
  await until('UTXOs are shown', async () => (await page.locator('[role=tabpanel]:not([hidden]) tbody tr').count()) === 50);
  await page.getByRole('button', { name: /^Show more/ }).click();
  await until('more UTXOs are shown', async () => (await page.locator('[role=tabpanel]:not([hidden]) tbody tr').count()) === 100);
}
