package larder;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * The course of a phase: operations, and the slowest of them, in bins of equal length from its start. There are at
 * most 32 bins, whose length is a power of two of nanoseconds. After the last bin, neighbours are merged and the
 * length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 bins.
 */
final class Timeline {
    private static final int BINS = 32;
    private static final int SHORTEST = 10;

    private int shift = SHORTEST;
    private final long[] operations = new long[BINS];
    private final long[] slowest = new long[BINS];

    /** Adds operations that ended at this time, in nanoseconds from the start, and that took {@code took}. */
    void add(long at, long took, int count) {
        while (at >>> shift >= BINS) {
            merge();
        }
        int bin = (int) (at >>> shift);
        operations[bin] += count;
        if (took > slowest[bin]) {
            slowest[bin] = took;
        }
    }

    /** The bins of a phase that lasted {@code wall}, for its result. */
    Map<String, Object> over(long wall) {
        while (wall >>> shift >= BINS) {
            merge();
        }
        int count = (int) (wall >>> shift) + 1;
        return Map.of(
                "bin_ns", 1L << shift, "ops", first(operations, count), "max_ns", first(slowest, count));
    }

    private void merge() {
        for (int bin = 0; bin < BINS / 2; bin++) {
            operations[bin] = operations[2 * bin] + operations[2 * bin + 1];
            slowest[bin] = Math.max(slowest[2 * bin], slowest[2 * bin + 1]);
        }
        Arrays.fill(operations, BINS / 2, BINS, 0);
        Arrays.fill(slowest, BINS / 2, BINS, 0);
        shift++;
    }

    private static List<Long> first(long[] numbers, int count) {
        return LongStream.of(numbers).limit(count).boxed().toList();
    }
}
