// The state with which the tests begin: the contracts, and two people with coins.
const { ethers } = require('hardhat');

const MUCH = 10n ** 24n;

/** Waits for the block of a transaction. */
const done = async (sent) => (await sent).wait();
const deploy = async (...args) => (await ethers.deployContract(...args)).waitForDeployment();

/** A fixture: `loadFixture` takes a snapshot after it, and goes back to it for each test. */
async function deployed() {
  const [owner, alice, bob, carol] = await ethers.getSigners();
  const coin = await deploy('Coin');
  const vault = await deploy('Vault', [coin]);
  const auction = await deploy('Auction', [coin]);
  for (const person of [alice, bob]) {
    await done(coin.mint(person, MUCH));
    for (const spender of [vault, auction]) await done(coin.connect(person).approve(spender, ethers.MaxUint256));
  }
  return { owner, alice, bob, carol, coin, vault, auction };
}

/** Whether a transaction fails with this error of a contract, with these arguments. */
async function refused(promise, contract, name, args) {
  const error = await promise.then(() => undefined, (reason) => reason);
  const data = error?.data ?? error?.error?.data ?? error?.info?.error?.data;
  const found = data && contract.interface.parseError(data.data ?? data);
  if (found?.name !== name || (args && `${found.args}` !== `${args}`)) {
    throw new Error(`expected ${name}(${args ?? ''}), found ${found?.name ?? error}(${found?.args ?? ''})`);
  }
}

/** The events of a contract in a transaction, as texts. */
async function events(contract, sent) {
  const { logs } = await done(sent);
  const parsed = logs.map((log) => contract.interface.parseLog(log)).filter((event) => event !== null);
  return parsed.map((event) => `${event.name}(${event.args})`);
}

module.exports = { MUCH, deployed, done, events, refused };
