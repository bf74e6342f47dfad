/** The outcomes that a loop notes in its block. Failures are explained once a segment is over. */

import { ERROR, MISS, UNFILLED } from './block.js';
import { now } from './clock.js';

export class Notes {
  #block;

  constructor(block) {
    this.#block = block;
  }

  /** Notes a get that did not return the expected value. */
  differs(n, got) {
    if (got == null) {
      this.#block.outcome[n] = MISS;
    } else {
      this.#block.noteOther(n, got);
    }
  }

  missed(n) {
    this.#block.outcome[n] = MISS;
  }

  /** Notes the values of a request of many keys, which ended at `at`. */
  found(first, last, values, at) {
    const { end, want } = this.#block;
    for (let n = first; n <= last; n += 1) {
      end[n] = at;
      const got = values[n - first];
      if (got == null || !got.equals(want[n])) {
        this.differs(n, got);
      }
    }
  }

  /** Notes a value that the cache did not take, by a set or by the fill of a miss. */
  refused(n, outcome = ERROR) {
    this.#block.outcome[n] = outcome;
    this.#block.unexplained.push({ first: n, last: n, isRefusal: true });
  }

  /** Notes an error; returns its time. Where a fill failed, the miss before it stands. */
  failed(first, last, error, isFill = false) {
    const at = now();
    this.#block.end.fill(at, first, last + 1);
    this.#block.outcome.fill(isFill ? UNFILLED : ERROR, first, last + 1);
    this.#block.unexplained.push({ first, last, isRefusal: false, error });
    return at;
  }
}
