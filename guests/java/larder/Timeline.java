package larder;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * The course of a phase: operations, and the slowest of them, in slots of equal length from its start. There are at
 * most 32 slots, whose length is a power of two of nanoseconds. After the last slot, neighbours are merged and the
 * length doubles. So sums and maxima stay exact, and a phase ends with 17 to 32 slots.
 */
final class Timeline {
    private static final int SLOTS = 32;
    private static final int SHORTEST = 10;

    private int shift = SHORTEST;
    private final long[] operations = new long[SLOTS];
    private final long[] slowest = new long[SLOTS];

    /** Adds operations that ended at this time, in nanoseconds from the start, and that took {@code took}. */
    void add(long at, long took, int count) {
        while (at >>> shift >= SLOTS) {
            merge();
        }
        int slot = (int) (at >>> shift);
        operations[slot] += count;
        if (took > slowest[slot]) {
            slowest[slot] = took;
        }
    }

    /** The slots of a phase that lasted {@code wall}, for its result. */
    Map<String, Object> over(long wall) {
        while (wall >>> shift >= SLOTS) {
            merge();
        }
        int count = (int) (wall >>> shift) + 1;
        return Map.of(
                "slot_ns", 1L << shift, "ops", first(operations, count), "max_ns", first(slowest, count));
    }

    private void merge() {
        for (int slot = 0; slot < SLOTS / 2; slot++) {
            operations[slot] = operations[2 * slot] + operations[2 * slot + 1];
            slowest[slot] = Math.max(slowest[2 * slot], slowest[2 * slot + 1]);
        }
        Arrays.fill(operations, SLOTS / 2, SLOTS, 0);
        Arrays.fill(slowest, SLOTS / 2, SLOTS, 0);
        shift++;
    }

    private static List<Long> first(long[] numbers, int count) {
        return LongStream.of(numbers).limit(count).boxed().toList();
    }
}
