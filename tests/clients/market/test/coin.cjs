const assert = require('node:assert/strict');
const { ethers } = require('hardhat');
const { loadFixture } = require('@nomicfoundation/hardhat-network-helpers');
const { MUCH, deployed, done, events, refused } = require('./deployed.cjs');

const zero = ethers.ZeroAddress;

describe('Coin', () => {
  it('has a name and a supply', async () => {
    const { coin, owner } = await loadFixture(deployed);
    assert.deepEqual([await coin.name(), await coin.symbol(), await coin.decimals()], ['Market Coin', 'MKT', 18n]);
    assert.deepEqual([await coin.totalSupply(), await coin.owner()], [2n * MUCH, owner.address]);
  });
  it('is made by its owner only', async () => {
    const { coin, carol } = await loadFixture(deployed);
    assert.deepEqual(await events(coin, coin.mint(carol, 5n)), [`Transfer(${zero},${carol.address},5)`]);
    await refused(coin.connect(carol).mint(carol, 5n), coin, 'NotOwner', [carol.address]);
    assert.equal(await coin.totalSupply(), 2n * MUCH + 5n);
  });
  it('is burnt', async () => {
    const { coin, alice } = await loadFixture(deployed);
    assert.deepEqual(await events(coin, coin.connect(alice).burn(MUCH)), [`Transfer(${alice.address},${zero},${MUCH})`]);
    await refused(coin.connect(alice).burn(1n), coin, 'TooLittle', [alice.address, 0n, 1n]);
    assert.equal(await coin.totalSupply(), MUCH);
  });
  it('is transferred', async () => {
    const { coin, alice, carol } = await loadFixture(deployed);
    assert.deepEqual(await events(coin, coin.connect(alice).transfer(carol, 7n)), [`Transfer(${alice.address},${carol.address},7)`]);
    await refused(coin.connect(carol).transfer(alice, 8n), coin, 'TooLittle', [carol.address, 7n, 8n]);
    await done(coin.connect(carol).transfer(carol, 7n));
    assert.equal(await coin.balanceOf(carol), 7n);
  });
  it('is spent by whom its owner allowed it', async () => {
    const { coin, alice, bob, carol } = await loadFixture(deployed);
    await refused(coin.connect(carol).transferFrom(alice, bob, 1n), coin, 'NotAllowed', [carol.address, 0n, 1n]);
    await done(coin.connect(alice).approve(carol, 10n));
    await done(coin.connect(carol).transferFrom(alice, bob, 6n));
    assert.equal(await coin.allowance(alice, carol), 4n);
    await refused(coin.connect(carol).transferFrom(alice, bob, 5n), coin, 'NotAllowed', [carol.address, 4n, 5n]);
    await done(coin.connect(alice).approve(carol, ethers.MaxUint256));
    await done(coin.connect(carol).transferFrom(alice, bob, 5n));
    assert.equal(await coin.allowance(alice, carol), ethers.MaxUint256);
    assert.equal(await coin.balanceOf(bob), MUCH + 11n);
  });
  it('keeps its supply through many transfers', async () => {
    const { coin, alice, bob } = await loadFixture(deployed);
    for (let n = 1n; n <= 20n; n += 1n) await done(coin.connect(n % 2n ? alice : bob).transfer(n % 2n ? bob : alice, n * 1000n));
    assert.equal((await coin.balanceOf(alice)) + (await coin.balanceOf(bob)), 2n * MUCH);
    assert.equal((await coin.queryFilter('Transfer', -19)).length, 20);
  });
});
