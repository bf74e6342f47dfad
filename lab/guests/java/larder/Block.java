package larder;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Operations made ready for the loop: an array for each of their fields, composed values, and places for the loop's
 * notes. A thread alone makes them ready while its clock stands still. Each of several threads does so before its clock
 * starts, unless there are too many operations.
 */
final class Block {
    /** The outcomes of an operation. */
    static final byte RIGHT = 0;
    static final byte MISS = 1;
    static final byte DAMAGED = 2;
    static final byte TRUNCATED = 3;
    static final byte ERROR = 4;
    static final byte FILLED = 5;
    static final byte UNFILLED = 6;
    static final byte STALE = 7;
    static final byte OTHER_KEY = 8;
    /** A miss of a key that must be absent, which is the right answer. */
    static final byte PLANNED = 9;
    static final int OUTCOMES = 10;

    /** The limits of a block. */
    record Limits(int operations, long bytes) {}

    /** Operations that followed one another on the clock: their start, and the phase's elapsed time at that moment. */
    record Segment(int from, int to, long began, long elapsed) {}

    /** An operation and the wrong value that it got. */
    record Wrong(int operation, byte[] got) {}

    final Plan plan;
    final int multiget;
    final byte[] kind;
    final int[] keyIndex;
    final Key[] key;
    /** The value of the operation, as the plan has it. */
    final int[] value;
    /** The number of the value that a read is compared with; 0 where no value is right. */
    final int[] right;
    final int[] underIndex;
    final Key[] under;
    /** The value that a set stores. */
    final byte[][] stored;
    /** The bytes that each operation moves. */
    final int[] length;
    final byte[] outcome;
    /** The end time of each operation. */
    final long[] end;
    /** By the first operation of a request: its last operation, and the request. */
    final int[] requestTo;
    final Cache.Request[] requests;
    final List<Segment> segments = new ArrayList<>();
    final Map<Integer, Failure> errors = new HashMap<>();
    /** By kind and outcome, the first wrong operation. */
    final Map<Byte, Map<Byte, Wrong>> wrong = new HashMap<>();
    int count;

    private final Limits limits;
    private final boolean meetsNewer;
    private final Map<Integer, byte[]> composed = new HashMap<>();
    private long composedBytes;
    /** The gets whose key must be absent. */
    private final List<Integer> nothing = new ArrayList<>();
    /** The number of the value that the null cache holds. */
    private int held;

    /** With {@code meetsNewer}, gets may meet newer values, so the numbers of their keys' values are made ready too. */
    Block(Plan plan, Limits limits, int multiget, boolean meetsNewer, int held) {
        this.plan = plan;
        this.limits = limits;
        this.multiget = multiget;
        this.meetsNewer = meetsNewer && !plan.replays;
        this.held = held;
        int room = limits.operations;
        kind = new byte[room];
        keyIndex = new int[room];
        key = new Key[room];
        value = new int[room];
        right = new int[room];
        underIndex = new int[room];
        under = new Key[room];
        stored = new byte[room][];
        length = new int[room];
        outcome = new byte[room];
        end = new long[room];
        requestTo = new int[multiget > 1 ? room : 0];
        requests = new Cache.Request[multiget > 1 ? room : 0];
    }

    /** Makes ready as many of the {@code most} operations from {@code first} on as fit, and returns their number. */
    int fill(Cache cache, int first, int most) throws Exception {
        int wanted = Math.min(most, limits.operations);
        if (composedBytes >= limits.bytes) {
            composed.clear();
            composedBytes = 0;
        }
        Arrays.fill(stored, 0, count, null);
        Operations all = plan.operations;
        System.arraycopy(all.kind(), first, kind, 0, wanted);
        System.arraycopy(all.key(), first, keyIndex, 0, wanted);
        System.arraycopy(all.value(), first, value, 0, wanted);
        System.arraycopy(all.under(), first, underIndex, 0, wanted);
        Arrays.fill(outcome, 0, wanted, RIGHT);
        Arrays.fill(end, 0, wanted, 0);
        segments.clear();
        errors.clear();
        wrong.clear();
        nothing.clear();
        count = 0;
        while (count < wanted && (count == 0 || composedBytes < limits.bytes)) {
            prepare(count++);
        }
        if (multiget > 1) {
            makeRequests(cache);
        }
        return count;
    }

    /** Marks the misses of keys that must be absent as right, once the failures among them are known. */
    void settleMisses() {
        for (int n : nothing) {
            if (outcome[n] == MISS) {
                outcome[n] = PLANNED;
            }
        }
    }

    /** Keeps, for a kind of operation and a wrong outcome, the first operation and the value that it got. */
    void noteWrong(int n, byte how, byte[] got) {
        wrong.computeIfAbsent(kind[n], missing -> new HashMap<>()).putIfAbsent(how, new Wrong(n, got));
    }

    private void prepare(int n) {
        key[n] = plan.keys[keyIndex[n]];
        under[n] = plan.keys[underIndex[n]];
        right[n] = 0;
        length[n] = 0;
        switch (kind[n]) {
            case Operations.SET -> {
                held = value[n];
                store(n, held);
            }
            case Operations.GET, Operations.GET_OR_SET -> {
                expect(n);
                if (kind[n] == Operations.GET_OR_SET) {
                    store(n, right[n]);
                }
            }
            default -> { }
        }
    }

    private void expect(int n) {
        if (plan.replays) {
            if (held == 0 && kind[n] == Operations.GET_OR_SET) {
                held = value[n];
            }
            value[n] = held;
        }
        int number = value[n] != 0 ? value[n] : plan.newest[keyIndex[n]];
        right[n] = number == Plan.NOTHING ? 0 : number;
        if (number == Plan.NOTHING) {
            nothing.add(n);
        }
        length[n] = right[n] == 0 ? 0 : plan.values.length(right[n]);
        if (meetsNewer) {
            plan.numbersOf(keyIndex[n]);
        }
    }

    private void store(int n, int number) {
        length[n] = plan.values.length(number);
        stored[n] = composed.computeIfAbsent(number, missing -> {
            composedBytes += plan.values.length(missing);
            return plan.values.compose(missing);
        });
    }

    /** Joins successive gets into requests of up to {@code multiget} keys. */
    private void makeRequests(Cache cache) throws Exception {
        for (int from = 0; from < count; ) {
            int to = from;
            if (kind[from] == Operations.GET) {
                while (to - from + 1 < multiget && to + 1 < count && kind[to + 1] == Operations.GET) {
                    to++;
                }
                requests[from] = cache.request(key, from, to);
            }
            requestTo[from] = to;
            from = to + 1;
        }
    }
}
