// Proxies of OpenZeppelin: upgrades by the owner alone (UUPS, ERC-1967), and clones at addresses known before (ERC-1167).
import assert from 'node:assert/strict';
import { getCreate2Address as create2InEthers, keccak256 as keccakInEthers } from 'ethers';
import { concat, encodeFunctionData, getAddress, getContractAddress, numberToHex, pad, parseEventLogs, zeroAddress } from 'viem';
import { addressOf, at, deploy, deployWithEthers, ethers, events, inEthers, node, read, refused, sent, signer, wallet, write } from './clients.mjs';

const [OWNER, STRANGER] = [8, 9];
/** Where a proxy keeps the address of its implementation: `keccak256("eip1967.proxy.implementation") - 1`. */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc';
const MOST = 2n ** 64n - 1n;

let first, second, proxy;
const migration = () => encodeFunctionData({ abi: second.abi, functionName: 'migrate' });
const word = (address) => pad(address.toLowerCase(), { size: 32 });

async function implementation() {
  const [inViem, inEthersToo] = await Promise.all([
    node.getStorageAt({ address: proxy.address, slot: IMPLEMENTATION_SLOT }),
    ethers.getStorage(proxy.address, IMPLEMENTATION_SLOT),
  ]);
  assert.equal(inViem, inEthersToo);
  return inViem;
}

const proxySteps = [
  ['proxy: deployed with the call that initializes it', async () => {
    first = await deploy('Box');
    const initialize = encodeFunctionData({ ...first, functionName: 'initialize', args: [addressOf(OWNER), 21n] });
    const { address } = await deployWithEthers('ERC1967Proxy', first.address, initialize);
    proxy = at('Box', address);
    assert.equal(await implementation(), word(first.address));
    const state = ['value', 'version', 'owner', 'UPGRADE_INTERFACE_VERSION'].map((name) => read(proxy, name));
    assert.deepEqual(await Promise.all(state), [21n, 1n, addressOf(OWNER), '5.0.0']);
    // The implementation itself is nobody's.
    assert.equal(await read(first, 'value'), 0n);
    assert.deepEqual((await events(first, 'Initialized')).map(({ args }) => args.version), [MOST]);
  }],
  ['proxy: a stranger upgrades nothing', async () => {
    second = await deployWithEthers('BoxV2');
    const upgrade = [proxy, 'upgradeToAndCall', second.address, migration()];
    assert.deepEqual(await refused(STRANGER, ...upgrade), ['OwnableUnauthorizedAccount', addressOf(STRANGER)]);
    assert.equal(await implementation(), word(first.address));
  }],
  ['proxy: upgrades that make no sense are refused', async () => {
    assert.deepEqual(await refused(OWNER, proxy, 'initialize', addressOf(OWNER), 1n), ['InvalidInitialization']);
    assert.deepEqual(await refused(OWNER, first, 'initialize', addressOf(OWNER), 1n), ['InvalidInitialization']);
    assert.deepEqual(await refused(OWNER, first, 'upgradeToAndCall', second.address, '0x'), ['UUPSUnauthorizedCallContext']);
    // The proxy has code, but as a proxy it can't be an implementation.
    const token = await deploy('Token', addressOf(OWNER), 1n);
    const notUups = await refused(OWNER, proxy, 'upgradeToAndCall', token.address, '0x');
    assert.deepEqual(notUups, ['ERC1967InvalidImplementation', getAddress(token.address)]);
  }],
  ['proxy: an upgrade that a call only supposes', async () => {
    const stateDiff = [{ slot: IMPLEMENTATION_SLOT, value: word(second.address) }];
    const supposed = { ...proxy, functionName: 'version', stateOverride: [{ address: proxy.address, stateDiff }] };
    assert.equal(await node.readContract(supposed), 2n);
    assert.equal(await read(proxy, 'version'), 1n);
  }],
  ['proxy: its owner upgrades it, with a migration', async () => {
    const { blockNumber } = await sent(inEthers(proxy, signer(OWNER)).upgradeToAndCall(second.address, migration()));
    proxy = at('BoxV2', proxy.address);
    assert.equal(await implementation(), word(second.address));
    assert.deepEqual([await read(proxy, 'value'), await read(proxy, 'version')], [42n, 2n]);
    const upgraded = await events(proxy, 'Upgraded');
    assert.deepEqual(upgraded.map(({ args }) => args.implementation), [first.address, second.address].map((one) => getAddress(one)));
    assert.deepEqual(await refused(OWNER, proxy, 'migrate'), ['InvalidInitialization']);
    // Before the upgrade it was the other one.
    const then = { ...proxy, functionName: 'version', blockNumber: BigInt(blockNumber) - 1n };
    assert.equal(await node.readContract(then), 1n);
  }],
];

const SALT = numberToHex(5, { size: 32 });
const ARGS = '0xc0ffee';
/** Code of a minimal proxy. */
const cloneCode = (target, args = '0x') => concat(['0x363d3d373d3d3d363d73', target, '0x5af43d82803e903d91602b57fd5bf3', args]).toLowerCase();

let factory;
const made = ({ logs }) => parseEventLogs({ abi: factory.abi, logs })[0].args.instance;

const cloneSteps = [
  ['clones: at the address that everybody computes', async () => {
    factory = await deploy('Factory');
    const initCode = concat(['0x3d602d80600a3d3981f3', cloneCode(first.address)]);
    const inViem = getContractAddress({ opcode: 'CREATE2', from: factory.address, salt: SALT, bytecode: initCode });
    assert.equal(create2InEthers(factory.address, SALT, keccakInEthers(initCode)), inViem);
    assert.equal(await read(factory, 'predict', first.address, SALT), inViem);
    assert.equal(await node.getCode({ address: inViem }), undefined);
    assert.equal(made(await write(wallet(STRANGER), factory, 'make', first.address, SALT)), inViem);
    assert.equal(await node.getCode({ address: inViem }), cloneCode(first.address));
    assert.deepEqual(await refused(STRANGER, factory, 'make', first.address, SALT), ['FailedDeployment']);
    // Each clone has its own state.
    const clone = at('Box', inViem);
    await write(wallet(STRANGER), clone, 'initialize', addressOf(STRANGER), 7n);
    await sent(inEthers(clone, signer(STRANGER)).put(8n));
    assert.deepEqual([await read(clone, 'value'), await read(proxy, 'value')], [8n, 42n]);
  }],
  ['clones: with arguments in their code', async () => {
    const receipt = await write(wallet(STRANGER), factory, 'makeWithArgs', first.address, ARGS, SALT);
    const instance = made(receipt);
    assert.equal(await read(factory, 'argsOf', instance), ARGS);
    assert.equal((await ethers.getCode(instance)).endsWith(ARGS.slice(2)), true);
    assert.equal(await read(at('Box', instance), 'owner'), zeroAddress);
  }],
];

export const steps = [...proxySteps, ...cloneSteps];
