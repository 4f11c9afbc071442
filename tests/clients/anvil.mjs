// The pinned anvil, and a port for it.
import { createServer } from 'node:net';

/** The program, which is one of Linux on x86-64. */
export const ANVIL = new URL('node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', import.meta.url).pathname;

/** A port that was free just now. */
export async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}
