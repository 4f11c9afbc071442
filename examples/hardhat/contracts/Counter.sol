// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

contract Counter {
    uint256 public count;

    event Counted(address indexed by, uint256 count);

    constructor(uint256 first) {
        count = first;
    }

    function add(uint256 n) external {
        require(n > 0, "nothing to add");
        count += n;
        emit Counted(msg.sender, count);
    }
}
