// A token of OpenZeppelin: transfers, permits, votes at past blocks, errors by name.
import assert from 'node:assert/strict';
import { decodeErrorResult, encodeFunctionData, parseSignature } from 'viem';
import { UNIT } from '../evm.mjs';
import {
  addressOf, deployWithEthers, domainOf, done, ethers, events, inEthers, mined, node, read, refusal, refusalInEthers, refused, sent, signer, wallet,
  walletOfNode, write,
} from './clients.mjs';

const SUPPLY = 1_000n * UNIT;
const [HOLDER, SPENDER, RECEIVER] = [1, 2, 3];
const PERMIT = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
};
const DELEGATION = {
  Delegation: [
    { name: 'delegatee', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'expiry', type: 'uint256' },
  ],
};
const NEVER = 2n ** 256n - 1n;

let token;
const votes = (n, ...block) => read(token, block.length ? 'getPastVotes' : 'getVotes', addressOf(n), ...block);
const typedData = async (types, message) => ({ domain: await domainOf(token), types, primaryType: Object.keys(types)[0], message });
const parts = (signature) => {
  const { v, r, s } = parseSignature(signature);
  return [Number(v), r, s];
};

/** A permit for the spender, signed with the key here, and by the node for viem and for ethers. */
async function permits(value, deadline) {
  const message = { owner: addressOf(HOLDER), spender: addressOf(SPENDER), value, nonce: await read(token, 'nonces', addressOf(HOLDER)), deadline };
  const data = await typedData(PERMIT, message);
  const ofNode = await ethers.getSigner(addressOf(HOLDER));
  return Promise.all([
    wallet(HOLDER).signTypedData(data),
    signer(HOLDER).signTypedData(data.domain, PERMIT, message),
    walletOfNode(HOLDER).signTypedData(data),
    ofNode.signTypedData(data.domain, PERMIT, message),
  ]);
}

export const steps = [
  ['token: deployed and transferred with ethers', async () => {
    token = await deployWithEthers('Token', addressOf(HOLDER), SUPPLY);
    const contract = inEthers(token, signer(HOLDER));
    assert.deepEqual([await contract.name(), await contract.symbol(), await contract.decimals()], ['Token', 'TOK', 18n]);
    assert.equal(await contract.totalSupply(), SUPPLY);
    const { logs, blockNumber } = await sent(contract.transfer(addressOf(RECEIVER), 10n * UNIT));
    assert.deepEqual([...logs[0].args], [addressOf(HOLDER), addressOf(RECEIVER), 10n * UNIT]);
    const [{ args }] = await events(token, 'Transfer', BigInt(blockNumber));
    assert.deepEqual(args, { from: addressOf(HOLDER), to: addressOf(RECEIVER), value: 10n * UNIT });
    assert.equal(await read(token, 'balanceOf', addressOf(RECEIVER)), 10n * UNIT);
  }],
  ['token: a permit, signed here and by the node', async () => {
    const signatures = await permits(5n * UNIT, NEVER);
    assert.deepEqual(signatures, Array(4).fill(signatures[0]));
    const args = [addressOf(HOLDER), addressOf(SPENDER), 5n * UNIT, NEVER, ...parts(signatures[2])];
    await write(wallet(SPENDER), token, 'permit', ...args);
    assert.equal(await read(token, 'nonces', addressOf(HOLDER)), 1n);
    assert.equal(await read(token, 'allowance', addressOf(HOLDER), addressOf(SPENDER)), 5n * UNIT);
    await write(wallet(SPENDER), token, 'transferFrom', addressOf(HOLDER), addressOf(SPENDER), 5n * UNIT);
    // The nonce is used: the signature is one of somebody else.
    const [name, found, owner] = await refused(SPENDER, token, 'permit', ...args);
    assert.deepEqual([name, owner], ['ERC2612InvalidSigner', addressOf(HOLDER)]);
    assert.notEqual(found, owner);
  }],
  ['token: a permit that has expired', async () => {
    const { timestamp } = await node.getBlock();
    const [signature] = await permits(1n, timestamp - 1n);
    const args = [addressOf(HOLDER), addressOf(SPENDER), 1n, timestamp - 1n, ...parts(signature)];
    assert.deepEqual(await refused(SPENDER, token, 'permit', ...args), ['ERC2612ExpiredSignature', timestamp - 1n]);
  }],
  ['token: votes, now and at past blocks', async () => {
    const first = await write(wallet(HOLDER), token, 'delegate', addressOf(HOLDER));
    assert.equal(await votes(HOLDER), 985n * UNIT);
    const message = { delegatee: addressOf(HOLDER), nonce: 0n, expiry: NEVER };
    const signature = await walletOfNode(RECEIVER).signTypedData(await typedData(DELEGATION, message));
    const second = await sent(inEthers(token, signer(SPENDER)).delegateBySig(...Object.values(message), ...parts(signature)));
    const third = await write(wallet(HOLDER), token, 'transfer', addressOf(SPENDER), 85n * UNIT);
    assert.equal(await votes(HOLDER), 910n * UNIT);
    // Another block, so that the last is past, too.
    await write(wallet(SPENDER), token, 'delegate', addressOf(SPENDER));
    const blocks = [first.blockNumber - 1n, first.blockNumber, BigInt(second.blockNumber), third.blockNumber];
    const past = await Promise.all(blocks.map((block) => votes(HOLDER, block)));
    assert.deepEqual(past, [0n, 985n * UNIT, 995n * UNIT, 910n * UNIT]);
    assert.equal(await read(token, 'getPastTotalSupply', blocks[0]), SUPPLY);
    // The same by the state of a past block.
    const then = { ...token, functionName: 'getVotes', args: [addressOf(HOLDER)], blockNumber: third.blockNumber - 1n };
    assert.equal(await node.readContract(then), 995n * UNIT);
  }],
  ['token: votes of the present block are refused', async () => {
    const clock = await node.getBlockNumber();
    assert.equal(BigInt(await read(token, 'clock')), clock);
    const [name, timepoint, now] = await refused(HOLDER, token, 'getPastVotes', addressOf(HOLDER), clock);
    assert.deepEqual([name, timepoint, BigInt(now)], ['ERC5805FutureLookup', clock, clock]);
  }],
];

