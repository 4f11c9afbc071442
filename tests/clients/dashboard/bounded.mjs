// What the page asks of a node stays in bounds: a list after errors, the inputs of a large transaction.

import { ACCOUNTS, check, client, open, sees, until } from './lib.mjs';

/** Inputs of the large transaction: more than a page of them. */
const INPUTS = 100;
/** Rows of a list before its reader asks for more. */
const ROWS = 64;
/** Most requests for inputs and outputs at a time. */
const AT_ONCE = 8;

export async function run({ page, url }) {
  const node = client(url);
  await anAddressWhoseListFails(page, url, node);
  await aTransactionOfManyInputs(page, url, node);
}

/** The list asks again after pauses that grow, and when its reader says so. */
async function anAddressWhoseListFails(page, url, node) {
  await node.receipt(await node.pay('0x3'));
  let isBroken = true;
  const asked = [];
  await page.route('**/ext/bc/C/rpc', async (route) => {
    const body = route.request().postDataJSON();
    if (!isBroken || ![body].flat().some(({ method }) => method === 'evm_getTransactionBySenderAndNonce')) return route.continue();
    asked.push(performance.now());
    const answer = ({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32005, message: 'too many requests' } });
    return route.fulfill({ json: Array.isArray(body) ? body.map(answer) : answer(body) });
  });
  await open(page, url, `#/address/${ACCOUNTS[0].toLowerCase()}`, /./);
  await page.getByRole('tab', { name: 'Sent' }).click();
  const list = page.locator('[role=tabpanel]:not([hidden])');
  await until('the list asked three times by itself', () => asked.length >= 3);
  const pauses = asked.slice(1, 3).map((time, i) => time - asked[i]);
  check(pauses[0] > 900 && pauses[1] > 1800, `pauses grow (${pauses.map(Math.round)} ms)`);
  await sees(page, /too many requests[\s\S]*The node limits requests: wait, then try again/);
  const before = asked.length;
  await list.getByRole('button', { name: 'Try again' }).click();
  await until('a click asks at once', () => asked.length > before);
  isBroken = false;
  await until('the error is there again', () => list.getByRole('button', { name: 'Try again' }).isVisible());
  await list.getByRole('button', { name: 'Try again' }).click();
  await sees(page, /transactions, newest first/);
  check(await list.locator('.list-row').count() > 0, 'the page that failed is not left out');
  await page.unroute('**/ext/bc/C/rpc');
}

/** Its inputs are looked up a few at a time, and only those that are shown. */
async function aTransactionOfManyInputs(page, url, node) {
  const user = await node.user();
  const { address } = await node.xvm('xvm.createAddress', user);
  const outputs = Array.from({ length: INPUTS }, () => ({ assetID: 'NAT', amount: 1_000_000, to: address }));
  await node.acceptedX((await node.xvm('xvm.sendMultiple', { ...user, from: [user.address], outputs, changeAddr: user.address })).txID);
  // Each input is of a transaction of its own only if several are asked for; so it is made of further ones.
  const { txID } = await node.xvm('xvm.send', { ...user, from: [address], assetID: 'NAT', amount: INPUTS * 1_000_000 - 1_000_000, to: user.address, changeAddr: user.address });
  await node.acceptedX(txID);
  const { tx } = await node.xvm('xvm.getTx', { txID, encoding: 'json' });
  check(tx.unsignedTx.inputs.length === INPUTS, `it has ${INPUTS} inputs (${tx.unsignedTx.inputs.length})`);
  // To the page each of them is of another transaction, so that each takes a request.
  const fill = (i) => `${txID.slice(0, -6)}${String(i).padStart(6, 'A')}`;
  tx.unsignedTx.inputs.forEach((input, i) => { input.txID = fill(i); });
  let [running, most] = [0, 0];
  const asked = new Set();
  await page.route('**/ext/bc/X', async (route) => {
    const { id, method, params } = route.request().postDataJSON();
    if (method !== 'xvm.getTx') return route.continue();
    if (params.txID === txID) return route.fulfill({ json: { jsonrpc: '2.0', id, result: { tx, encoding: 'json' } } });
    asked.add(params.txID);
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
    running -= 1;
    return route.fulfill({ json: { jsonrpc: '2.0', id, error: { code: -32000, message: 'not here' } } });
  });
  await open(page, url, `#/tx/x/${txID}`, 'Transfer');
  const inputs = page.getByRole('region', { name: 'Table: Inputs' });
  await until('the inputs are looked up', async () => (await inputs.getByText('not known here').count()) === ROWS);
  check(asked.size === ROWS, `only those that are shown are asked for (${asked.size})`);
  check(most <= AT_ONCE, `at most ${AT_ONCE} at a time (${most})`);
  await sees(page, /60 more are in the lists below/);
  await inputs.getByRole('button', { name: `Show more (${INPUTS - ROWS} left)` }).click();
  await until('all inputs are looked up', async () => (await inputs.getByText('not known here').count()) === INPUTS);
  check(most <= AT_ONCE, `still at most ${AT_ONCE} at a time (${most})`);
  await page.unroute('**/ext/bc/X');
}
