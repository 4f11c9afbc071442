// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import { Account } from "@openzeppelin/contracts/account/Account.sol";
import { ERC7821 } from "@openzeppelin/contracts/account/extensions/draft-ERC7821.sol";
import { ERC721Holder } from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import { EIP712 } from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import { ERC7739 } from "@openzeppelin/contracts/utils/cryptography/signers/draft-ERC7739.sol";
import { SignerEIP7702 } from "@openzeppelin/contracts/utils/cryptography/signers/SignerEIP7702.sol";

/// What OpenZeppelin's wizard makes for accounts that delegate (EIP-7702): batches, and signatures of the account's own key.
contract BatchAccount is Account, EIP712, ERC7739, SignerEIP7702, ERC7821, ERC721Holder {
  constructor() EIP712("BatchAccount", "1") {}

  function _erc7821AuthorizedExecutor(address caller, bytes32 mode, bytes calldata data)
    internal view override returns (bool) {
    return caller == address(entryPoint()) || super._erc7821AuthorizedExecutor(caller, mode, data);
  }
}
