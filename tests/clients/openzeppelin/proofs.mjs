// Libraries of OpenZeppelin: signatures of both curves, and proofs of leaves of a tree.
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { concat, encodeAbiParameters, hexToBigInt, keccak256, numberToHex, parseSignature, serializeSignature, toHex } from 'viem';
import { IS_ETHEREUM } from '../evm.mjs';
import { addressOf, deploy, ethers, inEthers, node, read, refused, signer, wallet, walletOfNode } from './clients.mjs';

const SIGNER = 6;
/** Orders of the groups of secp256k1 and of P-256. */
const K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const R1_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const word = (number) => numberToHex(number, { size: 32 });

let proofs;

/** Nodes of a tree whose pairs are hashed in their order, from the leaves to the root. */
function tree(leaves) {
  const layers = [leaves];
  while (layers.at(-1).length > 1) {
    const below = layers.at(-1);
    const pairs = Array.from({ length: below.length / 2 }, (_, n) => below.slice(2 * n, 2 * n + 2));
    layers.push(pairs.map((pair) => keccak256(concat(pair.sort()))));
  }
  return layers;
}
const proofOf = (layers, index) => layers.slice(0, -1).map((layer, height) => layer[(index >> height) ^ 1]);

/** Arguments of a check: a message's hash, a signature with the smaller `s`, a public key. */
function signedByP256() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const message = Buffer.from('hello');
  const signature = toHex(sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' }));
  const [r, s] = [`0x${signature.slice(2, 66)}`, hexToBigInt(`0x${signature.slice(66)}`)];
  const { x, y } = publicKey.export({ format: 'jwk' });
  const key = [x, y].map((part) => toHex(Buffer.from(part, 'base64url'), { size: 32 }));
  return [toHex(createHash('sha256').update(message).digest()), r, word(s > R1_ORDER / 2n ? R1_ORDER - s : s), ...key];
}

const common = [
  ['proofs: who signed a message, here and in the node', async () => {
    proofs = await deploy('Proofs');
    const message = 'hello';
    const ofNode = await ethers.getSigner(addressOf(SIGNER));
    const signatures = await Promise.all(
      [wallet(SIGNER), walletOfNode(SIGNER)].map((one) => one.signMessage({ message }))
        .concat([signer(SIGNER), ofNode].map((one) => one.signMessage(message))),
    );
    assert.deepEqual(signatures, Array(4).fill(signatures[0]));
    const [bytes, signature] = [toHex(message), signatures[0]];
    assert.equal(await read(proofs, 'signer', bytes, signature), addressOf(SIGNER));
    assert.notEqual(await inEthers(proofs).signer(toHex('goodbye'), signature), addressOf(SIGNER));
    const { r, s, yParity } = parseSignature(signature);
    const other = serializeSignature({ r, s: word(K1_ORDER - hexToBigInt(s)), yParity: 1 - yParity });
    assert.deepEqual(await refused(SIGNER, proofs, 'signer', bytes, other), ['ECDSAInvalidSignatureS', word(K1_ORDER - hexToBigInt(s))]);
    assert.deepEqual(await refused(SIGNER, proofs, 'signer', bytes, '0x1234'), ['ECDSAInvalidSignatureLength', 2n]);
  }],
  ['proofs: leaves of a tree', async () => {
    const amounts = Array.from({ length: 8 }, (_, n) => [addressOf(n), BigInt(n)]);
    const leaves = amounts.map((pair) => keccak256(keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], pair))));
    const layers = tree(leaves);
    const [[root]] = layers.slice(-1);
    const checks = leaves.map((leaf, n) => read(proofs, 'isLeaf', proofOf(layers, n), root, leaf));
    assert.deepEqual(await Promise.all(checks), Array(8).fill(true));
    assert.equal(await inEthers(proofs).isLeaf(proofOf(layers, 0), root, leaves[1]), false);
  }],
  ['proofs: signatures of P-256', async () => {
    const args = signedByP256();
    assert.equal(await read(proofs, 'p256', ...args), true);
    assert.equal(await read(proofs, 'p256', word(1n), ...args.slice(1)), false);
  }],
];
const ofOsaka = [
  ['proofs: signatures of P-256 by the precompile', async () => {
    const args = signedByP256();
    assert.equal(await read(proofs, 'p256ByPrecompile', ...args), true);
    assert.equal(await read(proofs, 'p256ByPrecompile', word(1n), ...args.slice(1)), false);
    // The library prefers the precompile; its own Solidity costs several times as much.
    const gas = await node.estimateContractGas({ ...proofs, functionName: 'p256', args, account: addressOf(SIGNER) });
    assert.ok(gas < 60_000n, `${gas}`);
  }],
];

export const steps = IS_ETHEREUM ? [...common, ...ofOsaka] : common;
