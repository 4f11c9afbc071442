// SPDX-License-Identifier: CC0-1.0
pragma solidity 0.8.28;

/// An ERC-20 whose owner makes and destroys coins.
contract Coin {
    error NotOwner(address who);
    error TooLittle(address who, uint256 has, uint256 needs);
    error NotAllowed(address spender, uint256 allowed, uint256 needs);

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public constant name = "Market Coin";
    string public constant symbol = "MKT";
    uint8 public constant decimals = 18;
    address public immutable owner = msg.sender;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    function mint(address to, uint256 value) external onlyOwner {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function burn(uint256 value) external {
        take(msg.sender, value);
        totalSupply -= value;
        emit Transfer(msg.sender, address(0), value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < value) revert NotAllowed(msg.sender, allowed, value);
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    function move(address from, address to, uint256 value) private {
        take(from, value);
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function take(address from, uint256 value) private {
        uint256 has = balanceOf[from];
        if (has < value) revert TooLittle(from, has, value);
        balanceOf[from] = has - value;
    }
}
