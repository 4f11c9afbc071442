// Replays by cast, forks by forge, against an EVM chain with history: `node foundry-traces.mjs URL`. What they execute from the
// node's state has to be what the node says of the same transactions.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { steps } from './check.mjs';
import { CHAIN_ID, FIRST, FIRST_KEY, LINK_CODE, NOBODY } from './evm.mjs';
import { build, cast, json, offline, project, refusal, run, send, url } from './foundry-tools.mjs';

/** Three contracts, each of which calls the next one; the first is last. */
const links = [];
/** Receipts, by what was done. */
const done = {};

const traced = (hash, config) => json('rpc', 'debug_traceTransaction', hash, JSON.stringify(config));
const frames = (frame) => [frame, ...(frame.calls ?? []).flatMap(frames)];
const CALLS = { tracer: 'callTracer', tracerConfig: { withLog: true } };
/** What forge reads from its environment. */
const environment = () => ({
  NODE: url, FIRST_LINK: links.at(-1), RUN_HASH: done.run.transactionHash, RUN_BLOCK: String(BigInt(done.run.blockNumber)),
  DEPLOY_BLOCK: String(BigInt(done.deploy.blockNumber)),
});

/** A test of what the contracts are at several heights, and of calls and transactions on top of that. */
const TEST = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
interface Vm {
  function createSelectFork(string calldata url) external returns (uint256);
  function rollFork(uint256 number) external;
  function rollFork(bytes32 hash) external;
  function transact(bytes32 hash) external;
  function expectRevert(bytes calldata) external;
  function rpc(string calldata method, string calldata params) external returns (bytes memory);
  function envString(string calldata) external view returns (string memory);
  function envAddress(string calldata) external view returns (address);
  function envBytes32(string calldata) external view returns (bytes32);
  function envUint(string calldata) external view returns (uint256);
}
interface Link {
  function hits() external view returns (uint256);
  function next() external view returns (Link);
  function run(uint256 depth, bool fail) external returns (uint256);
  function soft(bool fail) external returns (bool ok, bytes memory out);
}
contract ForkTest {
  Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
  Link link;
  function setUp() public {
    vm.createSelectFork(vm.envString("NODE"));
    link = Link(vm.envAddress("FIRST_LINK"));
  }
  function testState() public view {
    require(link.hits() == 3 && link.next().hits() == 2, "hits");
    require(block.chainid == ${CHAIN_ID}, "chain");
  }
  function testHistory() public {
    uint256 at = vm.envUint("RUN_BLOCK");
    vm.rollFork(at);
    require(link.hits() == 1 && block.number == at, "after");
    vm.rollFork(at - 1);
    require(link.hits() == 0, "before");
    vm.rollFork(vm.envUint("DEPLOY_BLOCK") - 1);
    require(address(link).code.length == 0, "not there yet");
  }
  function testTransaction() public {
    vm.rollFork(vm.envUint("RUN_BLOCK") - 1);
    vm.transact(vm.envBytes32("RUN_HASH"));
    require(link.hits() == 1 && link.next().next().hits() == 1, "transacted");
    vm.rollFork(vm.envBytes32("RUN_HASH"));
    require(link.hits() == 0, "before the transaction");
  }
  function testCalls() public {
    require(link.run(0, false) == 3 && link.hits() == 4, "run");
    (bool ok, bytes memory out) = link.soft(true);
    require(!ok && keccak256(out) == keccak256(abi.encodeWithSignature("Error(string)", "end of chain")), "soft");
    vm.expectRevert("end of chain");
    link.run(0, true);
  }
  function testRpc() public {
    require(vm.rpc("eth_chainId", "[]").length == 2, "chain ID");
  }
  function testThatFails() public view {
    require(link.hits() == 1000, "so many hits there are not");
  }
}
`;

/** The result of one test, and how forge ended. */
function forgeTest(name) {
  const args = ['test', ...build, '--match-test', name, '--json'];
  let output;
  let exit = 0;
  try {
    output = run('forge', args, environment());
  } catch (error) {
    ({ status: exit, stdout: output } = error);
  }
  const [suite] = Object.values(JSON.parse(output.slice(output.indexOf('{'))));
  const [[, result]] = Object.entries(suite.test_results);
  return { exit, ...result };
}

await steps([
  ['contracts that call each other, and history', () => {
    let next = '0x0000000000000000000000000000000000000000';
    for (let n = 0; n < 3; n += 1) {
      done.deploy = send('--create', LINK_CODE + next.slice(2).padStart(64, '0'));
      next = done.deploy.contractAddress;
      links.push(next);
    }
    const first = links.at(-1);
    done.run = send(first, 'run(uint256,bool)', '0', 'false');
    done.soft = send(first, 'soft(bool)', 'true');
    done.inner = send(first, 'inner()');
    // With its own limit of gas it is sent although it will fail.
    const args = ['send', '--async', '--private-key', FIRST_KEY, '--gas-limit', '300000'];
    done.failed = json('receipt', cast(...args, first, 'run(uint256,bool)', '0', 'true'));
    assert.deepEqual(Object.values(done).map(({ status }) => status), ['0x1', '0x1', '0x1', '0x1', '0x0']);
    assert.equal(cast('call', first, 'hits()(uint256)'), '3');
  }],

  ['cast rpc: frames are what receipts say', () => {
    for (const [what, receipt] of Object.entries(done)) {
      const frame = traced(receipt.transactionHash, CALLS);
      assert.equal(frame.gasUsed, receipt.gasUsed, what);
      const logs = frames(frame).filter(({ error }) => !error).flatMap((inner) => inner.logs ?? []);
      assert.equal(logs.length, receipt.logs.length, what);
      assert.equal(frame.error, receipt.status === '0x1' ? undefined : 'execution reverted', what);
    }
    const kinds = (receipt) => frames(traced(receipt.transactionHash, CALLS)).map(({ type }) => type);
    assert.deepEqual(kinds(done.deploy), ['CREATE']);
    assert.deepEqual(kinds(done.run), ['CALL', 'CALL', 'CALL']);
    assert.deepEqual(kinds(done.inner), ['CALL', 'DELEGATECALL', 'CALL', 'CALL']);
    assert.equal(frames(traced(done.failed.transactionHash, CALLS)).at(-1).revertReason, 'end of chain');
    assert.match(refusal('rpc', 'debug_traceTransaction', done.run.transactionHash, '{"tracer":"nope"}'), /nope is not defined/);
    assert.match(refusal('rpc', 'debug_traceTransaction', `0x${'1'.repeat(64)}`), /transaction not found/);
  }],

  ['cast run: executed again it is the same', () => {
    for (const [what, receipt] of Object.entries(done)) {
      for (const more of [[], ['--quick']]) {
        const shown = cast('run', receipt.transactionHash, ...more);
        assert.match(shown, new RegExp(`Gas used: ${BigInt(receipt.gasUsed)}$`), `${what} ${shown}`);
        assert.equal(/Transaction successfully executed/.test(shown), receipt.status === '0x1', what);
        const calls = shown.match(/\[\d+\] /g).length;
        assert.equal(calls, frames(traced(receipt.transactionHash, CALLS)).length, `${what} ${shown}`);
        const emitted = receipt.status === '0x1' ? receipt.logs.length : 0;
        assert.ok((shown.match(/emit /g) ?? []).length >= emitted, `${what} ${shown}`);
        assert.equal(/\[Revert\] end of chain/.test(shown), ['soft', 'failed'].includes(what), `${what} ${shown}`);
      }
    }
    assert.match(refusal('run', `0x${'1'.repeat(64)}`), /tx not found|not found/);
  }],

  ['cast call --trace: executed from the node\'s state', () => {
    const shown = cast('call', '--trace', '--from', FIRST, links.at(-1), 'run(uint256,bool)', '0', 'false');
    const params = [{ from: FIRST, to: links.at(-1), data: offline('calldata', 'run(uint256,bool)', '0', 'false') }, 'latest'];
    const frame = json('rpc', 'debug_traceCall', ...[...params, CALLS].map((param) => JSON.stringify(param)));
    assert.match(shown, new RegExp(`Gas used: ${BigInt(frame.gasUsed)}`));
    assert.equal(shown.match(/\[\d+\] /g).length, frames(frame).length);
    assert.equal(cast('balance', NOBODY), '0');
  }],

  ['forge test: forks with history', () => {
    mkdirSync(join(project, 'test'));
    writeFileSync(join(project, 'test', 'Fork.t.sol'), TEST);
    for (const name of ['testState', 'testHistory', 'testTransaction', 'testCalls', 'testRpc']) {
      const { exit, status, reason } = forgeTest(name);
      assert.deepEqual([exit, status, reason], [0, 'Success', null], name);
    }
    const { exit, status, reason } = forgeTest('testThatFails');
    assert.deepEqual([exit, status, reason], [1, 'Failure', 'so many hits there are not']);
  }],
]);
