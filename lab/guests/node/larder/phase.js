/**
 * One process's share of a phase: blocks are made ready, worked through, sent to Larder.
 *
 * A process alone stops its clock while it prepares and sends. Each of several processes keeps its clock running, because
 * the other processes have the cache to themselves meanwhile. So each of them prepares and sends as much at once as memory
 * allows, mostly everything.
 */

import { Block } from './block.js';
import { once } from './cache.js';
import { now } from './clock.js';
import { newConnections } from './connections.js';
import { Failures } from './failures.js';
import { loopFor } from './loop.js';
import { Records } from './records.js';
import { Collector, rssBytes, Usage } from './usage.js';

/** The limits of a block. For a process alone: as much as stays in a processor's cache. */
const ALONE = { operations: 4_096, valueBytes: 4 << 20 };
const SEVERAL = { operations: 262_144, valueBytes: 64 << 20 };
/** The longest segment of the loop; between segments the guest reports its progress, and the loop of events turns. */
const SEGMENT_MS = 250;

const COLLECTOR = new Collector();

export class Phase {
  #alone;
  #again;
  #limitMs;
  #first;
  #operations;
  #block;
  #loop;
  #failures;
  #records;
  #usage = new Usage();
  /** The spans in which the clock ran, in milliseconds. */
  #spans = [];
  #filled;
  #timedMs = 0;
  #done = 0;

  constructor(plan, cache, { again, limitMs, shares, multiget }, process, held) {
    this.#alone = plan.processes === 1;
    this.#again = again;
    this.#limitMs = limitMs;
    [this.#first, this.#operations] = shares[process];
    const meetsNewer = !this.#alone || again;
    this.#block = new Block(plan, this.#alone ? ALONE : SEVERAL, { multiget, meetsNewer, held });
    this.#loop = loopFor(cache, this.#block, cache.ttl(plan.ttlS));
    this.#failures = new Failures(cache, this.#block);
    this.#filled = this.#block.fill(this.#first, this.#operations);
    this.#records = new Records(plan.folder, process);
  }

  /** The share of process `process` of phase `number`, both counted from 0. */
  static async of(plan, cache, number, process = 0) {
    const held = plan.replays ? plan.heldBefore(number, process) : 0;
    if (held !== 0) {
      await once(cache, 'set', 'held', plan.value(held), null);
    }
    return new Phase(plan, cache, plan.phases[number], process, held);
  }

  /** The operations done so far. */
  get done() {
    return this.#done;
  }

  /**
   * Does the share, sends its records, and calls `tell` with the number of operations done so far several times a second.
   */
  async run(tell = () => {}) {
    newConnections();
    COLLECTOR.within([]);
    try {
      await this.#workThroughShare(tell);
      this.#records.sendEnd({
        cpu_user_ns: this.#usage.userNs,
        cpu_system_ns: this.#usage.systemNs,
        rss_bytes: rssBytes(),
        connections: newConnections(),
        collector: COLLECTOR.within(this.#spans),
        tiers: [],
      });
    } finally {
      this.#records.close();
    }
  }

  async #workThroughShare(tell) {
    let position = 0;
    while (this.#filled > 0) {
      this.#records.awaitCount();
      const done = await this.#workThroughBlock(tell);
      this.#records.sendBlock(this.#block, done);
      this.#failures.nextBlock();
      if (this.#timedMs >= this.#limitMs) {
        break;
      }
      position += this.#filled;
      if (this.#again && position === this.#operations) {
        position = 0;
      }
      this.#filled = this.#block.fill(this.#first + position, this.#operations - position);
    }
  }

  /** Returns the number of operations of the block that are done. */
  async #workThroughBlock(tell) {
    const block = this.#block;
    let at = 0;
    while (at < block.count && this.#timedMs < this.#limitMs) {
      const left = Math.min(SEGMENT_MS, this.#limitMs - this.#timedMs);
      const isStart = this.#alone || this.#spans.length === 0;
      if (isStart) {
        this.#usage.start();
      }
      const began = now();
      const done = await this.#loop.run(at, began + left);
      this.#usage.stop();
      const ended = block.end[done - 1];
      block.segments.push({ first: at, began });
      if (isStart) {
        this.#spans.push({ began, ended });
      } else {
        this.#spans[0].ended = ended;
      }
      this.#timedMs = this.#alone ? this.#timedMs + ended - began : ended - this.#spans[0].began;
      this.#done += done - at;
      this.#failures.settle();
      at = done;
      tell(this.#done);
      // Timers and the end of the input are noticed between segments.
      await new Promise(setImmediate);
    }
    return at;
  }
}
