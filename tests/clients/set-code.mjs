// Set-code transactions (EIP-7702) with viem, ethers, cast and forge, on `esker evm` and on anvil: `node set-code.mjs URL`.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Contract, HDNodeWallet, JsonRpcProvider, ZeroAddress, getCreateAddress } from 'ethers';
import solc from 'solc';
import { createPublicClient, createWalletClient, encodeFunctionData, http, zeroAddress } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { until } from './check.mjs';
import { endpoint, runOnBoth } from './control.mjs';
import { CHAIN_ID, EVM_VERSION, FIRST, FIRST_KEY, NOBODY, PATIENT, PHRASE, viemChain } from './evm.mjs';
import { build, cast, json, offline, project, refusal, run } from './foundry-tools.mjs';

/** What accounts delegate to: several calls in one transaction, counted in the account's own storage. */
const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
contract Batch {
  event Called(address indexed account, address indexed sender, uint256 calls);
  struct Call { address to; uint256 value; bytes data; }
  uint256 public batches;
  function run(Call[] calldata calls) external payable {
    batches += 1;
    for (uint256 n = 0; n < calls.length; n++) {
      (bool ok, ) = calls[n].to.call{value: calls[n].value}(calls[n].data);
      require(ok, "a call failed");
    }
    emit Called(address(this), msg.sender, calls.length);
  }
  receive() external payable {}
}
`;
/** A script that delegates another account with the cheat code of forge, and calls it. */
const SCRIPT = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
import { Batch } from "../src/Batch.sol";
interface Vm {
  function signAndAttachDelegation(address to, uint256 key) external;
  function startBroadcast() external;
  function stopBroadcast() external;
  function envAddress(string calldata) external view returns (address);
  function envUint(string calldata) external view returns (uint256);
}
contract Delegate {
  Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
  function run() external {
    vm.startBroadcast();
    vm.signAndAttachDelegation(vm.envAddress("BATCH"), vm.envUint("AUTHORITY"));
    Batch(payable(vm.envAddress("ACCOUNT"))).run(new Batch.Call[](0));
    vm.stopBroadcast();
  }
}
`;

function compile() {
  const outputSelection = { '*': { '*': ['abi', 'evm.bytecode.object'] } };
  const settings = { evmVersion: EVM_VERSION, outputSelection };
  const input = { language: 'Solidity', sources: { 'Batch.sol': { content: SOURCE } }, settings };
  const { Batch } = JSON.parse(solc.compile(JSON.stringify(input))).contracts['Batch.sol'];
  return { abi: Batch.abi, code: `0x${Batch.evm.bytecode.object}` };
}

const { abi, code } = compile();
const common = { chain: viemChain({ http: [endpoint] }), transport: http(endpoint, PATIENT), cacheTime: 0, pollingInterval: 20 };
const viem = createPublicClient(common);
const viemWallet = (n) => createWalletClient({ ...common, account: mnemonicToAccount(PHRASE, { addressIndex: n }) });
const ethers = new JsonRpcProvider(endpoint, undefined, { cacheTimeout: -1, pollingInterval: 20 });
const ethersWallet = (n) => HDNodeWallet.fromPhrase(PHRASE, undefined, `m/44'/60'/0'/0/${n}`).connect(ethers);

const delegation = (to) => `0xef0100${to.slice(2).toLowerCase()}`;
const codeOf = (address) => ethers.getCode(address);
const batches = (address) => viem.readContract({ abi, address, functionName: 'batches' });
const runData = (calls) => encodeFunctionData({ abi, functionName: 'run', args: [calls] });
/** Two payments to nobody. */
const TWO = [1n, 2n].map((value) => ({ to: NOBODY, value, data: '0x' }));
async function done(hash) {
  let receipt;
  await until('the transaction is in a block', async () => {
    receipt = await viem.getTransactionReceipt({ hash }).catch(() => null);
    return receipt !== null;
  });
  return receipt;
}

/** The deployed contract. */
let batch;
const [own, sponsored] = [viemWallet(1), viemWallet(2)];
const sponsor = viemWallet(0);

