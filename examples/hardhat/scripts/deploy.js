// Deploys and calls a contract: `npx hardhat run scripts/deploy.js`.
const { ethers } = require('hardhat');

async function main() {
  const counter = await ethers.deployContract('Counter', [5]);
  await counter.waitForDeployment();
  console.log(`deployed at ${await counter.getAddress()}`);

  await (await counter.add(3)).wait();
  console.log(`count is ${await counter.count()}`);

  try {
    await counter.add(0);
  } catch (error) {
    console.log(`refused: ${error.message}`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
