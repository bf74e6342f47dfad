# frozen_string_literal: true

module LarderGuest
  # The course of a phase: operations, and the slowest of them, in bins of equal length from its start. There are at
  # most 32 bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and the
  # length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 bins.
  class Timeline
    BINS = 32
    SHORTEST_NS = 1024

    def initialize
      @bin_ns = SHORTEST_NS
      @ops = Array.new(BINS, 0)
      @max_ns = Array.new(BINS, 0)
    end

    # Adds operations that ended at `at`, counted from the start; the slowest of them took `took`.
    def add(at, took, ops = 1)
      reach(at)
      bin = at / @bin_ns
      @ops[bin] += ops
      @max_ns[bin] = took if took > @max_ns[bin]
    end

    # The end of the bin that is open at this instant.
    def bin_end(at)
      reach(at)
      (at / @bin_ns + 1) * @bin_ns
    end

    # The bins of a phase that lasted `wall_ns`, for its result.
    def over(wall_ns)
      reach(wall_ns)
      bins = wall_ns / @bin_ns + 1
      { bin_ns: @bin_ns, ops: @ops.first(bins), max_ns: @max_ns.first(bins) }
    end

    private

    # Doubles the length of the bins until one of them contains this instant.
    def reach(at)
      while at >= BINS * @bin_ns
        rest = Array.new(BINS / 2, 0)
        @ops = @ops.each_slice(2).map(&:sum) + rest
        @max_ns = @max_ns.each_slice(2).map(&:max) + rest
        @bin_ns *= 2
      end
    end
  end
end
