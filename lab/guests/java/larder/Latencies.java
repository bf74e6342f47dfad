package larder;

import java.util.ArrayList;
import java.util.List;

/** The count of each latency, rounded to three digits: more digits tell nothing, and few different latencies remain. */
final class Latencies {
    /** Below this limit each number of nanoseconds has a place of its own; above it, each number of three digits. */
    private static final int EXACT = 1_000;

    private static final int IN_A_DECADE = 900;
    /** A {@code long} has this many digits beyond three. */
    private static final int DECADES = 16;

    private final long[] times = new long[EXACT + DECADES * IN_A_DECADE];

    void add(long nanos) {
        times[placeOf(nanos)]++;
    }

    /** Pairs of nanoseconds and count, from the shortest latency on. */
    List<List<Long>> over() {
        List<List<Long>> pairs = new ArrayList<>();
        for (int place = 0; place < times.length; place++) {
            if (times[place] > 0) {
                pairs.add(List.of(nanosOf(place), times[place]));
            }
        }
        return pairs;
    }

    private static int placeOf(long nanos) {
        if (nanos < EXACT) {
            return (int) nanos;
        }
        // The usual latencies are divided by a constant, which needs no division by the processor.
        if (nanos < 10 * EXACT) {
            return EXACT + (int) ((nanos + 5) / 10) - 100;
        }
        if (nanos < 100 * EXACT) {
            return EXACT + IN_A_DECADE + (int) ((nanos + 50) / 100) - 100;
        }
        long unit = 1_000;
        int decade = 2;
        while (nanos / unit >= EXACT) {
            unit *= 10;
            decade++;
        }
        return EXACT + decade * IN_A_DECADE + (int) ((nanos + unit / 2) / unit) - 100;
    }

    private static long nanosOf(int place) {
        if (place < EXACT) {
            return place;
        }
        long nanos = 100 + (place - EXACT) % IN_A_DECADE;
        for (int decade = (place - EXACT) / IN_A_DECADE; decade >= 0; decade--) {
            nanos *= 10;
        }
        return nanos;
    }
}
