// Each kind of ID leads to its view by the search box.

import { check, client, open, sees, until } from './lib.mjs';

export async function run({ page, url }) {
  const node = client(url);
  const user = await node.user();
  const hash = await node.pay('0x4');
  const receipt = await node.receipt(hash);
  const name = `Journey ${Date.now() % 100_000}`;
  const asset = (await node.xvm('xvm.createFixedCapAsset', { ...user, name, symbol: 'JRNY', denomination: 2, initialHolders: [{ amount: 100, address: user.address }] })).assetID;
  await node.acceptedX(asset);
  const sent = (await node.xvm('xvm.send', { ...user, assetID: asset, amount: 5, to: user.address })).txID;
  await node.acceptedX(sent);
  const { block } = await node.xvm('xvm.getBlockByHeight', { height: 1, encoding: 'json' });
  const exported = (await node.nat('nat.export', { ...user, assetID: 'NAT', amount: 2_000_000, to: user.address })).txID;
  await node.acceptedC(exported);

  await open(page, url, '', 'Overview');
  const search = async (text) => {
    await page.locator('body').click({ position: { x: 1, y: 1 } });
    await page.keyboard.press('/');
    check(await page.evaluate(() => document.activeElement.id === 'search'), '/ focuses the search');
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
  };
  const leads = async (text, heading) => {
    await search(text);
    await until(`"${text}" leads to ${heading}`, async () => heading.test(await page.locator('h1').first().innerText()));
  };

  await leads(hash, /Transaction of C/);
  await leads(receipt.blockHash, /Block .* of C/);
  await leads(sent, /Transfer, transaction of X/);
  await leads(block.id, /Block 1 of X/);
  await leads(user.address, /Address/);
  await leads(user.address.replace('X-', 'P-'), /Address/);
  await leads(user.address.replace('X-', 'C-'), /Address/);
  await leads('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', /Account of C/);
  await leads('0xcA11bde05977b3631167028862bE2a173976CA11', /Contract of C/);
  await leads('NAT', /Asset/);
  await leads(name, new RegExp(`Asset ${name}`));
  await leads(exported, /Export to X/);
  await leads(`${sent}:0`, /Output 0/);
  await search('1');
  await sees(page, /Block of C[\s\S]*Block of X/, 'main');
  await search(asset);
  await sees(page, /Asset[\s\S]*Transaction of X/, 'main');
  await search('no such thing');
  await sees(page, 'Nothing found', 'h2');
}
