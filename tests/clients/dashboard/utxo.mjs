// A UTXO is followed by click from X to C, and back from C to X.

import { client, open, sees, until } from './lib.mjs';

export async function run({ page, url }) {
  const node = client(url);
  const user = await node.user();
  const account = '0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC';
  const sent = (await node.xvm('xvm.send', { ...user, assetID: 'NAT', amount: 7_000_000, to: user.address })).txID;
  await node.acceptedX(sent);
  const exported = (await node.xvm('xvm.export', { ...user, assetID: 'NAT', amount: 3_000_000_000, to: user.address.replace('X-', 'C-') })).txID;
  await node.acceptedX(exported);

  await open(page, url, `#/tx/x/${exported}`, 'Export to C');
  const graph = page.getByRole('region', { name: 'Graph of UTXOs' });
  await until('the graph shows that it waits', async () => (await graph.textContent()).includes('Waits for C'));

  const imported = (await node.nat('nat.import', { ...user, sourceChain: 'X', to: account })).txID;
  await node.acceptedC(imported);
  await blocksWithControls(page, node, url, imported);
  await open(page, url, `#/tx/x/${exported}`, 'Export to C');
  await until('the graph shows the import', async () => (await graph.textContent()).includes('Imported by C'));
  await graph.locator(`a[href="#/tx/atomic/${imported}"]`).click();
  await sees(page, /Import from X/, 'h1');

  await until('the graph shows the export', async () => (await graph.textContent()).includes('Exported by X'));
  await graph.locator(`a[href="#/tx/x/${exported}"]`).first().click();
  await sees(page, /Export to C/, 'h1');

  const back = (await node.nat('nat.export', { ...user, assetID: 'NAT', amount: 1_000_000_000, to: user.address })).txID;
  await node.acceptedC(back);
  const home = (await node.xvm('xvm.import', { ...user, sourceChain: 'C', to: user.address })).txID;
  await node.acceptedX(home);
  await open(page, url, `#/tx/atomic/${back}`, 'Export to X');
  await until('the graph shows the import on X', async () => (await graph.textContent()).includes('Imported by X'));
  await graph.locator(`a[href="#/tx/x/${home}"]`).focus();
  await page.keyboard.press('Enter');
  await sees(page, /Import from C/, 'h1');
  await page.locator(`main a[href="#/utxo/${home}/0"]`).first().click();
  await sees(page, /Output 0 of a transaction of X/, 'h1');
  await sees(page, /Holds\s+[\d.]+ NAT[\s\S]*Now\s+unspent/);
}

/** Blocks that controls change are shown, also where they have an import, too. */
async function blocksWithControls(page, node, url, imported) {
  await node.evm('anvil_setBalance', '0x00000000000000000000000000000000000f0020', '0x1');
  const changed = Number(await node.evm('evm_blockNumber'));
  await open(page, url, `#/block/c/${changed}`, /^Block [\d,]+ of C/);
  await sees(page, /Controls\s+changed state/);
  const { blockHeight } = await node.nat('nat.getAtomicTx', { txID: imported, encoding: 'json' });
  await open(page, url, `#/block/c/${blockHeight}`, /^Block [\d,]+ of C/);
  await page.getByRole('tab', { name: 'Exports and imports (1)' }).click();
  await until('its import is listed', () => page.locator(`a[href="#/tx/atomic/${imported}"]`).isVisible());
}
