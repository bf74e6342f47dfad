/** CPU time between two instants, the share of the garbage collector, and memory. */

import { constants, PerformanceObserver } from 'node:perf_hooks';

/** User and system time of this process, with all its threads. */
export class Usage {
  userNs = 0;
  systemNs = 0;
  #last;

  start() {
    this.#last = process.cpuUsage();
  }

  /** Adds the time since the last call of `start` or of this method. */
  stop() {
    const now = process.cpuUsage();
    this.userNs += (now.user - this.#last.user) * 1e3;
    this.systemNs += (now.system - this.#last.system) * 1e3;
    this.#last = now;
  }
}

/** The parts of collections that Node reports beside whole ones. */
const PARTS = [constants.NODE_PERFORMANCE_GC_INCREMENTAL, constants.NODE_PERFORMANCE_GC_WEAKCB];

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
    let [cycles, pauseNs, longestNs, at] = [0, 0, 0, 0];
    for (const { began, tookNs, isWhole } of this.#seen) {
      while (at < spans.length && spans[at].ended < began) {
        at += 1;
      }
      if (at < spans.length && spans[at].began <= began) {
        cycles += isWhole ? 1 : 0;
        pauseNs += tookNs;
        longestNs = Math.max(longestNs, tookNs);
      }
    }
    this.#seen = [];
    // V8 does not tell the CPU time of its helpers, so that of the pauses is the least that the collector took.
    return { cycles, pause_ns: pauseNs, longest_pause_ns: longestNs, cpu_ns: pauseNs };
  }

  #take(entries) {
    for (const { startTime, duration, detail } of entries) {
      this.#seen.push({
        began: startTime,
        tookNs: Math.round(duration * 1e6),
        isWhole: !PARTS.includes(detail.kind),
      });
    }
  }
}

/** Resident memory now. */
export function rssBytes() {
  return process.memoryUsage.rss();
}
