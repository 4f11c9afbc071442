// Texts of others that hold markup, marks of direction and very much text stay texts, and bounded.

import { ACCOUNTS, check, client, open, sees, until } from './lib.mjs';

const EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202Egnp.exe\u0007';

export async function run({ page, url }) {
  const node = client(url);
  const user = await node.user();
  await page.addInitScript(() => { window.hacked = 0; });

  const memo = (await node.xvm('xvm.send', { ...user, assetID: 'NAT', amount: 9, to: user.address, memo: EVIL })).txID;
  await node.acceptedX(memo);
  await open(page, url, `#/tx/x/${memo}`, 'Transfer');
  await sees(page, '<script>window.hacked=1</script>\\u{202e}gnp.exe\\u{7}');

  const nft = (await node.xvm('xvm.createNFTAsset', { ...user, name: 'Hostile', symbol: 'EVIL', minterSets: [{ minters: [user.address], threshold: 1 }] })).assetID;
  await node.acceptedX(nft);
  const payload = `0x${Buffer.concat([Buffer.from(EVIL), Buffer.from([0xff, 0xfe])]).toString('hex')}`;
  const minted = (await node.xvm('xvm.mintNFT', { ...user, assetID: nft, payload, encoding: 'hexnc', to: user.address })).txID;
  await node.acceptedX(minted);
  await open(page, url, `#/tx/x/${minted}`, 'Operation');
  await sees(page, '\\xff\\xfe');

  // Code that reverts with its input: Error(string) of 60,000 characters.
  const echo = '0x00000000000000000000000000000000000f0003';
  await node.evm('anvil_setCode', echo, '0x365f5f37365ffd');
  const text = Buffer.from(EVIL + 'long '.repeat(12_000));
  const data = `0x08c379a0${'20'.padStart(64, '0')}${text.length.toString(16).padStart(64, '0')}${text.toString('hex').padEnd(Math.ceil(text.length / 32) * 64, '0')}`;
  const hash = await node.evm('evm_sendTransaction', { from: ACCOUNTS[0], to: echo, data, gas: '0x4c4b40' });
  await node.receipt(hash);
  await open(page, url, `#/tx/c/${hash}`, 'Transaction of C');
  await sees(page, '<script>', '[data-reason]');
  const shown = await page.locator('main').innerText();
  check(shown.length < 20_000, `a text of 60,000 characters is bounded (the view has ${shown.length})`);
  check(!/[\u202a-\u202e\u2066-\u2069\u0007]/.test(shown), 'no mark of direction or control is shown as such');
  for (const tab of await page.getByRole('tab').all()) {
    await tab.click();
    await until('the tab is filled', async () => (await page.locator('[role=tabpanel]:not([hidden])').innerText()).length > 0);
  }
  await page.goto(`${url.replace(/\/$/, '')}/#/search/${encodeURIComponent(EVIL)}`);
  await sees(page, 'Nothing found', 'h2');
  await page.goto(`${url.replace(/\/$/, '')}/#/address/${encodeURIComponent(EVIL)}`);
  await sees(page, /./, 'h1, [role=alert]');
  check((await page.evaluate(() => window.hacked)) === 0, 'no script of a text ran');
  check((await page.locator('main script, main img').count()) === 0, 'no markup of a text became elements');
}
