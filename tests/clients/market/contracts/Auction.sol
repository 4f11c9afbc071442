// SPDX-License-Identifier: CC0-1.0
pragma solidity 0.8.28;

import {Coin} from "./Coin.sol";

/// Sells things to who bids most before a deadline, which late bids move.
contract Auction {
    error Over(uint256 deadline);
    error Open(uint256 deadline);
    error TooLow(uint256 least);
    error NotSeller(address who);
    error Settled();

    event Begun(uint256 indexed id, address indexed seller, uint256 deadline, uint256 least);
    event Bid(uint256 indexed id, address indexed bidder, uint256 value, uint256 deadline);
    event Sold(uint256 indexed id, address indexed buyer, uint256 value);
    event Cancelled(uint256 indexed id);

    struct Lot {
        address seller;
        address bidder;
        uint256 value;
        uint256 least;
        uint256 deadline;
        bool settled;
    }

    /// A bid in the last minutes moves the deadline so far away from it.
    uint256 public constant EXTENSION = 10 minutes;
    /// How much more a bid has to be, in percent.
    uint256 public constant STEP = 5;
    Coin public immutable coin;
    Lot[] public lots;
    mapping(address => uint256) public refunds;

    constructor(Coin coin_) { coin = coin_; }

    function count() external view returns (uint256) { return lots.length; }

    function begin(uint256 least, uint256 duration) external returns (uint256 id) {
        id = lots.length;
        uint256 deadline = block.timestamp + duration;
        lots.push(Lot(msg.sender, address(0), 0, least, deadline, false));
        emit Begun(id, msg.sender, deadline, least);
    }

    function leastBid(uint256 id) public view returns (uint256) {
        Lot storage lot = lots[id];
        return lot.bidder == address(0) ? lot.least : lot.value + lot.value * STEP / 100;
    }

    function bid(uint256 id, uint256 value) external {
        Lot storage lot = lots[id];
        if (block.timestamp >= lot.deadline || lot.settled) revert Over(lot.deadline);
        if (value < leastBid(id)) revert TooLow(leastBid(id));
        if (lot.bidder != address(0)) refunds[lot.bidder] += lot.value;
        (lot.bidder, lot.value) = (msg.sender, value);
        if (lot.deadline - block.timestamp < EXTENSION) lot.deadline = block.timestamp + EXTENSION;
        coin.transferFrom(msg.sender, address(this), value);
        emit Bid(id, msg.sender, value, lot.deadline);
    }

    function settle(uint256 id) external {
        Lot storage lot = lots[id];
        if (lot.settled) revert Settled();
        if (block.timestamp < lot.deadline) revert Open(lot.deadline);
        lot.settled = true;
        if (lot.bidder != address(0)) coin.transfer(lot.seller, lot.value);
        emit Sold(id, lot.bidder, lot.value);
    }

    function cancel(uint256 id) external {
        Lot storage lot = lots[id];
        if (msg.sender != lot.seller) revert NotSeller(msg.sender);
        if (lot.settled) revert Settled();
        if (lot.bidder != address(0)) revert Open(lot.deadline);
        lot.settled = true;
        emit Cancelled(id);
    }

    function refund() external returns (uint256 value) {
        value = refunds[msg.sender];
        refunds[msg.sender] = 0;
        coin.transfer(msg.sender, value);
    }
}
