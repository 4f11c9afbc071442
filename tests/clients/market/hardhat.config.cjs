// Tests on the node of the environment variable NODE, for the EVM of EVM_VERSION, with the compiler of npm: nothing is fetched.
require('@nomicfoundation/hardhat-ethers');
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names');
const { subtask } = require('hardhat/config');

subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }) => ({
  compilerPath: require.resolve('solc/soljson.js'),
  isSolcJs: true,
  version: solcVersion,
  longVersion: require('solc').version(),
}));

module.exports = {
  solidity: { version: '0.8.28', settings: { evmVersion: process.env.EVM_VERSION ?? 'cancun', optimizer: { enabled: true, runs: 200 } } },
  defaultNetwork: 'node',
  networks: { node: { url: process.env.NODE ?? 'http://127.0.0.1:8545' } },
  paths: { artifacts: process.env.BUILD && `${process.env.BUILD}/artifacts`, cache: process.env.BUILD && `${process.env.BUILD}/cache` },
};
