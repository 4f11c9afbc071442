// A lost connection is shown, and mended without a reload; what is open meanwhile stays.

import { namedTxs } from './failure.mjs';
import { check, client, open, sees, until } from './lib.mjs';

/** Messages of the console that this journey causes. */
export const expected = [/ERR_INTERNET_DISCONNECTED/, /WebSocket/];

export async function run({ page, url }) {
  const node = client(url);
  await open(page, url, '', 'Overview');
  await until('the page is live', () => page.locator('.state-live').isVisible());
  await page.evaluate(() => { window.kept = true; });

  await page.context().setOffline(true);
  await until('the page says that the node is lost', () => page.locator('.state-lost').isVisible());
  check(/No answer from/.test(await page.locator('.lost').innerText()), 'it says what happened');
  const hash = await node.pay('0x5');
  await node.receipt(hash);

  await page.context().setOffline(false);
  await until('the page is live again', () => page.locator('.state-live').isVisible());
  await until('the block of meanwhile is there', () => page.locator(`.stream a[href="#/tx/c/${hash}"]`).isVisible());
  check(await page.evaluate(() => window.kept), 'the page was not loaded again');

  const { caught } = await namedTxs(node);
  await page.evaluate((tx) => { location.hash = `#/tx/c/${tx}`; }, caught);
  await sees(page, /EVENT\s+Transfer/, '.calls');
  await page.context().setOffline(true);
  await until('the page says that the node is lost', () => page.locator('.state-lost').isVisible());
  await page.locator('.calls summary', { hasText: 'EVENT' }).press('Enter');
  await sees(page, /Topic 0/, '.calls');
  await page.getByRole('tab', { name: 'State changes' }).click();
  await sees(page, 'no answer from', '[role=alert]');
  await page.context().setOffline(false);
  await until('the page is live again', () => page.locator('.state-live').isVisible());
  await page.getByRole('button', { name: 'Try again' }).click();
  await sees(page, 'Nonce', '[role=tabpanel]:not([hidden])');
  check(await page.locator('.calls summary', { hasText: 'EVENT' }).evaluate((line) => line.parentElement.open), 'the tree stays as it was');
}