/** An account without tokens. */
const POOR = 4;
const WANTED = ['ERC20InsufficientBalance', addressOf(POOR), 0n, 7n];
const transfer = { functionName: 'transfer', args: [addressOf(HOLDER), 7n] };
const ofToken = (from) => inEthers(token, from);

export const errors = [
  ['errors by name: calls and estimates, with viem and ethers', async () => {
    assert.deepEqual(await refused(POOR, token, 'transfer', ...transfer.args), WANTED);
    assert.deepEqual(await refusal(node.estimateContractGas({ ...token, ...transfer, account: addressOf(POOR) })), WANTED);
    const contract = ofToken(signer(POOR));
    for (const attempt of [contract.transfer.staticCall, contract.transfer.estimateGas, contract.transfer]) {
      assert.deepEqual(await refusalInEthers(contract, attempt(...transfer.args)), WANTED);
    }
  }],
  ['errors by name: what the node would have to sign', async () => {
    const contract = ofToken(await ethers.getSigner(addressOf(POOR)));
    assert.deepEqual(await refusalInEthers(contract, contract.transfer(...transfer.args)), WANTED);
  }],
  ['errors by name: what the node would have to estimate, too', async () => {
    assert.deepEqual(await refusal(walletOfNode(POOR).writeContract({ ...token, ...transfer })), WANTED);
  }, 'it sends what will fail'],
  ['errors by name: a transaction that failed', async () => {
    const hash = await wallet(POOR).writeContract({ ...token, ...transfer, gas: 100_000n });
    const receipt = await mined(hash);
    assert.deepEqual([receipt.status, receipt.logs], ['reverted', []]);
    const data = encodeFunctionData({ ...token, ...transfer });
    const trace = await node.request({ method: 'debug_traceTransaction', params: [hash, { tracer: 'callTracer' }] });
    assert.equal(trace.input, data);
    const { errorName, args } = decodeErrorResult({ ...token, data: trace.output });
    assert.deepEqual([errorName, ...args], WANTED);
    const contract = ofToken(signer(POOR));
    const again = { from: addressOf(POOR), to: token.address, data, blockTag: Number(receipt.blockNumber) };
    assert.deepEqual(await refusalInEthers(contract, ethers.call(again)), WANTED);
    await assert.rejects(sent(contract.transfer(...transfer.args, { gasLimit: 100_000n })), { code: 'CALL_EXCEPTION' });
  }],
  ['errors by name: addresses that are not allowed', async () => {
    const zero = `0x${'0'.repeat(40)}`;
    assert.deepEqual(await refused(HOLDER, token, 'transfer', zero, 1n), ['ERC20InvalidReceiver', zero]);
    assert.deepEqual(
      await refused(SPENDER, token, 'transferFrom', addressOf(HOLDER), addressOf(SPENDER), 1n),
      ['ERC20InsufficientAllowance', addressOf(SPENDER), 0n, 1n],
    );
    await done(await wallet(HOLDER).writeContract({ ...token, functionName: 'approve', args: [addressOf(SPENDER), 1n] }));
    assert.equal(await read(token, 'allowance', addressOf(HOLDER), addressOf(SPENDER)), 1n);
  }],
];
