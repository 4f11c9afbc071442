// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import { Governor } from "@openzeppelin/contracts/governance/Governor.sol";
import { GovernorCountingSimple } from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import { GovernorSettings } from "@openzeppelin/contracts/governance/extensions/GovernorSettings.sol";
import { GovernorTimelockControl } from "@openzeppelin/contracts/governance/extensions/GovernorTimelockControl.sol";
import { GovernorVotes, IVotes } from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import { TimelockController } from "@openzeppelin/contracts/governance/TimelockController.sol";

/// Votes begin 5 blocks after a proposal and take 50 blocks.
contract Council is Governor, GovernorSettings, GovernorCountingSimple, GovernorVotes, GovernorTimelockControl {
  constructor(IVotes token, TimelockController timelock)
    Governor("Council") GovernorSettings(5, 50, 1) GovernorVotes(token) GovernorTimelockControl(timelock) {}

  function quorum(uint256) public pure override returns (uint256) {
    return 100e18;
  }

  function state(uint256 id) public view override(Governor, GovernorTimelockControl) returns (ProposalState) {
    return super.state(id);
  }

  function proposalNeedsQueuing(uint256 id) public view override(Governor, GovernorTimelockControl) returns (bool) {
    return super.proposalNeedsQueuing(id);
  }

  function proposalThreshold() public view override(Governor, GovernorSettings) returns (uint256) {
    return super.proposalThreshold();
  }

  function _queueOperations(
    uint256 id, address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 description
  ) internal override(Governor, GovernorTimelockControl) returns (uint48) {
    return super._queueOperations(id, targets, values, calldatas, description);
  }

  function _executeOperations(
    uint256 id, address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 description
  ) internal override(Governor, GovernorTimelockControl) {
    super._executeOperations(id, targets, values, calldatas, description);
  }

  function _cancel(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 description)
    internal override(Governor, GovernorTimelockControl) returns (uint256) {
    return super._cancel(targets, values, calldatas, description);
  }

  function _executor() internal view override(Governor, GovernorTimelockControl) returns (address) {
    return super._executor();
  }
}
