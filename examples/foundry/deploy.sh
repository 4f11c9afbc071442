#!/bin/sh
# Deploys and calls a contract with forge and cast: `./deploy.sh [URL]`, with `esker dev` running.
set -eu
cd "$(dirname "$0")"

# The tools read these; the key is that of the first account of `esker dev`, and public.
ETH_RPC_URL="${1:-http://127.0.0.1:9650}/ext/bc/C/rpc"
export ETH_RPC_URL
KEY=0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80

created=$(forge create src/Counter.sol:Counter --private-key "$KEY" --broadcast --constructor-args 5)
address=$(printf '%s\n' "$created" | sed -n 's/^Deployed to: //p')
echo "deployed at $address"

cast send --private-key "$KEY" "$address" 'add(uint256)' 3 >/dev/null
echo "count is $(cast call "$address" 'count()(uint256)')"

if refusal=$(cast call "$address" 'add(uint256)' 0 2>&1); then
    echo "add(0) went through" >&2
    exit 1
fi
echo "refused: $refusal"
