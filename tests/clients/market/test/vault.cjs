const assert = require('node:assert/strict');
const { loadFixture, time } = require('@nomicfoundation/hardhat-network-helpers');
const { MUCH, deployed, done, events, refused } = require('./deployed.cjs');

const WEEK = 7 * 24 * 3600;

describe('Vault', () => {
  async function filled() {
    const all = await deployed();
    await done(all.vault.connect(all.alice).deposit(1000n));
    await done(all.vault.connect(all.bob).deposit(3000n));
    // A deposit in the second of the last one does not change `lockedUntil`: one that is estimated then, and mined in the next
    // second, would take more gas than it has.
    await time.increase(60);
    return all;
  }
  it('gives shares for coins', async () => {
    const { vault, alice, bob } = await loadFixture(filled);
    assert.deepEqual([await vault.sharesOf(alice), await vault.sharesOf(bob), await vault.totalShares()], [1000n, 3000n, 4000n]);
    assert.deepEqual(await events(vault, vault.connect(alice).deposit(500n)), [`Deposited(${alice.address},500,500)`]);
  });
  it('shares what it is given', async () => {
    const { vault, coin, alice, bob } = await loadFixture(filled);
    await done(coin.connect(bob).transfer(vault, 4000n));
    assert.deepEqual([await vault.coins(), await vault.worth(1000n)], [8000n, 2000n]);
    await done(vault.connect(alice).deposit(2000n));
    assert.equal(await vault.sharesOf(alice), 2000n);
  });
  it('keeps coins for a week', async () => {
    const { vault, coin, alice } = await loadFixture(filled);
    const until = await vault.lockedUntil(alice);
    await refused(vault.connect(alice).withdraw(1000n), vault, 'Locked', [until]);
    await time.setNextBlockTimestamp(until - 1n);
    await refused(vault.connect(alice).withdraw.staticCall(1000n), vault, 'Locked', [until]);
    await time.increaseTo(until);
    assert.deepEqual(await events(vault, vault.connect(alice).withdraw(1000n)), [`Withdrawn(${alice.address},1000,1000)`]);
    assert.equal(await coin.balanceOf(alice), MUCH);
  });
  it('begins the week again with each deposit', async () => {
    const { vault, alice, bob } = await loadFixture(filled);
    await time.increase(WEEK);
    await done(vault.connect(alice).deposit(1n));
    const until = await vault.lockedUntil(alice);
    await refused(vault.connect(alice).withdraw(1n), vault, 'Locked', [until]);
    await done(vault.connect(bob).withdraw(3000n));
  });
  it('gives no more than there is', async () => {
    const { vault, alice, carol } = await loadFixture(filled);
    await time.increase(WEEK);
    await refused(vault.connect(alice).withdraw(1001n), vault, 'Nothing', []);
    await refused(vault.connect(alice).withdraw(0n), vault, 'Nothing', []);
    await refused(vault.connect(carol).withdraw(1n), vault, 'Nothing', []);
  });
  it('takes nothing without an allowance', async () => {
    const { vault, coin, carol } = await loadFixture(filled);
    await done(coin.mint(carol, 100n));
    const spender = await vault.getAddress();
    await refused(vault.connect(carol).deposit(100n), coin, 'NotAllowed', [spender, 0n, 100n]);
    assert.equal(await vault.totalShares(), 4000n);
  });
  it('is empty in the end', async () => {
    const { vault, coin, alice, bob } = await loadFixture(filled);
    await done(coin.connect(alice).transfer(vault, 400n));
    await time.increase(2 * WEEK);
    await done(vault.connect(alice).withdraw(1000n));
    await done(vault.connect(bob).withdraw(3000n));
    assert.deepEqual([await vault.coins(), await vault.totalShares()], [0n, 0n]);
    assert.equal(await coin.balanceOf(bob), MUCH + 300n);
  });
});
