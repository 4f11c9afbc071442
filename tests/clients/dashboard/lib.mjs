// What the journeys share: waits with deadlines and names, and data made over JSON-RPC.

const WELL_KNOWN = 'PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN';

/** Accounts of the usual mnemonic. */
export const ACCOUNTS = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'];

/** Waits until `ask()` is true or returns something, at most 60 s; the error names what was awaited. */
export async function until(what, ask, ms = 60_000) {
  const end = Date.now() + ms;
  let last = '';
  for (;;) {
    const found = await Promise.resolve().then(ask).catch((error) => { last = error.message; });
    if (found) return found;
    if (Date.now() > end) throw new Error(`timed out after ${ms / 1000} s: waiting until ${what}${last ? ` (${last})` : ''}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

/** Throws unless the condition holds. */
export function check(condition, what) {
  if (!condition) throw new Error(`expected: ${what}`);
}

/** A client of the node's methods. */
export function client(url) {
  let id = 0;
  const rpc = async (path, method, params) => {
    const answer = await fetch(new URL(path, url), {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, signal: AbortSignal.timeout(30_000),
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
    });
    const { result, error } = await answer.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const evm = (method, ...params) => rpc('/ext/bc/C/rpc', method, params);
  const xvm = (method, params = {}) => rpc('/ext/bc/X', method, params);
  const nat = (method, params = {}) => rpc('/ext/bc/C/nat', method, params);
  return {
    rpc, evm, xvm, nat,
    async user() {
      const user = { username: `journey-${Math.random().toString(36).slice(2)}`, password: 'Str0ng-Pass-W0rd!' };
      await rpc('/ext/keystore', 'keystore.createUser', user);
      const { address } = await xvm('xvm.importKey', { ...user, privateKey: WELL_KNOWN });
      await nat('nat.importKey', { ...user, privateKey: WELL_KNOWN });
      return { ...user, address };
    },
    receipt: (hash) => until(`${hash} has a receipt`, () => evm('evm_getTransactionReceipt', hash)),
    acceptedX: (txID) => until(`X accepts ${txID}`, async () => (await xvm('xvm.getTxStatus', { txID })).status === 'Accepted'),
    acceptedC: (txID) => until(`C accepts ${txID}`, async () => (await nat('nat.getAtomicTxStatus', { txID })).status === 'Accepted'),
    pay: (value = '0x1') => evm('evm_sendTransaction', { from: ACCOUNTS[0], to: ACCOUNTS[1], value }),
  };
}

/** Opens a view and waits for its heading. */
export async function open(page, url, hash, heading) {
  await page.goto('about:blank');
  await page.goto(new URL(`/${hash}`, url).href);
  await sees(page, heading ?? /./, 'h1');
}

/** Waits until an element that matches has this text. */
export async function sees(page, text, selector = 'main') {
  const matches = (found) => (text instanceof RegExp ? text.test(found) : found.includes(text));
  return until(`${selector} shows ${text}`, async () => (await page.locator(selector).allInnerTexts()).some(matches));
}

/** The panel with this heading. */
export const panel = (page, title) => page.locator('section.panel', { has: page.locator('h2', { hasText: new RegExp(`^${title}`) }) }).first();

/** What axe-core finds in the view, and by how much it is wider than the window. */
export async function violations(page, axe, view) {
  await until(`${view} is complete`, async () => (await page.locator('.loading').count()) === 0);
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], resultTypes: ['violations'] }));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return [...found.map(({ id, nodes }) => `${view}: ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].any[0]?.message ?? ''}`), ...(wide > 0 ? [`${view}: wider than the window by ${wide}`] : [])];
}
