// Blocks of both chains appear without a reload; the stream pauses and goes on.

import { check, client, open, sees, until } from './lib.mjs';

export async function run({ page, url }) {
  const node = client(url);
  await open(page, url, '', 'Overview');
  await until('the page is live', () => page.locator('.state-live').isVisible());
  const loads = page.evaluate(() => performance.timeOrigin);

  const hash = await node.pay();
  const { blockNumber } = await node.receipt(hash);
  await until(`the stream shows ${hash}`, () => page.locator(`.stream a[href="#/tx/c/${hash}"]`).isVisible());
  await sees(page, Number(blockNumber).toLocaleString('en'), '.strip');

  const user = await node.user();
  const { txID } = await node.xvm('xvm.send', { ...user, assetID: 'NAT', amount: 1000, to: user.address });
  await until(`the stream shows ${txID}`, () => page.locator(`.stream a[href="#/tx/x/${txID}"]`).isVisible());

  await page.keyboard.press('p');
  await sees(page, 'paused', '.panel-head');
  const second = await node.pay('0x2');
  const { blockNumber: later } = await node.receipt(second);
  await until('the heights go on', async () => (await page.locator('.strip').innerText()).includes(Number(later).toLocaleString('en')));
  check(!(await page.locator(`.stream a[href="#/tx/c/${second}"]`).isVisible()), 'a paused stream stays as it is');
  await page.getByRole('button', { name: 'Resume' }).click();
  await until(`the stream shows ${second}`, () => page.locator(`.stream a[href="#/tx/c/${second}"]`).isVisible());

  await node.evm('evm_setAutomine', false);
  const waiting = await node.pay('0x7');
  await page.evaluate((hash) => { location.hash = `#/tx/c/${hash}`; }, waiting);
  await sees(page, 'waiting', '.title');
  await node.evm('evm_setAutomine', true);
  await node.evm('evm_mine');
  await sees(page, 'succeeded', '.title');
  await hiddenPages(page, node);
  check((await loads) === (await page.evaluate(() => performance.timeOrigin)), 'the page was not loaded again');
}

/** A page that nobody looks at reads no blocks; it has them when it is looked at again. */
async function hiddenPages(page, node) {
  const look = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { get: () => value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await page.evaluate(() => { location.hash = '#/'; });
  await sees(page, 'Overview', 'h1');
  await until('the stream is there', async () => (await page.locator('.stream tbody tr').count()) > 3);
  await look(true);
  const asked = [];
  const note = (request) => asked.push(request.postData() ?? '');
  page.on('request', note);
  let hash;
  for (let i = 0; i < 5; i += 1) {
    hash = await node.pay('0x8');
    const { blockNumber } = await node.receipt(hash);
    await until('the header of the block is there', async () => (await page.locator('.strip').innerText()).includes(Number(blockNumber).toLocaleString('en')));
  }
  check(!asked.some((body) => body.includes('evm_getBlockByNumber')), 'a hidden page reads no blocks');
  check(!(await page.locator(`.stream a[href="#/tx/c/${hash}"]`).count()), 'it does not draw them');
  await look(false);
  await until('the block is there', () => page.locator(`.stream a[href="#/tx/c/${hash}"]`).isVisible());
  page.off('request', note);
}
