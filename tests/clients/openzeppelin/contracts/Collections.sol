// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import { AccessControl } from "@openzeppelin/contracts/access/AccessControl.sol";
import { ERC1155 } from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import { ERC721 } from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import { ERC721Enumerable } from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Enumerable.sol";

/// Pictures that can be enumerated; whoever has the role makes them.
contract Pictures is ERC721Enumerable, AccessControl {
  bytes32 public constant MINTER = keccak256("MINTER");

  constructor(address admin) ERC721("Pictures", "PIC") {
    _grantRole(DEFAULT_ADMIN_ROLE, admin);
  }

  function mint(address to, uint256 id) external onlyRole(MINTER) {
    _safeMint(to, id);
  }

  function _baseURI() internal pure override returns (string memory) {
    return "ipfs://pictures/";
  }

  function supportsInterface(bytes4 id) public view override(ERC721Enumerable, AccessControl) returns (bool) {
    return super.supportsInterface(id);
  }
}

/// Several things of each kind.
contract Things is ERC1155 {
  constructor(address holder, uint256[] memory ids, uint256[] memory amounts) ERC1155("ipfs://things/{id}") {
    _mintBatch(holder, ids, amounts, "");
  }
}
