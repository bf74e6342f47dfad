package larder;

import java.util.ArrayList;
import java.util.List;

/** Counts failures in their order. Where everything fails, the phase is given up. */
final class Failures {
    /** The phase is given up after this many failures in a row, or this time of them: the rest would repeat them. */
    private static final int IN_A_ROW = 100;

    private static final long FAILING_NANOS = 5_000_000_000L;

    private final Judge judge;
    private final Block block;
    private final List<Integer> notStored = new ArrayList<>();
    /** The number of operations before those of the block. */
    private long base;
    private long last = -2;
    private int inARow;
    private long failingSince;

    Failures(Judge judge, Block block) {
        this.judge = judge;
        this.block = block;
    }

    /** The numbers of values that were not acknowledged. */
    List<Integer> notStored() {
        return notStored;
    }

    /** Goes on to the next filling of the block, whose operations follow the present ones. */
    void nextBlock() {
        base += block.count;
    }

    /** Adds the failure of an operation, or of all operations of a request. */
    void add(int from, int to, Failure failure) throws Failure {
        for (int n = from; n <= to; n++) {
            block.errors.put(n, failure);
            wasNotDone(n);
        }
        long now = block.end[to];
        if (base + from != last + 1 || inARow == 0) {
            inARow = 0;
            failingSince = now;
        }
        last = base + to;
        inARow++;
        if (inARow > 1 && (inARow >= IN_A_ROW || now - failingSince >= FAILING_NANOS)) {
            throw new Failure(failure.kind(), "gave up after " + inARow + " failures in a row: " + failure.text());
        }
    }

    /** Notes that the change of a failed operation may not have happened. */
    private void wasNotDone(int n) {
        switch (block.kind[n]) {
            case Operations.SET -> {
                judge.distrust(block.keyIndex[n]);
                notStored.add(block.value[n]);
            }
            case Operations.GET_OR_SET -> {
                judge.distrust(block.underIndex[n]);
                notStored.add(block.value[n]);
            }
            case Operations.DELETE -> judge.distrust(block.keyIndex[n]);
            default -> { }
        }
    }
}
