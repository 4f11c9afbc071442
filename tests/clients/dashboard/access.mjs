// axe-core finds nothing in any view, in both themes and at both widths.

import { namedTxs } from './failure.mjs';
import { check, client, open, violations } from './lib.mjs';

/** The source of axe-core comes with the runner. */
export async function run({ page, url, axe }) {
  const node = client(url);
  const user = await node.user();
  const hash = await node.pay('0x6');
  await node.receipt(hash);
  const { txID } = await node.xvm('xvm.send', { ...user, assetID: 'NAT', amount: 11, to: user.address });
  await node.acceptedX(txID);
  const { failed, caught } = await namedTxs(node);
  const views = ['', `#/tx/c/${failed}`, `#/tx/c/${caught}`, [`#/address/${user.address}`, 'History'], [`#/tx/c/${caught}`, /^Events/], `#/tx/c/${hash}`, `#/tx/x/${txID}`, `#/utxo/${txID}/0`, '#/block/c/1', '#/block/x/1', `#/address/${user.address}`,
    '#/address/0xcA11bde05977b3631167028862bE2a173976CA11', '#/asset/NAT', '#/do', '#/operate', '#/search/1'];
  const found = [];
  for (const [view, tab] of views.map((one) => [one].flat())) {
    // Each view is loaded wide, then looked at in both themes and widths.
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, url, view);
    if (tab) await page.getByRole('tab', { name: tab }).click();
    for (const fold of await page.locator('.calls summary').all()) await fold.press('Enter');
    for (const [colorScheme, width] of [['light', 1440], ['dark', 360]]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      found.push(...await violations(page, axe, `${view || 'overview'}, ${colorScheme}, ${width}`));
    }
  }
  check(!found.length, `no violations:\n${found.join('\n')}`);
}
