// Hardhat on `esker dev`. Another node's URL is taken from ESKER_URL.
require('@nomicfoundation/hardhat-ethers');
const { subtask } = require('hardhat/config');
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names');
const { version } = require('solc/package.json');

// The compiler that npm installed, so that nothing else is downloaded. Without this, Hardhat fetches its own.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: require.resolve('solc/soljson.js'),
  isSolcJs: true,
  version,
  longVersion: version,
}));

module.exports = {
  solidity: { version, settings: { evmVersion: 'cancun', optimizer: { enabled: true, runs: 200 } } },
  defaultNetwork: 'esker',
  networks: {
    esker: {
      url: `${process.env.ESKER_URL ?? 'http://127.0.0.1:9650'}/ext/bc/C/rpc`,
      chainId: 43112,
      // The first account of `esker dev`. Its key is public.
      accounts: ['0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'],
    },
  },
};
