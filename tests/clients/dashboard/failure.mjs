// The reason, the call tree with its names, and the instructions of a failing transaction are read.

import { ACCOUNTS, check, client, open, sees, until } from './lib.mjs';

const INNER = '0x00000000000000000000000000000000000f0001';
const OUTER = '0x00000000000000000000000000000000000f0002';

const NAMED = '0x00000000000000000000000000000000000f0004';
const LOGS = '0x00000000000000000000000000000000000f0005';

const word = (value) => BigInt(value).toString(16).padStart(64, '0');

/** Code that reverts with this data. */
const revertsWith = (data) => `0x61${(data.length / 2).toString(16).padStart(4, '0')}600c5f3961${(data.length / 2).toString(16).padStart(4, '0')}5ffd${data}`;

/** Code that reverts with `Error(string)`. */
function reverts(text) {
  const data = Buffer.from(text);
  return revertsWith(`08c379a0${word(0x20)}${word(data.length)}${data.toString('hex').padEnd(Math.ceil(data.length / 32) * 64, '0')}`);
}

// `ERC20InsufficientBalance(address,uint256,uint256)` and `Transfer(address,address,uint256)`, which the node knows without artifacts.
const INSUFFICIENT = `e450d38c${word(ACCOUNTS[0])}${word(3)}${word(7)}`;
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const TRANSFERS = `0xa9059cbb${word(ACCOUNTS[1])}${word(7)}`;
/** Code that writes `Transfer(0x..05, 0x..06, 9)`, with another contract's call after it. */
const logsThenCalls = (address) => `0x60095f5260066005${`7f${TRANSFER}`}60205fa35f5f5f5f5f73${address.slice(2)}5af100`;

/** Code that calls another contract and fails as that one does. */
const calls = (address) => `0x5f5f5f5f5f73${address.slice(2)}5af13d5f5f3e3d5ffd`;

export async function run({ page, url }) {
  const node = client(url);
  await node.evm('anvil_setCode', INNER, reverts('the vault is closed'));
  await node.evm('anvil_setCode', OUTER, calls(INNER));
  const hash = await node.evm('evm_sendTransaction', { from: ACCOUNTS[0], to: OUTER, gas: '0x30d40', data: '0x12345678' });
  const { status } = await node.receipt(hash);
  check(status === '0x0', 'the transaction fails');

  await open(page, url, `#/tx/c/${hash}`, 'Transaction of C');
  await sees(page, 'failed', '.title');
  await sees(page, 'the vault is closed', '[data-reason]');
  const tree = page.locator('.calls');
  await until('the tree shows both calls', async () => (await tree.locator('summary').count()) === 2);
  check((await tree.locator('details.failed').count()) === 2, 'both calls are marked as failed');

  await page.getByRole('tab', { name: 'Calls' }).focus();
  await page.keyboard.press('ArrowRight');
  await sees(page, 'It wrote no events', '[role=tabpanel]:not([hidden])');
  await page.getByRole('tab', { name: 'Steps' }).click();
  const steps = page.getByRole('region', { name: /Instructions/ });
  await until('instructions are shown', async () => (await steps.innerText()).includes('CALL'));
  await steps.focus();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowDown');
  await sees(page, /^3: PUSH0/, '.steps h3');
  await page.getByRole('tab', { name: 'State changes' }).click();
  await sees(page, 'Nonce', '[role=tabpanel]:not([hidden])');
  await names(page, node, url);
}

/** `failed` reverts with an error that the node knows; `caught` writes an event and calls one that does. */
export async function namedTxs(node) {
  await node.evm('anvil_setCode', NAMED, revertsWith(INSUFFICIENT));
  await node.evm('anvil_setCode', LOGS, logsThenCalls(NAMED));
  const send = async (to, data) => {
    const hash = await node.evm('evm_sendTransaction', { from: ACCOUNTS[0], to, gas: '0x30d40', data });
    return [hash, (await node.receipt(hash)).status];
  };
  const [[failed], [caught, status]] = [await send(NAMED, TRANSFERS), await send(LOGS)];
  check(status === '0x1', 'the caller goes on');
  return { failed, caught };
}

/** The tree says what the node's error says, and has the names of functions and events. */
async function names(page, node, url) {
  const { failed, caught } = await namedTxs(node);
  const call = node.evm('evm_call', { from: ACCOUNTS[0], to: NAMED, data: TRANSFERS }, 'latest');
  const said = await call.then(() => '', (error) => error.message.replace('evm_call: ', ''));
  check(/^execution reverted: ERC20InsufficientBalance\(/.test(said), `the node names the error (${said})`);
  await open(page, url, `#/tx/c/${failed}`, 'Transaction of C');
  await sees(page, said, '[data-reason]');
  await sees(page, `transfer(to: ${ACCOUNTS[1]}, value: 7)`, '.calls');
  await sees(page, said, '.calls .mark.bad');
  await page.locator('.calls summary').first().press('Enter');
  await sees(page, /Error: needed\s+7/, '.calls .inside');

  await open(page, url, `#/tx/c/${caught}`, 'Transaction of C');
  await sees(page, /EVENT\s+Transfer\(from: 0x0{38}\d+5, to: 0x0{38}\d+6, value: 9\)[\s\S]*ERC20InsufficientBalance/, '.calls');
  await page.getByRole('tab', { name: /^Events/ }).click();
  await sees(page, /Transfer\(from: [\s\S]*Topic 0[\s\S]*Data/, '[role=tabpanel]:not([hidden])');
}
