/** CPU time between two instants, the share of the garbage collector, and memory. */

import { constants, PerformanceObserver } from 'node:perf_hooks';

/** User and system time of this process between `start` and `stop`, with all its threads. */
export class Usage {
  #userUs = 0;
  #systemUs = 0;

  start() {
    const { user, system } = process.cpuUsage();
    this.#userUs -= user;
    this.#systemUs -= system;
  }

  stop() {
    const { user, system } = process.cpuUsage();
    this.#userUs += user;
    this.#systemUs += system;
  }

  get userNs() {
    return Math.max(0, this.#userUs * 1_000);
  }

  get systemNs() {
    return Math.max(0, this.#systemUs * 1_000);
  }
}

/**
 * The pauses of the garbage collector, as Node reports each of them. A pause is counted if it began within timed work,
 * so the collections while a clock stands still are left out.
 */
export class Collector {
  #observer = new PerformanceObserver((list) => this.#take(list.getEntries()));
  #seen = [];

  constructor() {
    this.#observer.observe({ type: 'gc' });
  }

  /** The pauses since the last call, within these spans of milliseconds, which are in their order. */
  within(spans) {
    this.#take(this.#observer.takeRecords());
    const found = { pauses: 0, major: 0, pauseNs: 0, longestNs: 0 };
    let at = 0;
    for (const { began, took, isMajor } of this.#seen) {
      while (at < spans.length && spans[at].ended < began) {
        at += 1;
      }
      if (at < spans.length && spans[at].began <= began) {
        const tookNs = Math.round(took * 1e6);
        found.pauses += 1;
        found.major += isMajor ? 1 : 0;
        found.pauseNs += tookNs;
        found.longestNs = Math.max(found.longestNs, tookNs);
      }
    }
    this.#seen = [];
    return found;
  }

  #take(entries) {
    for (const { startTime, duration, detail } of entries) {
      const isMajor = detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
      this.#seen.push({ began: startTime, took: duration, isMajor });
    }
  }
}

/** Resident memory now. */
export function rssBytes() {
  return process.memoryUsage.rss();
}
