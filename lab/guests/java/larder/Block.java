package larder;

import java.nio.charset.StandardCharsets;
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
    /** The outcomes of an operation; the loop notes an outcome only where it is not {@code RIGHT}. */
    static final byte RIGHT = 0;
    static final byte MISS = 1;
    static final byte ERROR = 2;
    static final byte FILLED = 3;
    static final byte UNFILLED = 4;
    /** Another value than the expected one. */
    static final byte OTHER = 5;

    /** The kinds of notes. */
    private static final int OF_VALUE = 1;

    private static final int OF_BYTES = 2;
    private static final int OF_ERROR = 3;

    /** The bytes of other values that a block keeps as they are. Of the values after these it keeps the beginning. */
    private static final int OTHER_BYTES = 16 << 20;

    private static final int BEGINNING = 64;

    /** The limits of a block. */
    record Limits(int operations, long bytes) {}

    /** The first of operations that followed one another on the clock, and the time at which it began. */
    record Segment(int first, long began) {}

    private static final byte[] NO_BYTES = {};

    /** More about an operation: the number of the value that it got, or the length and bytes of that, or an error. */
    record Note(int operation, int kind, int number, byte[] bytes) {}

    final Plan plan;
    final int multiget;
    final byte[] kind;
    final Key[] key;
    final Key[] under;
    /** The number of the value that a read is compared with; 0 where no value is right. */
    final int[] right;
    /** The value that a set stores. */
    final byte[][] stored;
    final byte[] outcome;
    /** Of another value than the expected one: its number among the values of the key, or 0. */
    private final int[] known;
    /** The end time of each operation. */
    final long[] end;
    /** By the first operation of a request: its last operation, and the request. */
    final int[] requestTo;
    final Cache.Request[] requests;
    final List<Segment> segments = new ArrayList<>();
    /** In the order of the operations, of which each has at most one: notes that have bytes. */
    private final List<Note> notes = new ArrayList<>();
    int count;

    private final Limits limits;
    private final boolean meetsNewer;
    private final Map<Integer, byte[]> composed = new HashMap<>();
    private long composedBytes;
    private long otherBytes;
    /** The place of the first operation in the plan. */
    private int first;
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
        key = new Key[room];
        under = new Key[room];
        right = new int[room];
        stored = new byte[room][];
        outcome = new byte[room];
        known = new int[room];
        end = new long[room];
        requestTo = new int[multiget > 1 ? room : 0];
        requests = new Cache.Request[multiget > 1 ? room : 0];
    }

    /** Makes ready as many of the {@code most} operations from {@code from} on as fit, and returns their number. */
    int fill(Cache cache, int from, int most) throws Exception {
        if (composedBytes >= limits.bytes) {
            composed.clear();
            composedBytes = 0;
        }
        Arrays.fill(stored, 0, count, null);
        segments.clear();
        notes.clear();
        otherBytes = 0;
        first = from;
        count = 0;
        int wanted = Math.min(most, limits.operations);
        while (count < wanted && (count == 0 || composedBytes < limits.bytes)) {
            prepare(count++);
        }
        if (multiget > 1) {
            makeRequests(cache);
        }
        return count;
    }

    /**
     * Notes that an operation got another value than the expected one: the number of this value among those of its key,
     * or its bytes.
     */
    void other(int n, byte[] got) {
        outcome[n] = OTHER;
        known[n] = 0;
        int number = plan.numbersOf(plan.operations.key()[first + n]).find(got);
        if (number != 0) {
            known[n] = number;
            return;
        }
        otherBytes += got.length;
        boolean isCut = otherBytes > OTHER_BYTES && got.length > BEGINNING;
        notes.add(new Note(n, OF_BYTES, got.length, isCut ? Arrays.copyOf(got, BEGINNING) : got));
    }

    /** The notes of the first {@code count} operations. Those without bytes are made here, because the loop allocates nothing. */
    List<Note> notes(int count) {
        List<Note> all = new ArrayList<>();
        int next = 0;
        for (int n = 0; n < count; n++) {
            if (outcome[n] == OTHER && known[n] != 0) {
                all.add(new Note(n, OF_VALUE, known[n], NO_BYTES));
            } else if (next < notes.size() && notes.get(next).operation() == n) {
                all.add(notes.get(next++));
            }
        }
        return all;
    }

    /** Notes the error of an operation. */
    void error(int n, String words) {
        notes.add(new Note(n, OF_ERROR, 0, words.getBytes(StandardCharsets.UTF_8)));
    }

    private void prepare(int n) {
        Operations all = plan.operations;
        int value = all.value()[first + n];
        kind[n] = all.kind()[first + n];
        key[n] = plan.keys[all.key()[first + n]];
        under[n] = plan.keys[all.under()[first + n]];
        right[n] = 0;
        outcome[n] = RIGHT;
        switch (kind[n]) {
            case Operations.SET -> {
                held = value;
                stored[n] = composed(value);
            }
            case Operations.GET -> right[n] = expected(all.key()[first + n], plan.replays ? held : value);
            case Operations.GET_OR_SET -> {
                held = held == 0 ? value : held;
                right[n] = expected(all.key()[first + n], plan.replays ? held : value);
                stored[n] = composed(right[n]);
            }
            default -> { }
        }
    }

    /** The number of the value that a read expects; 0 where no value is right. */
    private int expected(int keyIndex, int value) {
        if (meetsNewer) {
            plan.numbersOf(keyIndex);
        }
        int number = value != 0 ? value : plan.newest[keyIndex];
        return number == Plan.NOTHING ? 0 : number;
    }

    private byte[] composed(int number) {
        return composed.computeIfAbsent(number, missing -> {
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
