// A governor of OpenZeppelin with a timelock: a proposal from its first vote to its effect.
import assert from 'node:assert/strict';
import { encodeFunctionData, getAddress, keccak256, numberToHex, parseEventLogs, toHex } from 'viem';
import { NOBODY, UNIT } from '../evm.mjs';
import {
  addressOf, deploy, deployWithEthers, domainOf, ethers, events, inEthers, node, read, refused, sent, signer, wallet, withErrorsOf, write,
} from './clients.mjs';

const [ADMIN, PROPOSER, VOTER, STRANGER] = [0, 5, 6, 7];
/** Seconds between queueing and execution. */
const DELAY = 3_600n;
const DESCRIPTION = 'Proposal 1: pay nobody';
const STATE = { pending: 0, active: 1, succeeded: 4, queued: 5, executed: 7 };
const FOR = 1;
/** The state of a timelock's operation whose time is there. */
const READY = 2n;
const BALLOT = {
  Ballot: [
    { name: 'proposalId', type: 'uint256' },
    { name: 'support', type: 'uint8' },
    { name: 'voter', type: 'address' },
    { name: 'nonce', type: 'uint256' },
  ],
};

let token, timelock, council, proposal, proposalId, firstBlock;
const state = () => read(council, 'state', proposalId);
const mine = (blocks, method = 'hardhat_mine') => node.request({ method, params: [numberToHex(blocks)] });
const afterDescription = () => [...proposal, keccak256(toHex(DESCRIPTION))];

/** Two payments of the timelock: tokens, and the chain's own coin. */
function payments() {
  const data = encodeFunctionData({ ...token, functionName: 'transfer', args: [NOBODY, 3n * UNIT] });
  return [[token.address, NOBODY], [0n, 5n], [data, '0x']];
}

export const steps = [
  ['council: deployed with its timelock, which nobody else rules', async () => {
    firstBlock = await node.getBlockNumber();
    token = await deploy('Token', addressOf(PROPOSER), 1_000n * UNIT);
    timelock = await deployWithEthers('TimelockController', DELAY, [], [], addressOf(ADMIN));
    council = await deploy('Council', token.address, timelock.address);
    const [admin, ...roles] = await Promise.all(
      ['DEFAULT_ADMIN_ROLE', 'PROPOSER_ROLE', 'EXECUTOR_ROLE', 'CANCELLER_ROLE'].map((name) => read(timelock, name)),
    );
    for (const role of roles) await write(wallet(ADMIN), timelock, 'grantRole', role, council.address);
    await write(wallet(ADMIN), timelock, 'renounceRole', admin, addressOf(ADMIN));
    assert.deepEqual(
      await refused(ADMIN, timelock, 'grantRole', roles[0], addressOf(ADMIN)),
      ['AccessControlUnauthorizedAccount', addressOf(ADMIN), admin],
    );
    await write(wallet(PROPOSER), token, 'transfer', timelock.address, 10n * UNIT);
    await write(wallet(PROPOSER), token, 'transfer', addressOf(VOTER), 60n * UNIT);
    await sent(signer(PROPOSER).sendTransaction({ to: timelock.address, value: 5n }));
    for (const voter of [PROPOSER, VOTER]) await write(wallet(voter), token, 'delegate', addressOf(voter));
  }],
  ['council: a proposal, which waits for its votes', async () => {
    proposal = payments();
    const contract = inEthers(council, signer(PROPOSER));
    const [name, who, , least] = await refused(STRANGER, council, 'propose', ...proposal, DESCRIPTION);
    assert.deepEqual([name, who, least], ['GovernorInsufficientProposerVotes', addressOf(STRANGER), 1n]);
    const { logs, blockNumber } = await sent(contract.propose(...proposal, DESCRIPTION));
    ({ proposalId } = logs.map((log) => contract.interface.parseLog(log)).find((log) => log.name === 'ProposalCreated').args);
    assert.equal(await read(council, 'hashProposal', ...afterDescription()), proposalId);
    assert.deepEqual(
      [await read(council, 'proposalSnapshot', proposalId), await read(council, 'proposalDeadline', proposalId)],
      [BigInt(blockNumber) + 5n, BigInt(blockNumber) + 55n],
    );
    assert.equal(await state(), STATE.pending);
    const [early, ofProposal, now] = await refused(VOTER, council, 'castVote', proposalId, FOR);
    assert.deepEqual([early, ofProposal, now], ['GovernorUnexpectedProposalState', proposalId, STATE.pending]);
  }],
  ['council: votes, one of them signed', async () => {
    await mine(6);
    assert.equal(await state(), STATE.active);
    await write(wallet(PROPOSER), council, 'castVoteWithReason', proposalId, FOR, 'why not');
    const domain = await domainOf(council);
    const message = { proposalId, support: FOR, voter: addressOf(VOTER), nonce: 0n };
    const signature = await wallet(VOTER).signTypedData({ domain, types: BALLOT, primaryType: 'Ballot', message });
    await sent(inEthers(council, signer(STRANGER)).castVoteBySig(proposalId, FOR, addressOf(VOTER), signature));
    assert.deepEqual(await read(council, 'proposalVotes', proposalId), [0n, 990n * UNIT, 0n]);
    assert.deepEqual(await refused(VOTER, council, 'castVote', proposalId, FOR), ['GovernorAlreadyCastVote', addressOf(VOTER)]);
    const cast = await events(council, 'VoteCast', firstBlock);
    assert.deepEqual(cast.map(({ args }) => [args.voter, args.weight, args.reason]), [
      [addressOf(PROPOSER), 930n * UNIT, 'why not'],
      [addressOf(VOTER), 60n * UNIT, ''],
    ]);
  }],
  ['council: queued after the votes, and not executed before its time', async () => {
    await mine(50, 'anvil_mine');
    assert.equal(await state(), STATE.succeeded);
    await sent(inEthers(council, signer(STRANGER)).queue(...afterDescription()));
    assert.equal(await state(), STATE.queued);
    const { timestamp } = await node.getBlock();
    assert.equal(await read(council, 'proposalEta', proposalId), timestamp + DELAY);
    const both = withErrorsOf(timelock, council);
    const [name, , expected] = await refused(STRANGER, both, 'execute', ...afterDescription());
    assert.deepEqual([name, BigInt(expected)], ['TimelockUnexpectedOperationState', 1n << READY]);
  }],
  ['council: executed once the time is there', async () => {
    const before = await node.getBalance({ address: NOBODY });
    await ethers.send('evm_increaseTime', [Number(DELAY)]);
    const receipt = await write(wallet(STRANGER), council, 'execute', ...afterDescription());
    assert.equal(await state(), STATE.executed);
    assert.equal(await read(token, 'balanceOf', NOBODY), 3n * UNIT);
    assert.equal((await node.getBalance({ address: NOBODY })) - before, 5n);
    const names = ({ abi }) => parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName }) => eventName);
    assert.deepEqual([names(council), names(timelock)], [['ProposalExecuted'], ['CallExecuted', 'CallExecuted']]);
  }],
  ['council: its events by filters of logs', async () => {
    for (const name of ['ProposalCreated', 'ProposalQueued', 'ProposalExecuted']) {
      const [found, ...more] = await events(council, name, firstBlock);
      assert.deepEqual([found.args.proposalId, more], [proposalId, []]);
    }
    const contract = inEthers(timelock);
    const executed = await contract.queryFilter(contract.filters.CallExecuted(null, 1), Number(firstBlock));
    assert.deepEqual(executed.map(({ args }) => [args.index, args.target, args.value]), [[1n, getAddress(NOBODY), 5n]]);
  }],
];
