/**
 * One of several processes that share the phases of a plan. `larder/processes.js` starts it and speaks to it.
 */

import { Child } from './larder/child.js';
import { leaveOutput } from './larder/protocol.js';

leaveOutput();
// The channel closes with the parent, and no child outlives its parent.
process.on('disconnect', () => process.exit(1));
const child = new Child((message) => process.send(message));
process.on('message', (message) => child.obey(message));