const viemSteps = [
  ['viem: an account delegates itself and makes several calls at once', async () => {
    batch = (await done(await sponsor.deployContract({ abi, bytecode: code }))).contractAddress;
    const { address } = own.account;
    const before = await viem.getBalance({ address: NOBODY });
    const authorization = await own.signAuthorization({ contractAddress: batch, executor: 'self' });
    const hash = await own.writeContract({ abi, address, functionName: 'run', args: [TWO], authorizationList: [authorization] });
    const receipt = await done(hash);
    assert.deepEqual([receipt.status, receipt.type, receipt.logs.length], ['success', 'eip7702', 1]);
    assert.equal(await codeOf(address), delegation(batch));
    assert.equal((await viem.getDelegation({ address })).toLowerCase(), batch);
    assert.deepEqual([await batches(address), await batches(batch)], [1n, 0n]);
    assert.equal((await viem.getBalance({ address: NOBODY })) - before, 3n);
    // The transaction, and the authorization.
    assert.equal(await viem.getTransactionCount({ address }), 2);
    const { authorizationList, type } = await viem.getTransaction({ hash });
    assert.equal(type, 'eip7702');
    const [{ address: to, chainId, nonce, r, s, yParity }] = authorizationList;
    const { r: signedR, s: signedS, yParity: signedParity } = authorization;
    assert.deepEqual([to.toLowerCase(), chainId, nonce, BigInt(r), BigInt(s), yParity], [batch, CHAIN_ID, 1, BigInt(signedR), BigInt(signedS), signedParity]);
  }],
  ['viem: a delegated account still sends its own transactions', async () => {
    const receipt = await done(await own.sendTransaction({ to: own.account.address, data: runData([]) }));
    assert.deepEqual([receipt.status, receipt.type], ['success', 'eip1559']);
    assert.equal(await batches(own.account.address), 2n);
    const failing = [{ to: batch, value: 0n, data: '0xdeadbeef' }];
    await assert.rejects(own.sendTransaction({ to: own.account.address, data: runData(failing) }), /a call failed/);
  }],
  ['viem: another account pays, for any chain', async () => {
    const { address } = sponsored.account;
    const balance = await viem.getBalance({ address });
    const authorization = await sponsored.signAuthorization({ contractAddress: batch, chainId: 0 });
    const request = { account: sponsor.account, to: address, data: runData(TWO), authorizationList: [authorization] };
    const estimate = await viem.estimateGas(request);
    await viem.call(request);
    const receipt = await done(await sponsor.sendTransaction(request));
    assert.deepEqual([receipt.status, receipt.from], ['success', FIRST.toLowerCase()]);
    // 12,500 of what a new account would cost are given back, so that the estimate is above what was paid.
    assert.ok(estimate >= receipt.gasUsed && receipt.gasUsed > 21_000n + 12_500n, `${estimate} ${receipt.gasUsed}`);
    assert.deepEqual([await codeOf(address), await batches(address)], [delegation(batch), 1n]);
    assert.equal(balance - (await viem.getBalance({ address })), 3n);
    assert.equal(await viem.getTransactionCount({ address }), 1);
  }],
  ['viem: an authorization that does not hold changes nothing', async () => {
    const other = viemWallet(7);
    const { address } = other.account;
    for (const wrong of [{ nonce: 5 }, { chainId: 1 }]) {
      const authorization = await other.signAuthorization({ contractAddress: batch, ...wrong });
      const receipt = await done(await sponsor.sendTransaction({ to: NOBODY, authorizationList: [authorization], gas: 100_000n }));
      assert.equal(receipt.status, 'success');
      assert.deepEqual([await codeOf(address), await viem.getTransactionCount({ address })], ['0x', 0]);
    }
  }],
  ['viem: delegations are cleared', async () => {
    const list = [];
    for (const wallet of [own, sponsored]) list.push(await wallet.signAuthorization({ contractAddress: zeroAddress }));
    const receipt = await done(await sponsor.sendTransaction({ to: NOBODY, authorizationList: list }));
    assert.equal(receipt.status, 'success');
    for (const wallet of [own, sponsored]) {
      assert.equal(await codeOf(wallet.account.address), '0x');
      assert.equal(await viem.getDelegation({ address: wallet.account.address }), undefined);
    }
    // What the account stored stays.
    assert.equal(BigInt(await viem.getStorageAt({ address: own.account.address, slot: '0x0' })), 2n);
  }],
];

