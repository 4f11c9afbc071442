// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import { Ownable } from "@openzeppelin/contracts/access/Ownable.sol";
import { Clones } from "@openzeppelin/contracts/proxy/Clones.sol";
import { Initializable } from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import { UUPSUpgradeable } from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

/// Holds a value behind a proxy that its owner can upgrade.
contract Box is Initializable, Ownable, UUPSUpgradeable {
  uint256 public value;

  constructor() Ownable(address(1)) {
    _disableInitializers();
  }

  function initialize(address owner, uint256 first) external initializer {
    _transferOwnership(owner);
    value = first;
  }

  function put(uint256 next) external onlyOwner {
    value = next;
  }

  function version() external pure virtual returns (uint256) {
    return 1;
  }

  function _authorizeUpgrade(address) internal override onlyOwner {}
}

/// The next version, which doubles the value once.
contract BoxV2 is Box {
  function migrate() external reinitializer(2) {
    value *= 2;
  }

  function version() external pure override returns (uint256) {
    return 2;
  }
}

/// Makes minimal proxies.
contract Factory {
  event Made(address instance);

  function make(address implementation, bytes32 salt) external {
    emit Made(Clones.cloneDeterministic(implementation, salt));
  }

  function makeWithArgs(address implementation, bytes calldata args, bytes32 salt) external {
    emit Made(Clones.cloneDeterministicWithImmutableArgs(implementation, args, salt));
  }

  function predict(address implementation, bytes32 salt) external view returns (address) {
    return Clones.predictDeterministicAddress(implementation, salt);
  }

  function argsOf(address instance) external view returns (bytes memory) {
    return Clones.fetchCloneArgs(instance);
  }
}
