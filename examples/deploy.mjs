// Compiles, deploys and calls a contract with ethers: `node deploy.mjs [URL]`, with `esker dev` running.
import { ContractFactory, JsonRpcProvider, Wallet } from 'ethers';
import solc from 'solc';

const url = process.argv[2] ?? 'http://127.0.0.1:9650';
// The first account of `esker dev`. Its key is public.
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const SOURCE = `
  // SPDX-License-Identifier: MIT
  pragma solidity ^0.8.0;
  contract Counter {
    uint256 public count;
    event Counted(address indexed by, uint256 count);
    function add(uint256 n) external {
      require(n > 0, "nothing to add");
      count += n;
      emit Counted(msg.sender, count);
    }
  }`;

function compile(source) {
  const input = {
    language: 'Solidity',
    sources: { 'Counter.sol': { content: source } },
    settings: { evmVersion: 'cancun', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  };
  const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(input)));
  const fatal = errors.filter(({ severity }) => severity === 'error');
  if (fatal.length > 0) throw new Error(fatal.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const { abi, evm } = contracts['Counter.sol'].Counter;
  return { abi, bytecode: evm.bytecode.object };
}

// Blocks come within milliseconds: an answer that is kept for ethers' 250 ms would be an old one.
const provider = new JsonRpcProvider(`${url}/ext/bc/C/rpc`, undefined, { cacheTimeout: -1 });
const wallet = new Wallet(KEY, provider);
const { abi, bytecode } = compile(SOURCE);

const counter = await new ContractFactory(abi, bytecode, wallet).deploy();
await counter.waitForDeployment();
console.log(`deployed at ${await counter.getAddress()}`);

const { hash, blockNumber } = await (await counter.add(3)).wait();
console.log(`${hash} is in block ${blockNumber}`);
console.log(`count is ${await counter.count()}`);

try {
  await counter.add(0);
} catch (error) {
  console.log(`refused: ${error.reason}`);
}
provider.destroy();
