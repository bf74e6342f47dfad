/**
 * A guest of Larder: opens one of the caches of Node.js, runs a plan on it, times itself.
 *
 * docs/guests.md describes the commands and answers.
 */

import { Guest } from './larder/guest.js';
import { leaveOutput, Protocol } from './larder/protocol.js';

if (process.argv.length !== 3) {
  process.stderr.write('usage: node guest.js FOLDER, with commands on standard input\n');
  process.exit(2);
}
leaveOutput();
const guest = await Guest.openCache(new Protocol(process.stdin, 1), process.argv[2]);
if (guest !== null) {
  await guest.serve();
}
// Open connections and timers would keep this process alive.
process.exit(0);
