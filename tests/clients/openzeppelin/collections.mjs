// Collections of OpenZeppelin: ERC-721 that can be enumerated, with roles, and ERC-1155 in batches.
import assert from 'node:assert/strict';
import { getAddress } from 'viem';
import {
  addressOf, deploy, deployWithEthers, events, inEthers, node, read, refusalInEthers, refused, sent, signer, wallet, write,
} from './clients.mjs';

const [ADMIN, MINTER, OWNER] = [0, 1, 2];
/** Interfaces (ERC-165): ERC-165 itself, ERC-721, its metadata and enumeration, access control, ERC-1155; the last one is nobody's. */
const INTERFACES = ['0x01ffc9a7', '0x80ac58cd', '0x5b5e139f', '0x780e9d63', '0x7965db0b', '0xd9b67a26', '0xffffffff'];
/** All of them in one call, whose contract is nowhere. */
const interfacesOf = (contract) => {
  const contracts = INTERFACES.map((id) => ({ ...contract, functionName: 'supportsInterface', args: [id] }));
  return node.multicall({ contracts, deployless: true, allowFailure: false });
};

let pictures, things;
const TRANSFER = 'safeTransferFrom(address,address,uint256)';

export const steps = [
  ['pictures: only whoever has the role makes them', async () => {
    pictures = await deployWithEthers('Pictures', addressOf(ADMIN));
    const role = await read(pictures, 'MINTER');
    const wanted = ['AccessControlUnauthorizedAccount', addressOf(MINTER), role];
    assert.deepEqual(await refused(MINTER, pictures, 'mint', addressOf(OWNER), 1n), wanted);
    await write(wallet(ADMIN), pictures, 'grantRole', role, addressOf(MINTER));
    assert.equal(await read(pictures, 'hasRole', role, addressOf(MINTER)), true);
    for (const id of [7n, 8n, 9n]) await write(wallet(MINTER), pictures, 'mint', addressOf(OWNER), id);
    await write(wallet(ADMIN), pictures, 'revokeRole', role, addressOf(MINTER));
    assert.deepEqual(await refused(MINTER, pictures, 'mint', addressOf(OWNER), 10n), wanted);
    const granted = await events(pictures, 'RoleGranted');
    assert.deepEqual(granted.map(({ args }) => args.account), [addressOf(ADMIN), addressOf(MINTER)]);
  }],
  ['pictures: enumerated, and sent with ethers', async () => {
    const contract = inEthers(pictures, signer(OWNER));
    await sent(contract[TRANSFER](addressOf(OWNER), addressOf(MINTER), 7n));
    assert.deepEqual([await read(pictures, 'totalSupply'), await read(pictures, 'balanceOf', addressOf(OWNER))], [3n, 2n]);
    const all = [0n, 1n, 2n].map((index) => read(pictures, 'tokenByIndex', index));
    const own = [0n, 1n].map((index) => read(pictures, 'tokenOfOwnerByIndex', addressOf(OWNER), index));
    assert.deepEqual(await Promise.all([...all, ...own]), [7n, 8n, 9n, 9n, 8n]);
    assert.equal(await contract.tokenURI(7n), 'ipfs://pictures/7');
    const third = await refused(OWNER, pictures, 'tokenOfOwnerByIndex', addressOf(OWNER), 2n);
    assert.deepEqual(third, ['ERC721OutOfBoundsIndex', addressOf(OWNER), 2n]);
    assert.deepEqual(await refused(OWNER, pictures, 'ownerOf', 1n), ['ERC721NonexistentToken', 1n]);
    // A contract that does not say that it takes them.
    const toContract = contract[TRANSFER].staticCall(addressOf(OWNER), pictures.address, 8n);
    assert.deepEqual(await refusalInEthers(contract, toContract), ['ERC721InvalidReceiver', getAddress(pictures.address)]);
  }],
  ['things: several kinds at once', async () => {
    things = await deploy('Things', addressOf(OWNER), [1n, 2n, 3n], [10n, 20n, 30n]);
    const receipt = await write(wallet(OWNER), things, 'safeBatchTransferFrom', addressOf(OWNER), addressOf(MINTER), [1n, 3n], [4n, 5n], '0x');
    const holders = [OWNER, OWNER, OWNER, MINTER, MINTER, MINTER].map(addressOf);
    assert.deepEqual(await read(things, 'balanceOfBatch', holders, [1n, 2n, 3n, 1n, 2n, 3n]), [6n, 20n, 25n, 4n, 0n, 5n]);
    const [{ args }] = await events(things, 'TransferBatch', receipt.blockNumber);
    assert.deepEqual(args, { operator: addressOf(OWNER), from: addressOf(OWNER), to: addressOf(MINTER), ids: [1n, 3n], values: [4n, 5n] });
    const contract = inEthers(things, signer(MINTER));
    const tooMuch = contract.safeTransferFrom(addressOf(MINTER), addressOf(OWNER), 3n, 6n, '0x');
    assert.deepEqual(await refusalInEthers(contract, tooMuch), ['ERC1155InsufficientBalance', addressOf(MINTER), 5n, 6n, 3n]);
    assert.deepEqual(
      await refused(MINTER, things, 'safeTransferFrom', addressOf(OWNER), addressOf(MINTER), 1n, 1n, '0x'),
      ['ERC1155MissingApprovalForAll', addressOf(MINTER), addressOf(OWNER)],
    );
  }],
  ['interfaces of both', async () => {
    assert.deepEqual(await interfacesOf(pictures), [true, true, true, true, true, false, false]);
    assert.deepEqual(await interfacesOf(things), [true, false, false, false, false, true, false]);
  }],
];
