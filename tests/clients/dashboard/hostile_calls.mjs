// Texts of others in names, events, errors and console lines of the tree of calls, very many calls, and very deep ones.

import { ACCOUNTS, check, client, open, sees, until } from './lib.mjs';

const EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202Egnp.exe\u2066\u0007';
const address = (number) => `0x${number.toString(16).padStart(40, '0')}`;
const [SAYS, FAILS, TOP, MANY, DEEP] = [0xf0010, 0xf0011, 0xf0012, 0xf0013, 0xf0014].map(address);
const CONSOLE = address(0x636f6e736f6c652e6c6f67n);
const word = (value) => BigInt(value).toString(16).padStart(64, '0');
const call = (to) => `5f5f365f5f73${to.slice(2)}5af150`;

/** Most characters of the view, however long the texts are. */
const MOST_TEXT = 40_000;
const MOST_ELEMENTS = 8_000;

/** Writes all of its input after the selector as the event `Said(string)`. */
const says = (topic) => `0x60043603806004 5f37 7f${topic.slice(2)} 905fa100`.replace(/ /g, '');
/** Reverts with the error `Evil(string)` that has the same. */
const fails = (selector) => `0x7f${selector.slice(2, 10).padEnd(64, '0')}5f52 60043603 60046004 37 365ffd`.replace(/ /g, '');
/** Makes 5,000 calls. */
const many = '0x6113885b5f5f5f5f5f61f0ff5af15060019003806003575000';
/** Calls itself until the gas is spent, and fails. */
const deep = '0x5f5f5f5f5f305af15f5ffd';

export async function run({ page, url }) {
  const node = client(url);
  await page.addInitScript(() => { window.hacked = 0; });
  await prepare(node);
  const text = Buffer.from(EVIL + 'long '.repeat(10_000));
  const data = `0x41304fac${word(0x20)}${word(text.length)}${text.toString('hex').padEnd(Math.ceil(text.length / 32) * 64, '0')}`;
  const send = async (to, more = {}) => {
    const hash = await node.evm('evm_sendTransaction', { from: ACCOUNTS[0], to, gas: '0x6acfc0', ...more });
    await node.receipt(hash);
    return hash;
  };

  await open(page, url, `#/tx/c/${await send(TOP, { data })}`, 'Transaction of C');
  const tree = page.locator('.calls').first();
  await until('the tree has all calls', async () => (await tree.locator('summary').count()) >= 4);
  await sees(page, /EVENT\s+[\s\S]*Said\(/, '.calls');
  await sees(page, /execution reverted: Evil\(/, '.calls .mark.bad');
  for (const line of await tree.locator('summary').all()) {
    await line.focus();
    if (!(await line.evaluate((element) => element.parentElement.open))) await page.keyboard.press('Enter');
  }
  await bounded(page);
  for (const tab of ['Events', 'Console']) {
    await page.getByRole('tab', { name: tab }).click();
    await until(`${tab} is filled`, async () => (await page.locator('[role=tabpanel]:not([hidden])').innerText()).includes('long long'));
  }

  await open(page, url, `#/tx/c/${await send(MANY)}`, 'Transaction of C');
  await until('the first calls are there', async () => (await tree.locator('summary').count()) === 201);
  await page.getByRole('button', { name: 'Show more (4,800 left)' }).press('Enter');
  await until('more calls are there', async () => (await tree.locator('summary').count()) === 401);
  await bounded(page);

  await open(page, url, `#/tx/c/${await send(DEEP)}`, 'Transaction of C');
  await until('calls that failed are open', async () => (await tree.locator('details[open]').count()) > 100);
  check((await tree.locator('summary').count()) <= 301, 'no more than 300 calls open by themselves');
  await bounded(page);
  check((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, 'deep calls do not widen the page');
}

async function prepare(node) {
  const hash = (text) => node.evm('web3_sha3', `0x${Buffer.from(text).toString('hex')}`);
  const codes = { [SAYS]: says(await hash('Said(string)')), [FAILS]: fails(await hash('Evil(string)')), [TOP]: `0x365f5f37${[SAYS, FAILS, CONSOLE].map(call).join('')}00`, [MANY]: many, [DEEP]: deep };
  for (const [to, code] of Object.entries(codes)) await node.evm('anvil_setCode', to, code);
  const inputs = [{ name: EVIL, type: 'string' }];
  const abi = [{ type: 'event', name: 'Said', inputs }, { type: 'error', name: 'Evil', inputs }, { type: 'function', name: 'log', stateMutability: 'view', inputs, outputs: [] }];
  const contract = { abi, evm: { bytecode: { object: '' }, deployedBytecode: { object: codes[SAYS].slice(2), immutableReferences: {} } } };
  await node.evm('hardhat_addCompilationResult', '0.8.0', {}, { contracts: { [`${EVIL}.sol`]: { [EVIL + 'name '.repeat(2000)]: contract } } });
  await until('the node knows the error', () => node.evm('evm_call', { to: FAILS, data: `0x41304fac${word(0x20)}${word(0)}` }, 'latest').then(() => false, (error) => /Evil\(/.test(error.message)));
}

/** Nothing of the texts became an element or ran, no mark of direction is shown as such, and the view is small. */
async function bounded(page) {
  const shown = await page.locator('main').innerText();
  check(shown.length < MOST_TEXT, `the view is bounded (it has ${shown.length} characters)`);
  check(!/[\u202a-\u202e\u2066-\u2069\u0007]/.test(shown), 'no mark of direction or control is shown as such');
  check((await page.evaluate(() => window.hacked)) === 0, 'no script of a text ran');
  check((await page.locator('main script, main img').count()) === 0, 'no markup of a text became elements');
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  check(elements < MOST_ELEMENTS, `the page has few elements (${elements})`);
}
