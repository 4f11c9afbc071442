// The contracts of OpenZeppelin as their users use them, with ethers and viem, on a development network and on anvil:
// `node openzeppelin.mjs URL`.
import { runOnBoth } from './control.mjs';
import { IS_ETHEREUM } from './evm.mjs';
import * as accounts from './openzeppelin/accounts.mjs';
import { ethers } from './openzeppelin/clients.mjs';
import * as collections from './openzeppelin/collections.mjs';
import * as council from './openzeppelin/council.mjs';
import * as proofs from './openzeppelin/proofs.mjs';
import * as proxies from './openzeppelin/proxies.mjs';
import * as token from './openzeppelin/token.mjs';

await runOnBoth(import.meta.url, [
  ...token.steps,
  ...token.errors,
  ...council.steps,
  ...proxies.steps,
  ...collections.steps,
  // Set-code transactions are Ethereum's.
  ...(IS_ETHEREUM ? accounts.steps : []),
  ...proofs.steps,
]);
ethers.destroy();
