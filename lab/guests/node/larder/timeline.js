/**
 * The course of a phase: operations, and the slowest of them, in bins of equal length from its start.
 *
 * There are at most 32 bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and
 * the length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 bins.
 */

const BINS = 32;
const SHORTEST_NS = 1_024;

export class Timeline {
  #binNs = SHORTEST_NS;
  #ops = new Array(BINS).fill(0);
  #maxNs = new Array(BINS).fill(0);

  /** Adds operations that ended at `at`, counted from the start; the slowest of them took `took`. */
  add(at, took, ops = 1) {
    this.#reach(at);
    const bin = Math.floor(at / this.#binNs);
    this.#ops[bin] += ops;
    this.#maxNs[bin] = Math.max(this.#maxNs[bin], took);
  }

  /** The end of the bin that is open at this instant. */
  binEnd(at) {
    this.#reach(at);
    return (Math.floor(at / this.#binNs) + 1) * this.#binNs;
  }

  /** The bins of a phase that lasted `wallNs`, for its result. */
  over(wallNs) {
    this.#reach(wallNs);
    const bins = Math.floor(wallNs / this.#binNs) + 1;
    return { bin_ns: this.#binNs, ops: this.#ops.slice(0, bins), max_ns: this.#maxNs.slice(0, bins) };
  }

  /** Doubles the length of the bins until one of them contains this instant. */
  #reach(at) {
    while (at >= BINS * this.#binNs) {
      const ops = new Array(BINS).fill(0);
      const maxNs = new Array(BINS).fill(0);
      for (let bin = 0; bin < BINS; bin += 1) {
        ops[bin >> 1] += this.#ops[bin];
        maxNs[bin >> 1] = Math.max(maxNs[bin >> 1], this.#maxNs[bin]);
      }
      this.#ops = ops;
      this.#maxNs = maxNs;
      this.#binNs *= 2;
    }
  }
}
