// An account that delegates to a contract account of OpenZeppelin (EIP-7702): batches (ERC-7821), and signatures as a contract (ERC-1271).
import assert from 'node:assert/strict';
import { toQuantity } from 'ethers';
import { encodeFunctionData, getAddress, hashMessage, parseEventLogs } from 'viem';
import { entryPoint09Address, getUserOperationHash, toPackedUserOperation } from 'viem/account-abstraction';
import { encodeCalls, encodeExecuteData, execute } from 'viem/experimental/erc7821';
import { signMessage } from 'viem/experimental/erc7739';
import { CHAIN_ID, UNIT } from '../evm.mjs';
import {
  addressOf, at, deploy, done, ethers, inEthers, mined, node, read, refusal, refusalInEthers, refused, sent, signer, wallet, withErrorsOf,
} from './clients.mjs';

const [OWNER, STRANGER] = [3, 5];
/** One batch, any failure reverts all (ERC-7821). */
const BATCH = `0x01${'00'.repeat(31)}`;
const NO_OPERATION = { callGasLimit: 0n, verificationGasLimit: 0n, preVerificationGas: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };

let target, token, vault;
const owner = addressOf(OWNER);
const account = at('BatchAccount', owner);
const callOf = (contract, functionName, ...args) => ({ to: contract.address, data: encodeFunctionData({ ...contract, functionName, args }) });
/** An approval and the transfer that needs it. */
const deposit = (amount) => [callOf(token, 'approve', vault.address, amount), callOf(vault, 'deposit', amount, owner)];
const names = ({ abi }, { logs }) => parseEventLogs({ abi, logs }).map(({ eventName }) => eventName);

export const steps = [
  ['account: delegates, and approves and deposits in the same transaction', async () => {
    target = await deploy('BatchAccount');
    token = await deploy('Token', owner, 100n * UNIT);
    vault = await deploy('Vault', token.address);
    const authorization = await wallet(OWNER).signAuthorization({ contractAddress: target.address, executor: 'self' });
    const hash = await execute(wallet(OWNER), { address: owner, calls: deposit(40n * UNIT), authorizationList: [authorization] });
    const receipt = await done(hash);
    assert.equal(receipt.type, 'eip7702');
    assert.equal((await node.getDelegation({ address: owner })).toLowerCase(), target.address);
    assert.deepEqual([await read(vault, 'balanceOf', owner), await read(token, 'balanceOf', vault.address)], [40n * UNIT, 40n * UNIT]);
    assert.equal(await read(token, 'allowance', owner, vault.address), 0n);
    assert.deepEqual(names(token, receipt).slice(0, 2), ['Approval', 'Transfer']);
  }],
  ['account: later batches need no authorization', async () => {
    await done(await execute(wallet(OWNER), { address: owner, calls: deposit(10n * UNIT) }));
    const contract = inEthers(vault, signer(OWNER));
    await sent(contract.withdraw(5n * UNIT, owner, owner));
    assert.equal(await read(vault, 'balanceOf', owner), 45n * UNIT);
    const modes = [BATCH, `0x${'00'.repeat(32)}`].map((mode) => read(account, 'supportsExecutionMode', mode));
    assert.deepEqual(await Promise.all(modes), [true, false]);
  }],
  ['account: what calls would change of its tokens', async () => {
    const { assetChanges, results } = await node.simulateCalls({ account: owner, calls: deposit(UNIT), traceAssetChanges: true });
    assert.deepEqual(results.map(({ status }) => status), ['success', 'success']);
    const changes = assetChanges.filter(({ token: { symbol } }) => symbol !== 'ETH');
    assert.deepEqual(
      changes.map(({ token: { symbol, decimals }, value }) => [symbol, decimals, value.diff]).sort(),
      [['TOK', 18, -UNIT], ['VLT', 18, UNIT]],
    );
    assert.equal(await read(vault, 'balanceOf', owner), 45n * UNIT);
  }, 'it simulates no calls without `to`'],
  ['account: a batch that fails changes nothing', async () => {
    const wrong = [callOf(token, 'approve', vault.address, 1n), callOf(vault, 'deposit', 2n, owner)];
    // The error is the token's, through the vault and the account.
    const contract = inEthers(withErrorsOf(token, account), signer(OWNER));
    const wanted = ['ERC20InsufficientAllowance', getAddress(vault.address), 1n, 2n];
    assert.deepEqual(await refusalInEthers(contract, contract.execute(BATCH, encodeCalls(wrong))), wanted);
    const data = encodeExecuteData({ calls: wrong });
    assert.equal((await mined(await wallet(OWNER).sendTransaction({ to: owner, data, gas: 300_000n }))).status, 'reverted');
    assert.equal(await read(token, 'allowance', owner, vault.address), 0n);
  }],
  ['account: strangers execute nothing', async () => {
    const wanted = ['AccountUnauthorized', addressOf(STRANGER)];
    assert.deepEqual(await refused(STRANGER, account, 'execute', BATCH, '0x'), wanted);
    const contract = inEthers(account, signer(STRANGER));
    assert.deepEqual(await refusalInEthers(contract, contract.execute(BATCH, '0x')), wanted);
  }],
  ['account: its key signs for it as for a contract', async () => {
    const [message, verifier] = ['hello', owner];
    const signature = await signMessage(wallet(OWNER), { message, verifier });
    assert.equal(await read(account, 'isValidSignature', hashMessage(message), signature), '0x1626ba7e');
    const other = await signMessage(wallet(STRANGER), { message, verifier });
    assert.equal(await read(account, 'isValidSignature', hashMessage(message), other), '0xffffffff');
    const verified = [signature, other].map((of) => node.verifyMessage({ address: owner, message, signature: of }));
    assert.deepEqual(await Promise.all(verified), [true, false]);
  }],
  ['account: operations of users, which only the entry point validates', async () => {
    const operation = { ...NO_OPERATION, sender: owner, nonce: 0n, callData: '0x', signature: '0x' };
    const place = { chainId: CHAIN_ID, entryPointAddress: entryPoint09Address, entryPointVersion: '0.9' };
    const hash = getUserOperationHash({ ...place, userOperation: operation });
    const validate = async (n, from) => {
      const packed = { ...toPackedUserOperation(operation), signature: await wallet(n).account.sign({ hash }) };
      return node.readContract({ ...account, functionName: 'validateUserOp', args: [packed, hash, 0n], account: from });
    };
    assert.deepEqual([await validate(OWNER, entryPoint09Address), await validate(STRANGER, entryPoint09Address)], [0n, 1n]);
    assert.deepEqual(await refusal(validate(OWNER, addressOf(STRANGER))), ['AccountUnauthorized', addressOf(STRANGER)]);
  }],
  ['account: the entry point executes a batch, impersonated', async () => {
    await ethers.send('anvil_impersonateAccount', [entryPoint09Address]);
    await ethers.send('anvil_setBalance', [entryPoint09Address, toQuantity(UNIT)]);
    const contract = inEthers(account, await ethers.getSigner(entryPoint09Address));
    const receipt = await sent(contract.execute(BATCH, encodeCalls(deposit(5n * UNIT))));
    await ethers.send('anvil_stopImpersonatingAccount', [entryPoint09Address]);
    assert.equal(receipt.from, entryPoint09Address);
    assert.equal(await read(vault, 'balanceOf', owner), 50n * UNIT);
  }],
];
