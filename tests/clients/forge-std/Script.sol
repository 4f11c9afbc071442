// SPDX-License-Identifier: Apache-2.0 OR MIT
pragma solidity ^0.8.13;

/// Cheat codes of forge that the sample of `forge init` uses.
interface Vm {
    function assertEq(uint256 left, uint256 right) external pure;
    function startBroadcast() external;
    function stopBroadcast() external;
}

abstract contract Script {
    bool public constant IS_SCRIPT = true;
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
}
