// One node for a file of tests, and each test from the same state.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startNode } from 'esker-dev';

let node;
before(async () => (node = await startNode({ accounts: 3 })));
after(() => node?.stop());

const OTHER = '0x00000000000000000000000000000000000000a1';
const balance = (account) => node.rpc('eth_getBalance', [account, 'latest']);

/** A test that leaves the node as it was. */
const isolated = (name, use) => test(name, () => node.isolated(use));

isolated('a payment arrives', async () => {
  const tx = { from: node.accounts[0].cAddress, to: OTHER, value: 5n };
  const receipt = await node.waitReceipt(await node.rpc('eth_sendTransaction', [tx]));
  assert.equal(receipt.status, '0x1');
  assert.equal(await balance(OTHER), '0x5');
});

isolated('the next test begins without it', async () => {
  assert.equal(await balance(OTHER), '0x0');
});
