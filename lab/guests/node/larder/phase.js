/**
 * One process's share of a phase: blocks are made ready, worked through, counted.
 *
 * A process alone stops its clock while it prepares and counts. Each of several processes keeps its clock running, because
 * the other processes have the cache to themselves meanwhile. So each of them prepares and counts as much at once as
 * memory allows, mostly everything.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Block } from './block.js';
import { once } from './cache.js';
import { nanoseconds, now, ORIGIN_NS } from './clock.js';
import { newConnections } from './connections.js';
import { Count } from './count.js';
import { Failures } from './failures.js';
import { loopFor, timed } from './loop.js';
import { Collector, rssBytes, Usage } from './usage.js';

/** The limits of a block. For a process alone: as much as stays in a processor's cache. */
const ALONE = { operations: 4_096, valueBytes: 4 << 20 };
const SEVERAL = { operations: 262_144, valueBytes: 64 << 20 };
/** The longest segment of the loop; between segments the guest reports its progress, and the loop of events turns. */
const SEGMENT_MS = 250;

const COLLECTOR = new Collector();

export class Phase {
  #plan;
  #cache;
  #name;
  #alone;
  #again;
  #limitMs;
  #first;
  #operations;
  #block;
  #loop;
  #failures;
  #count;
  #usage = new Usage();
  /** Timed spans, in milliseconds. */
  #spans = [];
  #filled;
  #startNs = null;
  #timedNs = 0;
  #done = 0;

  constructor(plan, cache, judge, asked, { name, process, held }) {
    this.#plan = plan;
    this.#cache = cache;
    this.#name = `ran-${name}-${process}.json`;
    this.#alone = plan.processes === 1;
    this.#again = asked.again;
    this.#limitMs = asked.limitMs;
    [this.#first, this.#operations] = asked.shares[process];
    const { multiget } = asked;
    this.#block = new Block(plan, this.#alone ? ALONE : SEVERAL, {
      multiget,
      meetsNewer: !this.#alone || asked.again,
      held,
    });
    this.#loop = loopFor(cache, this.#block, judge, cache.ttl(plan.ttlS));
    this.#failures = new Failures(cache, judge, this.#block);
    this.#count = new Count(asked.operations, multiget);
    this.#filled = this.#block.fill(this.#first, this.#operations);
  }

  /** The share of process `process` of phase `number`, both counted from 0. */
  static async of(plan, cache, judge, number, process = 0) {
    const held = plan.replays ? plan.heldBefore(number, process) : 0;
    if (held !== 0) {
      await once(cache, 'set', 'held', plan.value(held), null);
    }
    return new Phase(plan, cache, judge, plan.phases[number], { name: number, process, held });
  }

  /** The operations done so far. */
  get done() {
    return this.#done;
  }

  /** Does the share, and calls `tell` with the number of operations done so far several times a second. */
  async run(tell = () => {}) {
    newConnections();
    COLLECTOR.within([]);
    const began = now();
    if (!this.#alone) {
      this.#usage.start();
    }
    let position = 0;
    while (this.#filled > 0) {
      await this.#workThroughBlock(tell);
      this.#count.add(this.#block);
      this.#failures.nextBlock();
      if (this.#isOver()) {
        break;
      }
      position += this.#filled;
      if (this.#again && position === this.#operations) {
        position = 0;
      }
      this.#filled = this.#block.fill(this.#first + position, this.#operations - position);
    }
    if (!this.#alone) {
      this.#usage.stop();
      this.#spans = [{ began, ended: now() }];
    }
  }

  /** The result, as docs/guests.md describes it. */
  result() {
    return {
      start_ns: this.#startNs === null ? 0 : ORIGIN_NS + this.#startNs,
      wall_ns: this.#timedNs,
      cpu_user_ns: this.#usage.userNs,
      cpu_system_ns: this.#usage.systemNs,
      rss_bytes: rssBytes(),
      connections: newConnections(),
      collector: COLLECTOR.within(this.#spans),
      failed: this.#failures.notStored,
      first_error: this.#count.firstError,
      tiers: [],
      operations: this.#count.over(this.#timedNs),
    };
  }

  /** Writes the result to a file, which gets its name when it is complete. */
  writeResult() {
    const path = join(this.#plan.folder, this.#name);
    writeFileSync(`${path}.part`, JSON.stringify(this.result()));
    renameSync(`${path}.part`, path);
  }

  #isOver() {
    return this.#limitMs !== null && this.#timedNs >= nanoseconds(this.#limitMs);
  }

  async #workThroughBlock(tell) {
    const block = this.#block;
    for (let at = 0; at < block.count && !this.#isOver(); ) {
      const left = this.#limitMs === null ? SEGMENT_MS : Math.min(SEGMENT_MS, this.#limitMs - this.#timedNs / 1e6);
      if (this.#alone) {
        this.#usage.start();
      }
      const { began, done } = await timed(this.#loop, block, at, left);
      if (this.#alone) {
        this.#usage.stop();
        this.#spans.push({ began, ended: block.end[done - 1] / 1e6 });
      }
      const beganNs = nanoseconds(began);
      this.#startNs ??= beganNs;
      const elapsed = this.#alone ? this.#timedNs : beganNs - this.#startNs;
      block.segments.push({ first: at, last: done - 1, began: beganNs, elapsed });
      this.#timedNs = elapsed + block.end[done - 1] - beganNs;
      this.#done += done - at;
      this.#failures.settle();
      at = done;
      tell(this.#done);
      // Timers and the end of the input are noticed between segments.
      await new Promise(setImmediate);
    }
  }
}
