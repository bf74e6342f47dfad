/** Adds the loop's notes on a finished block to the tally of each operation. */

import { DELETE, GET, GET_OR_SET, SET, TOUCH } from './plan.js';
import { Tally } from './tally.js';

/** The tallies of a phase. */
export class Count {
  firstError = null;
  #tallies;
  #tallyOf;

  constructor(operations, multiget) {
    const get = multiget > 1 ? 'get_many' : 'get';
    this.#tallies = new Map(operations.map((name) => [name, new Tally(name.startsWith('get'))]));
    const names = { [GET]: get, [SET]: 'set', [GET_OR_SET]: 'get_or_set', [DELETE]: 'delete', [TOUCH]: 'touch' };
    this.#tallyOf = (kind) => this.#tallies.get(names[kind]);
  }

  /** Adds the loop's notes on a block. */
  add(block) {
    for (const [n, failure] of [...block.errors].sort(([one], [other]) => one - other)) {
      this.firstError ??= failure.message;
      this.#tallyOf(block.kind[n]).error(failure.kind);
    }
    block.settleMisses();
    for (const [kind, outcomes] of Object.entries(block.wrong)) {
      for (const [outcome, { n, got }] of Object.entries(outcomes)) {
        this.#tallyOf(kind).addWrong(block, n, Number(outcome), got);
      }
    }
    for (const segment of block.segments) {
      this.#addSegment(block, segment);
    }
  }

  /** The counts of each operation, for the result of the phase. */
  over(wallNs) {
    return Object.fromEntries([...this.#tallies].map(([name, tally]) => [name, tally.over(wallNs)]));
  }

  #addSegment(block, { first, last, began, elapsed }) {
    // On the time axis of the phase, the durations of all operations add up to the duration of the phase.
    const origin = began - elapsed;
    for (let n = first; n <= last; n += 1) {
      block.end[n] -= origin;
    }
    let then = elapsed;
    for (let to; first <= last; first = to + 1) {
      const kind = block.kind[first];
      const tally = this.#tallyOf(kind);
      if (kind === GET && block.multiget > 1) {
        to = block.requestTo[first];
        tally.addRequest(block, first, to, then);
      } else {
        to = lastOfKind(block, first, last);
        tally.addRun(block, first, to, then);
      }
      then = block.end[to];
    }
  }
}

/** The last of the operations from `first` on that are of its kind. */
function lastOfKind(block, first, last) {
  const kind = block.kind[first];
  while (first < last && block.kind[first + 1] === kind) {
    first += 1;
  }
  return first;
}
