// axe-core finds nothing in any view, in both themes and at both widths.

import { check, client, open, until } from './lib.mjs';

/** The source of axe-core comes with the runner. */
export async function run({ page, url, axe }) {
  const node = client(url);
  const user = await node.user();
  const hash = await node.pay('0x6');
  await node.receipt(hash);
  const { txID } = await node.xvm('xvm.send', { ...user, assetID: 'NAT', amount: 11, to: user.address });
  await node.acceptedX(txID);
  const views = ['', `#/tx/c/${hash}`, `#/tx/x/${txID}`, `#/utxo/${txID}/0`, '#/block/c/1', '#/block/x/1', `#/address/${user.address}`,
    '#/address/0xcA11bde05977b3631167028862bE2a173976CA11', '#/asset/NAT', '#/do', '#/operate', '#/search/1'];
  const found = [];
  for (const [colorScheme, width] of [['light', 1440], ['dark', 360]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    for (const view of views) {
      await open(page, url, view);
      await until(`${view || 'overview'} is complete`, async () => (await page.locator('.loading').count()) === 0);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
      for (const { id, nodes } of violations) found.push(`${view || 'overview'}, ${colorScheme}, ${width}: ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].any[0]?.message ?? ''}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) found.push(`${view || 'overview'}, ${width}: wider than the window by ${wide}`);
    }
  }
  check(!found.length, `no violations:\n${found.join('\n')}`);
}
