// Libraries that start anvil, with the program of a name `anvil` in its place, and with anvil as the control:
// `node launchers.mjs PROGRAM`.
import assert from 'node:assert/strict';
import { createAnvil } from '@viem/anvil';
import { Instance } from 'prool';
import { createTestClient, http, parseEther, publicActions, walletActions } from 'viem';
import { foundry } from 'viem/chains';
import { ANVIL, freePort } from './anvil.mjs';

/** What a user of the launcher does then. */
async function useChain(port) {
  const transport = http(`http://127.0.0.1:${port}`);
  const client = createTestClient({ chain: foundry, mode: 'anvil', transport }).extend(publicActions).extend(walletActions);
  assert.equal(await client.getChainId(), 31337);
  const [account, to] = await client.getAddresses();
  const hash = await client.sendTransaction({ account, to, value: parseEther('1') });
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 50 });
  assert.equal(receipt.status, 'success');
  assert.equal(await client.getBalance({ address: to }), parseEther('10001'));
}

const launchers = {
  async prool(binary, port) {
    const instance = Instance.anvil({ binary, chainId: 31337, accounts: 10 }).create({ port });
    await instance.start();
    await useChain(port);
    await instance.stop();
  },
  async '@viem/anvil'(anvilBinary, port) {
    const anvil = createAnvil({ anvilBinary, port, accounts: 10, stepsTracing: true, autoImpersonate: true });
    await anvil.start();
    await useChain(port);
    await anvil.stop();
  },
};

const programs = { esker: process.argv[2] };
// The pinned anvil is a program of one machine.
if (process.platform === 'linux' && process.arch === 'x64') programs.anvil = ANVIL;
for (const [name, launch] of Object.entries(launchers)) {
  for (const [tool, program] of Object.entries(programs)) {
    await launch(program, await freePort());
    console.log(`ok   ${name} starts ${tool}`);
  }
}
