// SPDX-License-Identifier: CC0-1.0
pragma solidity 0.8.28;

import {Coin} from "./Coin.sol";

/// Keeps coins for shares. What is given to it belongs to all shares; what is deposited stays for some time.
contract Vault {
    error Locked(uint256 until);
    error Nothing();

    event Deposited(address indexed who, uint256 coins, uint256 shares);
    event Withdrawn(address indexed who, uint256 coins, uint256 shares);

    uint256 public constant LOCK = 7 days;
    Coin public immutable coin;
    uint256 public totalShares;
    mapping(address => uint256) public sharesOf;
    mapping(address => uint256) public lockedUntil;

    constructor(Coin coin_) { coin = coin_; }

    function coins() public view returns (uint256) { return coin.balanceOf(address(this)); }

    function worth(uint256 shares) public view returns (uint256) {
        return totalShares == 0 ? 0 : shares * coins() / totalShares;
    }

    function deposit(uint256 value) external returns (uint256 shares) {
        uint256 before = coins();
        shares = totalShares == 0 ? value : value * totalShares / before;
        if (shares == 0) revert Nothing();
        totalShares += shares;
        sharesOf[msg.sender] += shares;
        lockedUntil[msg.sender] = block.timestamp + LOCK;
        coin.transferFrom(msg.sender, address(this), value);
        emit Deposited(msg.sender, value, shares);
    }

    function withdraw(uint256 shares) external returns (uint256 value) {
        if (block.timestamp < lockedUntil[msg.sender]) revert Locked(lockedUntil[msg.sender]);
        if (shares == 0 || shares > sharesOf[msg.sender]) revert Nothing();
        value = worth(shares);
        sharesOf[msg.sender] -= shares;
        totalShares -= shares;
        coin.transfer(msg.sender, value);
        emit Withdrawn(msg.sender, value, shares);
    }
}
