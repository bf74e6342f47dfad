package larder;

import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** Counts, latencies and time line of one operation, made from the loop's notes. */
final class Tally {
    /** The ways in which a value is wrong, as results name them. */
    private static final Map<String, Byte> WRONG = new TreeMap<>(Map.of(
            "damaged", Block.DAMAGED,
            "truncated", Block.TRUNCATED,
            "stale", Block.STALE,
            "other_key", Block.OTHER_KEY));
    /** The result has at most this many bytes of a wrong value. */
    private static final int TOLD_BYTES = 65_536;

    private final boolean isRead;
    private final long[] outcomes = new long[Block.OUTCOMES];
    private final Latencies latencies = new Latencies();
    private final Timeline timeline = new Timeline();
    private final Map<String, Long> kinds = new TreeMap<>();
    private final Map<String, Object> examples = new TreeMap<>();
    private long operations;
    private long bytes;
    private long busy;

    Tally(boolean isRead) {
        this.isRead = isRead;
    }

    /** Adds an operation that ended at this time of the phase and lasted {@code took}. */
    void add(Block block, int n, long at, long took) {
        byte outcome = block.outcome[n];
        operations++;
        outcomes[outcome]++;
        busy += took;
        timeline.add(at, took, 1);
        if (outcome == Block.RIGHT || outcome == Block.FILLED || outcome == Block.PLANNED) {
            latencies.add(took);
        }
        bytes += bytesOf(block, n);
    }

    /** Adds a request of many keys. */
    void addRequest(Block block, int from, int to, long at, long took) {
        boolean isAnyRight = false;
        for (int n = from; n <= to; n++) {
            outcomes[block.outcome[n]]++;
            isAnyRight |= block.outcome[n] == Block.RIGHT || block.outcome[n] == Block.PLANNED;
            bytes += bytesOf(block, n);
        }
        operations += to - from + 1;
        busy += took;
        timeline.add(at, took, to - from + 1);
        if (isAnyRight) {
            latencies.add(took);
        }
    }

    /** Keeps the first value that is wrong in each way, with the key and the value asked for. */
    void addWrong(Block block, Map<Byte, Block.Wrong> found) {
        WRONG.forEach((name, outcome) -> {
            Block.Wrong wrong = found.get(outcome);
            if (wrong == null || examples.containsKey(name)) {
                return;
            }
            int n = wrong.operation();
            byte[] got = wrong.got();
            Map<String, Object> example = new LinkedHashMap<>();
            example.put("key", block.keyIndex[n]);
            example.put("value", block.underIndex[n] == block.keyIndex[n] ? Integer.toUnsignedLong(block.value[n]) : 0);
            example.put("length", got.length);
            example.put("begins", HexFormat.of().formatHex(got, 0, Math.min(got.length, TOLD_BYTES)));
            examples.put(name, example);
        });
    }

    void addError(Failure failure) {
        kinds.merge(failure.kind(), 1L, Long::sum);
    }

    /** The counts for the result of a phase that lasted {@code wall}. */
    Map<String, Object> over(long wall) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("ops", operations);
        found.put("hits", isRead ? outcomes[Block.RIGHT] : 0);
        found.put(
                "misses",
                outcomes[Block.MISS] + outcomes[Block.FILLED] + outcomes[Block.UNFILLED] + outcomes[Block.PLANNED]);
        found.put("planned_misses", outcomes[Block.PLANNED]);
        found.put("wrong", WRONG.values().stream().mapToLong(outcome -> outcomes[outcome]).sum());
        WRONG.forEach((name, outcome) -> found.put(name, outcomes[outcome]));
        found.put("wrong_examples", examples);
        found.put("errors", outcomes[Block.ERROR]);
        found.put("failed_fills", outcomes[Block.UNFILLED]);
        found.put("succeeded", outcomes[Block.RIGHT] + outcomes[Block.FILLED] + outcomes[Block.PLANNED]);
        found.put("bytes", bytes);
        found.put("busy_ns", busy);
        found.put("latencies", latencies.over());
        found.put("errors_by_kind", kinds);
        found.put("timeline", timeline.over(wall));
        return found;
    }

    private static int bytesOf(Block block, int n) {
        byte outcome = block.outcome[n];
        boolean moves = outcome != Block.MISS
                && outcome != Block.ERROR
                && outcome != Block.UNFILLED
                && outcome != Block.PLANNED;
        return moves ? block.length[n] : 0;
    }
}
