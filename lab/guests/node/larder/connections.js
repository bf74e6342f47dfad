/** Counts the connections of this process. Node tells of each new socket of a client, whichever package makes it. */

import { subscribe } from 'node:diagnostics_channel';

let opened = 0;
subscribe('net.client.socket', () => {
  opened += 1;
});

/** The connections opened since the last call. */
export function newConnections() {
  const since = opened;
  opened = 0;
  return since;
}
