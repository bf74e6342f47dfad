package larder;

/** Notes failures in their order. Where everything fails, the phase is given up. */
final class Failures {
    /** The phase is given up after this many failures in a row, or this time of them: the rest would repeat them. */
    private static final int IN_A_ROW = 100;

    private static final long FAILING_NANOS = 5_000_000_000L;

    private final Block block;
    /** The number of operations before those of the block. */
    private long base;
    private long last = -2;
    private int inARow;
    private long failingSince;
    private boolean hasTold;

    Failures(Block block) {
        this.block = block;
    }

    /** Goes on to the next filling of the block, whose operations follow the present ones. */
    void nextBlock() {
        base += block.count;
    }

    /** Adds the failure of an operation, or of all operations of a request. Only the first one has its text. */
    void add(int from, int to, Failure failure) throws Failure {
        for (int n = from; n <= to; n++) {
            block.error(n, hasTold ? failure.kind() : failure.kind() + "\n" + failure.text());
            hasTold = true;
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
}
