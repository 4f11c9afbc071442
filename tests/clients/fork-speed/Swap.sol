// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A token with allowances.
contract Token {
    string public name;
    uint8 public decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory given) {
        name = given;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        return move(from, to, value);
    }

    function move(address from, address to, uint256 value) private returns (bool) {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}

/// A pool of two tokens, as Uniswap V2 has them: a constant product and a fee of 0.3 percent.
contract Pair {
    address public token0;
    address public token1;
    address public factory;
    uint112 private reserve0;
    uint112 private reserve1;
    uint32 private lastTime;
    uint256 public price0Cumulative;
    uint256 public price1Cumulative;
    uint256 private unlocked = 1;

    constructor(address first, address second) {
        (token0, token1, factory) = (first, second, msg.sender);
    }

    function getReserves() public view returns (uint112, uint112) {
        return (reserve0, reserve1);
    }

    function sync() public {
        uint256 balance0 = Token(token0).balanceOf(address(this));
        uint256 balance1 = Token(token1).balanceOf(address(this));
        if (reserve0 != 0) {
            uint256 elapsed = block.timestamp - lastTime;
            price0Cumulative += uint256(reserve1) * 1e18 / reserve0 * elapsed;
            price1Cumulative += uint256(reserve0) * 1e18 / reserve1 * elapsed;
        }
        (reserve0, reserve1, lastTime) = (uint112(balance0), uint112(balance1), uint32(block.timestamp));
    }

    function swap(uint256 out0, uint256 out1, address to) external {
        require(unlocked == 1, "locked");
        unlocked = 0;
        (uint256 before0, uint256 before1) = (reserve0, reserve1);
        if (out0 > 0) Token(token0).transfer(to, out0);
        if (out1 > 0) Token(token1).transfer(to, out1);
        uint256 now0 = Token(token0).balanceOf(address(this));
        uint256 now1 = Token(token1).balanceOf(address(this));
        uint256 in0 = now0 > before0 - out0 ? now0 - (before0 - out0) : 0;
        uint256 in1 = now1 > before1 - out1 ? now1 - (before1 - out1) : 0;
        require((now0 * 1000 - in0 * 3) * (now1 * 1000 - in1 * 3) >= before0 * before1 * 1e6, "K");
        sync();
        unlocked = 1;
    }
}

contract Factory {
    mapping(address => mapping(address => address)) public getPair;

    function create(address a, address b) external {
        address pair = address(new Pair(a, b));
        getPair[a][b] = pair;
        getPair[b][a] = pair;
    }
}

/// Swaps along a path of tokens.
contract Router {
    Factory public factory;

    constructor(Factory given) {
        factory = given;
    }

    function swap(uint256 amount, uint256 least, address[] calldata path, address to) external returns (uint256) {
        Token(path[0]).transferFrom(msg.sender, factory.getPair(path[0], path[1]), amount);
        for (uint256 at = 0; at + 1 < path.length; at++) {
            Pair pair = Pair(factory.getPair(path[at], path[at + 1]));
            address next = at + 2 < path.length ? factory.getPair(path[at + 1], path[at + 2]) : to;
            amount = hop(pair, path[at], amount, next);
        }
        require(amount >= least, "too little");
        return amount;
    }

    function hop(Pair pair, address from, uint256 amount, address to) private returns (uint256 out) {
        (uint256 reserve0, uint256 reserve1) = pair.getReserves();
        bool isFirst = pair.token0() == from;
        (uint256 reserveIn, uint256 reserveOut) = isFirst ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 withFee = amount * 997;
        out = withFee * reserveOut / (reserveIn * 1000 + withFee);
        pair.swap(isFirst ? 0 : out, isFirst ? out : 0, to);
    }
}
