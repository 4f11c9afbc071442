const assert = require('node:assert/strict');
const { ethers } = require('hardhat');
const { loadFixture, mine, time } = require('@nomicfoundation/hardhat-network-helpers');
const { MUCH, deployed, done, events, refused } = require('./deployed.cjs');

const DAY = 24 * 3600;

describe('Auction', () => {
  async function begun() {
    const all = await deployed();
    await done(all.auction.connect(all.carol).begin(100n, DAY));
    return { ...all, deadline: (await all.auction.lots(0)).deadline };
  }
  it('begins with a deadline', async () => {
    const { auction, carol, deadline } = await loadFixture(begun);
    const lot = await auction.lots(0);
    assert.deepEqual([lot.seller, lot.bidder, lot.least, await auction.count()], [carol.address, ethers.ZeroAddress, 100n, 1n]);
    assert.equal(deadline, BigInt(await time.latest()) + BigInt(DAY));
  });
  it('takes bids that are high enough', async () => {
    const { auction, alice, bob, deadline } = await loadFixture(begun);
    await refused(auction.connect(alice).bid(0, 99n), auction, 'TooLow', [100n]);
    assert.deepEqual(await events(auction, auction.connect(alice).bid(0, 200n)), [`Bid(0,${alice.address},200,${deadline})`]);
    await refused(auction.connect(bob).bid(0, 209n), auction, 'TooLow', [210n]);
    await done(auction.connect(bob).bid(0, 210n));
    assert.equal(await auction.refunds(alice), 200n);
  });
  it('gives back what was outbid', async () => {
    const { auction, coin, alice, bob } = await loadFixture(begun);
    await done(auction.connect(alice).bid(0, 200n));
    await done(auction.connect(bob).bid(0, 300n));
    await done(auction.connect(alice).refund());
    assert.deepEqual([await coin.balanceOf(alice), await coin.balanceOf(auction)], [MUCH, 300n]);
  });
  it('takes no bid after the deadline', async () => {
    const { auction, alice, deadline } = await loadFixture(begun);
    await time.increaseTo(deadline);
    await refused(auction.connect(alice).bid(0, 500n), auction, 'Over', [deadline]);
  });
  it('takes a bid in the last second, and goes on', async () => {
    const { auction, alice, bob, deadline } = await loadFixture(begun);
    await time.setNextBlockTimestamp(deadline - 600n);
    await done(auction.connect(alice).bid(0, 500n));
    assert.equal((await auction.lots(0)).deadline, deadline);
    await time.setNextBlockTimestamp(deadline - 1n);
    await done(auction.connect(bob).bid(0, 600n));
    assert.equal((await auction.lots(0)).deadline, deadline - 1n + 600n);
  });
  it('is settled once, after the deadline', async () => {
    const { auction, coin, alice, carol, deadline } = await loadFixture(begun);
    await done(auction.connect(alice).bid(0, 500n));
    await refused(auction.settle(0), auction, 'Open', [deadline]);
    await time.increaseTo(deadline);
    assert.deepEqual(await events(auction, auction.settle(0)), [`Sold(0,${alice.address},500)`]);
    assert.equal(await coin.balanceOf(carol), 500n);
    await refused(auction.settle(0), auction, 'Settled', []);
  });
  it('is settled without a bid', async () => {
    const { auction, deadline } = await loadFixture(begun);
    await time.increaseTo(deadline + 5n);
    assert.deepEqual(await events(auction, auction.settle(0)), [`Sold(0,${ethers.ZeroAddress},0)`]);
  });
  it('is cancelled by its seller, before the first bid', async () => {
    const { auction, alice, carol, deadline } = await loadFixture(begun);
    await refused(auction.connect(alice).cancel(0), auction, 'NotSeller', [alice.address]);
    await done(auction.connect(alice).bid(0, 100n));
    await refused(auction.connect(carol).cancel(0), auction, 'Open', [deadline]);
    await done(auction.connect(carol).begin(1n, DAY));
    await done(auction.connect(carol).cancel(1));
    const { deadline: second } = await auction.lots(1);
    await refused(auction.connect(alice).bid(1, 5n), auction, 'Over', [second]);
  });
  it('counts time, not blocks', async () => {
    const { auction, alice } = await loadFixture(begun);
    await mine(100);
    await done(auction.connect(alice).bid(0, 100n));
    await mine(10, { interval: DAY });
    await done(auction.settle(0));
  });
  it('has many lots with bids of two people', async () => {
    const { auction, coin, alice, bob, carol } = await loadFixture(begun);
    for (let id = 1; id <= 8; id += 1) {
      await done(auction.connect(carol).begin(10n, DAY));
      await done(auction.connect(alice).bid(id, 10n));
      await done(auction.connect(bob).bid(id, 20n));
    }
    await time.increase(DAY + 1);
    for (let id = 1; id <= 8; id += 1) await done(auction.settle(id));
    assert.deepEqual([await coin.balanceOf(carol), await auction.refunds(alice)], [160n, 80n]);
  });
});
