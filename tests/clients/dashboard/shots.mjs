// Pictures of the main views in both themes at 360 and 1440 pixels, into the folder of `SHOTS`; without it only that they show.

import { ACCOUNTS, client, open, until } from './lib.mjs';

export async function run({ page, url }) {
  const node = client(url);
  const user = await node.user();
  for (let i = 1; i < 4; i += 1) await node.receipt(await node.pay(`0x${(i * 1e17).toString(16)}`));
  const sent = (await node.xvm('xvm.send', { ...user, assetID: 'NAT', amount: 1_500_000_000, to: user.address, memo: 'rent for May' })).txID;
  await node.acceptedX(sent);
  const exported = (await node.xvm('xvm.export', { ...user, assetID: 'NAT', amount: 3_000_000_000, to: user.address.replace('X-', 'C-') })).txID;
  await node.acceptedX(exported);
  const imported = (await node.nat('nat.import', { ...user, sourceChain: 'X', to: ACCOUNTS[1] })).txID;
  await node.acceptedC(imported);
  const hash = await node.pay('0xde0b6b3a7640000');
  await node.receipt(hash);
  const views = { overview: '', 'transaction-c': `#/tx/c/${hash}`, 'transaction-x': `#/tx/x/${exported}`, address: `#/address/${user.address}`, do: '#/do', operate: '#/operate' };

  for (const [name, hashPath] of Object.entries(views)) {
    for (const colorScheme of ['light', 'dark']) {
      for (const width of [1440, 360]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: width === 360 ? 740 : 900 });
        await open(page, url, hashPath);
        await until(`${name} is complete`, async () => (await page.locator('.loading').count()) === 0
          && (name !== 'overview' || ((await page.locator('.stream tbody tr').count()) > 4 && (await page.locator('e-chart .stroke').count()) > 5)));
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${colorScheme}-${width}.png` });
      }
    }
  }
}
