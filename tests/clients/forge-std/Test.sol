// SPDX-License-Identifier: Apache-2.0 OR MIT
pragma solidity ^0.8.13;

import {Script} from "./Script.sol";

/// The part of forge-std that the sample of `forge init` uses. No package registry has forge-std.
abstract contract Test is Script {
    bool public constant IS_TEST = true;

    function assertEq(uint256 left, uint256 right) internal pure {
        vm.assertEq(left, right);
    }
}
