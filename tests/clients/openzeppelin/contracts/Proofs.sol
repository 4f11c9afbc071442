// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import { ECDSA } from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import { MerkleProof } from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import { MessageHashUtils } from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import { P256 } from "@openzeppelin/contracts/utils/cryptography/P256.sol";

/// The libraries of signatures and of trees.
contract Proofs {
  function signer(bytes calldata message, bytes calldata signature) external pure returns (address) {
    return ECDSA.recover(MessageHashUtils.toEthSignedMessageHash(message), signature);
  }

  function isLeaf(bytes32[] calldata proof, bytes32 root, bytes32 leaf) external pure returns (bool) {
    return MerkleProof.verifyCalldata(proof, root, leaf);
  }

  function p256(bytes32 hash, bytes32 r, bytes32 s, bytes32 x, bytes32 y) external view returns (bool) {
    return P256.verify(hash, r, s, x, y);
  }

  function p256ByPrecompile(bytes32 hash, bytes32 r, bytes32 s, bytes32 x, bytes32 y) external view returns (bool) {
    return P256.verifyNative(hash, r, s, x, y);
  }
}
