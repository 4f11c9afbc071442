// SPDX-License-Identifier: CC0-1.0
pragma solidity 0.8.28;

import {Auction} from "../src/Auction.sol";
import {Coin} from "../src/Coin.sol";
import {Vault} from "../src/Vault.sol";

interface Vm {
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function createSelectFork(string calldata url) external returns (uint256);
    function envString(string calldata) external view returns (string memory);
    /// `block.timestamp` does not change within a transaction for the compiler.
    function getBlockTimestamp() external view returns (uint256);
    function getNonce(address) external view returns (uint64);
    function unixTime() external view returns (uint256);
    function rpc(string calldata method, string calldata params) external returns (bytes memory);
    function toString(bytes calldata) external pure returns (string memory);
    function toString(address) external pure returns (string memory);
    function toString(uint256) external pure returns (string memory);
}

/// The contracts on the node of the environment variable NODE: each test takes a snapshot, sends transactions that the node puts
/// into blocks, reads the state of its last block, and goes back.
contract MarketTest {
    Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    address constant OWNER = 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266;
    address constant ALICE = 0x70997970C51812dc3A010C7d01b50e0d17dc79C8;
    address constant BOB = 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC;
    uint256 constant MUCH = 1e24;

    Coin coin;
    Vault vault;
    Auction auction;

    modifier isolated() {
        look();
        string memory snapshot = string.concat('["', vm.toString(vm.rpc("evm_snapshot", "[]")), '"]');
        begin();
        _;
        vm.rpc("evm_revert", snapshot);
        look();
        require(address(coin).code.length == 0, "gone");
    }

    function begin() internal {
        coin = Coin(deploy(type(Coin).creationCode));
        vault = Vault(deploy(abi.encodePacked(type(Vault).creationCode, abi.encode(coin))));
        auction = Auction(deploy(abi.encodePacked(type(Auction).creationCode, abi.encode(coin))));
        address[2] memory people = [ALICE, BOB];
        for (uint256 i; i < 2; i++) {
            send(OWNER, address(coin), abi.encodeCall(Coin.mint, (people[i], MUCH)));
            send(people[i], address(coin), abi.encodeCall(Coin.approve, (address(vault), type(uint256).max)));
            send(people[i], address(coin), abi.encodeCall(Coin.approve, (address(auction), type(uint256).max)));
        }
        look();
    }

    /// Reads the last block of the node from now on. Forge keeps what it has read of a height by URL, and after a revert
    /// other blocks have these heights.
    function look() internal {
        vm.createSelectFork(string.concat(vm.envString("NODE"), "?", vm.toString(vm.unixTime())));
    }

    function deploy(bytes memory code) internal returns (address made) {
        made = vm.computeCreateAddress(OWNER, vm.getNonce(OWNER));
        mined(string.concat('{"from":"', vm.toString(OWNER), '","gas":"0x300000","data":"', vm.toString(code), '"}'));
        look();
        require(made.code.length > 0, "deployed");
    }

    function send(address from, address to, bytes memory data) internal {
        string memory people = string.concat('{"from":"', vm.toString(from), '","to":"', vm.toString(to));
        mined(string.concat(people, '","gas":"0x40000","data":"', vm.toString(data), '"}'));
    }

    /// The transaction is in a block when this returns.
    function mined(string memory transaction) internal {
        vm.rpc("evm_setAutomine", "[false]");
        vm.rpc("eth_sendTransaction", string.concat("[", transaction, "]"));
        vm.rpc("evm_mine", "[]");
        vm.rpc("evm_setAutomine", "[true]");
    }

    /// The time of the next block, Unix seconds.
    function at(uint256 time) internal {
        vm.rpc("evm_setNextBlockTimestamp", string.concat("[", vm.toString(time), "]"));
    }

    function testCoinsAreTransferred() public isolated {
        for (uint256 n = 1; n <= 5; n++) send(ALICE, address(coin), abi.encodeCall(Coin.transfer, (BOB, n)));
        look();
        require(coin.balanceOf(BOB) == MUCH + 15 && coin.totalSupply() == 2 * MUCH, "balances");
        try coin.mint(BOB, 1) { revert("anybody makes coins"); } catch {}
    }

    function testCoinsAreKeptForAWeek() public isolated {
        send(ALICE, address(vault), abi.encodeCall(Vault.deposit, (1000)));
        send(BOB, address(coin), abi.encodeCall(Coin.transfer, (address(vault), 500)));
        look();
        require(vault.worth(1000) == 1500, "shared");
        uint256 until = vault.lockedUntil(ALICE);
        at(until - 1);
        send(ALICE, address(vault), abi.encodeCall(Vault.withdraw, (1000)));
        look();
        require(vm.getBlockTimestamp() == until - 1 && vault.sharesOf(ALICE) == 1000, "locked");
        at(until);
        send(ALICE, address(vault), abi.encodeCall(Vault.withdraw, (1000)));
        look();
        require(vault.totalShares() == 0 && coin.balanceOf(ALICE) == MUCH + 500, "withdrawn");
    }

    function testTimeGoesBackWithASnapshot() public isolated {
        uint256 begun = vm.getBlockTimestamp();
        string memory snapshot = string.concat('["', vm.toString(vm.rpc("evm_snapshot", "[]")), '"]');
        vm.rpc("evm_increaseTime", string.concat("[", vm.toString(uint256(70 days)), "]"));
        vm.rpc("evm_mine", "[]");
        look();
        require(vm.getBlockTimestamp() >= begun + 70 days, "later");
        vm.rpc("evm_revert", snapshot);
        look();
        require(vm.getBlockTimestamp() == begun, "earlier");
    }

    function testABidInTheLastSecondMovesTheDeadline() public isolated {
        send(OWNER, address(auction), abi.encodeCall(Auction.begin, (100, 1 days)));
        look();
        (,,,, uint256 deadline,) = auction.lots(0);
        at(deadline - 1);
        send(ALICE, address(auction), abi.encodeCall(Auction.bid, (0, 500)));
        look();
        (, address bidder,,, uint256 later,) = auction.lots(0);
        require(bidder == ALICE && later == deadline - 1 + auction.EXTENSION(), "moved");
        at(later);
        send(BOB, address(auction), abi.encodeCall(Auction.bid, (0, 1000)));
        send(BOB, address(auction), abi.encodeCall(Auction.settle, (0)));
        look();
        require(coin.balanceOf(OWNER) == 500 && coin.balanceOf(BOB) == MUCH, "sold");
    }

    function testWhatWasOutbidIsGivenBack() public isolated {
        send(OWNER, address(auction), abi.encodeCall(Auction.begin, (100, 1 days)));
        send(ALICE, address(auction), abi.encodeCall(Auction.bid, (0, 100)));
        send(BOB, address(auction), abi.encodeCall(Auction.bid, (0, 104)));
        look();
        require(auction.refunds(ALICE) == 0, "too low");
        send(BOB, address(auction), abi.encodeCall(Auction.bid, (0, 105)));
        send(ALICE, address(auction), abi.encodeCall(Auction.refund, ()));
        look();
        require(coin.balanceOf(ALICE) == MUCH && coin.balanceOf(BOB) == MUCH - 105, "refunded");
    }
}
