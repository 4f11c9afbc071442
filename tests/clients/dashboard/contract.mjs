// A contract is deployed from an artifact with an argument of its constructor, then read by its ABI, with its storage.

import { open, panel, sees, until } from './lib.mjs';

// The constructor stores its argument in slot 0; each call returns that slot.
const ARTIFACT = {
  contractName: 'Keeper', sourceName: 'Keeper.sol', bytecode: '0x6020602038035f395f515f55675f545f5260205ff35f5260086018f3', deployedBytecode: '0x5f545f5260205ff3',
  abi: [
    { type: 'constructor', inputs: [{ name: 'kept', type: 'uint256' }] },
    { type: 'function', name: 'get', stateMutability: 'view', inputs: [], outputs: [{ name: 'kept', type: 'uint256' }] },
    { type: 'function', name: 'touch', stateMutability: 'nonpayable', inputs: [{ name: 'texts', type: 'string[]' }], outputs: [] },
  ],
};

export async function run({ page, url }) {
  await open(page, url, '#/do', 'Do');
  const form = panel(page, 'Deploy a contract');
  await form.getByLabel(/Artifact/).setInputFiles({ name: 'Keeper.json', mimeType: 'application/json', buffer: Buffer.from('{"abi":5}') });
  await sees(page, 'it has no "abi"', '[role=alert]');
  await form.getByLabel(/Artifact/).setInputFiles({ name: 'Keeper.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(ARTIFACT)) });
  await form.getByLabel('kept, uint256').fill('no number');
  await form.getByRole('button', { name: 'Deploy Keeper' }).click();
  await sees(page, 'expected an integer', '[role=alert]');
  await form.getByLabel('kept, uint256').fill('77');
  await form.getByRole('button', { name: 'Deploy Keeper' }).click();
  await until('the contract is deployed', async () => (await form.innerText()).includes('Deployed at'));
  await form.locator('a[href^="#/address/0x"]').click();
  await sees(page, /Contract of C/, 'h1');

  await page.getByText('get()', { exact: true }).click();
  await page.getByRole('button', { name: 'Read' }).click();
  await sees(page, 'kept: 77', '[role=status]');
  await page.getByText('touch(string[])', { exact: true }).click();
  await page.getByLabel('texts, string[]').fill('["one", "two"]');
  await page.getByRole('button', { name: 'Send' }).click();
  await sees(page, /Sent[\s\S]*succeeded/, '[role=status]');
  await page.getByRole('tab', { name: 'Storage' }).click();
  await sees(page, '4d', '[role=tabpanel]:not([hidden])');
  await page.getByRole('tab', { name: 'Tokens' }).click();
  await sees(page, 'No token was transferred to it', '[role=tabpanel]:not([hidden])');
}
