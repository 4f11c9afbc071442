// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import { ERC20 } from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import { ERC20Permit } from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import { ERC20Votes } from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import { ERC4626, IERC20 } from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import { Nonces } from "@openzeppelin/contracts/utils/Nonces.sol";

/// A token with signed permits, and votes that count at past blocks.
contract Token is ERC20, ERC20Permit, ERC20Votes {
  constructor(address holder, uint256 supply) ERC20("Token", "TOK") ERC20Permit("Token") {
    _mint(holder, supply);
  }

  function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
    super._update(from, to, value);
  }

  function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
    return super.nonces(owner);
  }
}

/// Takes the token for shares; a deposit is a `transferFrom`.
contract Vault is ERC4626 {
  constructor(IERC20 token) ERC4626(token) ERC20("Vault", "VLT") {}
}