const ethersSteps = [
  ['ethers: delegates, calls, clears', async () => {
    const [payer, authority] = [ethersWallet(3), ethersWallet(4)];
    const send = async (address, data) => {
      const auth = await authority.authorize({ address });
      const sent = await payer.sendTransaction({ type: 4, to: authority.address, data, authorizationList: [auth] });
      return { sent, auth, receipt: await sent.wait() };
    };
    const { sent, auth, receipt } = await send(batch, runData(TWO));
    assert.deepEqual([receipt.status, receipt.type], [1, 4]);
    assert.equal(await codeOf(authority.address), delegation(batch));
    const mined = await ethers.getTransaction(sent.hash);
    const [read] = mined.authorizationList;
    assert.deepEqual(
      [read.address.toLowerCase(), read.chainId, read.nonce, read.signature.serialized],
      [batch, BigInt(CHAIN_ID), 0n, auth.signature.serialized],
    );
    const account = new Contract(authority.address, abi, payer);
    assert.equal(await account.batches(), 1n);
    await (await account.run([])).wait();
    assert.equal(await account.batches(), 2n);
    await send(ZeroAddress, '0x');
    assert.equal(await codeOf(authority.address), '0x');
    assert.equal(await authority.getNonce(), 2);
  }],
  ['ethers: a delegated account makes a contract by its own transaction', async () => {
    const wallet = ethersWallet(4);
    const auth = await wallet.authorize({ address: batch, nonce: (await wallet.getNonce()) + 1 });
    await (await wallet.sendTransaction({ type: 4, to: NOBODY, authorizationList: [auth] })).wait();
    const nonce = await wallet.getNonce();
    const receipt = await (await wallet.sendTransaction({ data: code })).wait();
    assert.equal(receipt.contractAddress, getCreateAddress({ from: wallet.address, nonce }));
  }],
];

const castSteps = [
  ['cast: --auth with an address, and with a signed authorization', async () => {
    const [payer, authority] = [ethersWallet(5), ethersWallet(6)];
    const send = (...args) => json('send', '--private-key', payer.privateKey, ...args);
    const self = send(payer.address, 'run((address,uint256,bytes)[])', `[(${NOBODY},1,0x)]`, '--auth', batch);
    assert.deepEqual([self.status, self.type], ['0x1', '0x4']);
    assert.equal(cast('code', payer.address), delegation(batch));
    assert.equal(cast('call', payer.address, 'batches()(uint256)'), '1');
    const signed = offline('wallet', 'sign-auth', batch, '--rpc-url', endpoint, '--private-key', authority.privateKey);
    const receipt = send(authority.address, 'run((address,uint256,bytes)[])', '[]', '--auth', signed);
    assert.equal(receipt.status, '0x1');
    assert.equal(cast('code', authority.address), delegation(batch));
    const [entry] = json('tx', receipt.transactionHash).authorizationList;
    assert.deepEqual([entry.address, BigInt(entry.chainId), BigInt(entry.nonce)], [batch, BigInt(CHAIN_ID), 0n]);
    send(NOBODY, '--auth', ZeroAddress);
    assert.equal(cast('code', payer.address), '0x');
  }],
  ['cast: no set-code transaction makes a contract', async () => {
    const { privateKey } = ethersWallet(5);
    const text = refusal('send', '--private-key', privateKey, '--auth', batch, '--gas-limit', '1000000', '--create', code);
    assert.match(text, /7702|set.?code|create/i);
  }],
  ['forge: signAndAttachDelegation in a script', async () => {
    for (const folder of ['src', 'script']) mkdirSync(join(project, folder), { recursive: true });
    writeFileSync(join(project, 'src', 'Batch.sol'), SOURCE);
    writeFileSync(join(project, 'script', 'Delegate.s.sol'), SCRIPT);
    const authority = ethersWallet(8);
    run('forge', [
      'script', 'script/Delegate.s.sol:Delegate', ...build,
      '--rpc-url', endpoint, '--private-key', FIRST_KEY, '--broadcast', '--non-interactive',
    ], { BATCH: batch, ACCOUNT: authority.address, AUTHORITY: BigInt(authority.privateKey).toString() });
    assert.deepEqual([await codeOf(authority.address), await batches(authority.address)], [delegation(batch), 1n]);
  }],
];

await runOnBoth(import.meta.url, [...viemSteps, ...ethersSteps, ...castSteps]);
ethers.destroy();
