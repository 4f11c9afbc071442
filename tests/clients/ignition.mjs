// Hardhat Ignition's engine, that of Hardhat 2 and that of Hardhat 3, against the EVM chain of a development node, without any
// configuration: `node ignition.mjs URL`.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Contract, Interface, JsonRpcProvider } from 'ethers';
import * as ignition2 from 'ignition-core2';
import * as ignition3 from 'ignition-core3';
import { call, steps } from './check.mjs';
import { NOBODY, STORE, STORE_CODE, rpcOf } from './evm.mjs';

/** Longest time of a deployment: five confirmations that never come would take for ever. */
const PATIENCE_MS = 120_000;

const origin = process.argv[2];
const url = rpcOf(origin);
const { pathname } = new URL(url);
const request = (method, params = []) => call(origin, pathname, method, params);

const node = new JsonRpcProvider(url, undefined, { cacheTimeout: -1 });
const accounts = await request('eth_accounts');
const folder = mkdtempSync(join(tmpdir(), 'esker-ignition-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const artifact = {
  _format: 'hh-sol-artifact-1',
  contractName: 'Store',
  sourceName: 'Store.sol',
  abi: JSON.parse(new Interface(STORE).formatJson()),
  bytecode: STORE_CODE,
  deployedBytecode: '0x',
  linkReferences: {},
  deployedLinkReferences: {},
};

/** A contract that is paid for its creation, calls that wait for each other, an event that is read, a payment. */
const module = (ignition, id) =>
  ignition.buildModule(id, (m) => {
    const store = m.contract('Store', [], { value: 7n });
    const first = m.call(store, 'put', [3n, 4n], { id: 'first' });
    const second = m.call(store, 'put', [5n, 6n], { id: 'second', after: [first], from: m.getAccount(1) });
    const who = m.readEventArgument(second, 'Put', 'who');
    const other = m.contract('Store', [], { id: 'other', after: [second] });
    m.send('pay', NOBODY, 11n, undefined, { after: [other] });
    m.call(other, 'put', [1n, 2n], { id: 'third' });
    return { store, other, who };
  });

/** Deploys a module; where its contracts are. */
async function deploy(ignition, ignitionModule) {
  const deployed = ignition.deploy({
    artifactResolver: { loadArtifact: async () => artifact, getBuildInfo: async () => undefined },
    provider: { request: ({ method, params }) => request(method, params) },
    deploymentDir: join(folder, ignitionModule.id),
    ignitionModule,
    deploymentParameters: {},
    accounts,
  });
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('the deployment does not end')), PATIENCE_MS);
  });
  const result = await Promise.race([deployed, late]).finally(() => clearTimeout(timer));
  assert.equal(result.type, 'SUCCESSFUL_DEPLOYMENT', JSON.stringify(result));
  return result.contracts;
}

const versions = [['2', ignition2], ['3', ignition3]];

await steps([
  ['a development node is known as one', async () => {
    // The answers that hardhat-network-helpers checks.
    assert.match(await request('web3_clientVersion'), /^(anvil|hardhatnetwork)/i);
    assert.equal(await request('hardhat_getAutomine'), true);
    assert.equal((await request('hardhat_metadata')).chainId, Number((await node.getNetwork()).chainId));
  }],

  ...versions.flatMap(([version, ignition]) => {
    const id = `Hardhat${version}`;
    let deployed;
    return [
      [`Ignition of Hardhat ${version} deploys`, async () => {
        const paid = await node.getBalance(NOBODY);
        deployed = await deploy(ignition, module(ignition, id));
        const [store, other] = ['Store', 'other'].map((name) => deployed[`${id}#${name}`].address);
        assert.equal(await node.getBalance(store), 7n);
        assert.equal(await node.getBalance(NOBODY), paid + 11n);
        const stored = new Contract(store, STORE, node);
        assert.equal(await stored.count(), 2n);
        assert.equal(await stored.data(5n), 6n);
        assert.equal(await new Contract(other, STORE, node).data(1n), 2n);
      }],

      [`Ignition of Hardhat ${version} goes on where it ended`, async () => {
        const height = await node.getBlockNumber();
        assert.deepEqual(await deploy(ignition, module(ignition, id)), deployed);
        assert.equal(await node.getBlockNumber(), height);
      }],
    ];
  }),
]);
