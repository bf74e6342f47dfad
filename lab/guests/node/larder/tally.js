/** Counts, latencies and time line of one operation, made from the loop's notes. */

import { DAMAGED, ERROR, FILLED, MISS, OTHER_KEY, PLANNED, RIGHT, STALE, TRUNCATED, UNFILLED } from './block.js';
import { Timeline } from './timeline.js';

/** The ways in which a value is wrong, as results name them. */
const WRONG = new Map([
  [DAMAGED, 'damaged'],
  [TRUNCATED, 'truncated'],
  [STALE, 'stale'],
  [OTHER_KEY, 'other_key'],
]);
/** The result has at most this many bytes of a wrong value. */
const TOLD_BYTES = 65_536;

export class Tally {
  #isRead;
  #ops = 0;
  #outcomes = new Array(PLANNED + 1).fill(0);
  #bytes = 0;
  #busyNs = 0;
  #latencies = new Map();
  #kinds = {};
  #examples = {};
  #timeline = new Timeline();

  constructor(isRead) {
    this.#isRead = isRead;
  }

  /** Adds the operations from `first` to `last` of a block, all of this kind; the first began at `then`. */
  addRun(block, first, last, then) {
    const { end, outcome, want, bytesOf } = block;
    const outcomes = this.#outcomes;
    const timeline = this.#timeline;
    const began = then;
    let [binOps, slowest, bytes] = [0, 0, 0];
    let binEnd = timeline.binEnd(end[first]);
    for (let n = first; n <= last; n += 1) {
      const at = end[n];
      const took = at - then;
      then = at;
      if (at >= binEnd) {
        timeline.add(binEnd - 1, slowest, binOps);
        binOps = slowest = 0;
        binEnd = timeline.binEnd(at);
      }
      binOps += 1;
      slowest = Math.max(slowest, took);
      const is = outcome[n];
      outcomes[is] += 1;
      if (is === RIGHT || is === FILLED) {
        bytes += want[n].length;
        this.#addLatency(took);
      } else if (is === PLANNED) {
        this.#addLatency(took);
      }
      if (bytesOf.size > 0) {
        bytes += extraBytes(block, n);
      }
    }
    timeline.add(binEnd - 1, slowest, binOps);
    this.#ops += last - first + 1;
    this.#busyNs += then - began;
    this.#bytes += bytes;
  }

  /** Adds a request of many keys. */
  addRequest(block, first, last, then) {
    const at = block.end[last];
    let isRight = false;
    for (let n = first; n <= last; n += 1) {
      const outcome = block.outcome[n];
      this.#outcomes[outcome] += 1;
      isRight ||= outcome === RIGHT || outcome === PLANNED;
      this.#bytes += (outcome === RIGHT ? block.want[n].length : 0) + extraBytes(block, n);
    }
    this.#ops += last - first + 1;
    this.#busyNs += at - then;
    this.#timeline.add(at, at - then, last - first + 1);
    if (isRight) {
      this.#addLatency(at - then);
    }
  }

  /** Keeps the first value that is wrong in this way, with the key and the value asked for. */
  addWrong(block, n, outcome, got) {
    const isOwn = block.underIndex[n] === block.keyIndex[n];
    this.#examples[WRONG.get(outcome)] ??= {
      key: block.keyIndex[n],
      value: isOwn ? block.value[n] : 0,
      length: got.length,
      begins: got.subarray(0, TOLD_BYTES).toString('hex'),
    };
  }

  /** Adds an error, or a failed fill, of this kind. */
  error(kind) {
    this.#kinds[kind] = (this.#kinds[kind] ?? 0) + 1;
  }

  /** The counts for the result of a phase that lasted `wallNs`. */
  over(wallNs) {
    const of = this.#outcomes;
    const wrong = [...WRONG].map(([outcome, name]) => [name, of[outcome]]);
    return {
      ops: this.#ops,
      hits: this.#isRead ? of[RIGHT] : 0,
      misses: of[MISS] + of[FILLED] + of[UNFILLED] + of[PLANNED],
      planned_misses: of[PLANNED],
      wrong: wrong.reduce((sum, [, count]) => sum + count, 0),
      ...Object.fromEntries(wrong),
      wrong_examples: this.#examples,
      errors: of[ERROR],
      failed_fills: of[UNFILLED],
      succeeded: of[RIGHT] + of[FILLED] + of[PLANNED],
      bytes: this.#bytes,
      busy_ns: this.#busyNs,
      latencies: [...this.#latencies].sort(([one], [other]) => one - other),
      errors_by_kind: this.#kinds,
      timeline: this.#timeline.over(wallNs),
    };
  }

  #addLatency(took) {
    const latency = rounded(took);
    this.#latencies.set(latency, (this.#latencies.get(latency) ?? 0) + 1);
  }
}

/** Rounds to three digits: more digits tell nothing, and few different latencies remain. */
function rounded(took) {
  let unit = 1;
  while (took >= 1_000 * unit) {
    unit *= 10;
  }
  return Math.floor((took + (unit >> 1)) / unit) * unit;
}

/** The bytes of an operation's value, right or wrong, beyond the expected length of a right value. */
function extraBytes(block, n) {
  const length = block.bytesOf.get(n);
  if (length === undefined) {
    return 0;
  }
  return length - (block.outcome[n] === RIGHT ? block.want[n].length : 0);
}
