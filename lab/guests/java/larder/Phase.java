package larder;

import java.util.Set;

/**
 * One thread's share of a phase: blocks are made ready, worked through, sent to Larder. A thread alone stops its clock
 * while it prepares and sends. Each of several threads keeps its clock running, because the other threads have the
 * cache to themselves meanwhile. So each of them prepares and sends as much at once as memory allows, mostly
 * everything.
 */
final class Phase {
    /** The limits of a block. For a thread alone: as much as stays in a processor's cache. */
    private static final Block.Limits ALONE = new Block.Limits(4_096, 4 << 20);

    private static final Block.Limits SEVERAL = new Block.Limits(262_144, 64 << 20);
    private static final long PROCESSORS = Runtime.getRuntime().availableProcessors();
    /** The longest segment of the loop; between segments the progress is published. */
    private static final long SEGMENT_NANOS = 250_000_000;

    private final Cache cache;
    private final boolean isAlone;
    private final int first;
    private final int operations;
    private final long limit;
    private final boolean again;
    private final Block block;
    private final Failures failures;
    private final Loop loop;
    private int filled;
    private Usage usage;
    private long start;
    private long timed;
    private long cpu;
    private volatile long done;
    private volatile boolean isStopped;

    Phase(Plan plan, Cache cache, int number, int process) throws Exception {
        Plan.Phase phase = plan.phases.get(number);
        this.cache = cache;
        isAlone = plan.processes == 1;
        first = phase.shares()[process][0];
        operations = phase.shares()[process][1];
        limit = phase.limitNanos();
        again = phase.again();
        int held = plan.replays ? plan.heldBefore(number, process) : 0;
        if (held != 0) {
            cache.set(null, plan.values.compose(held), Cache.FOREVER);
        }
        Block.Limits limits = isAlone ? ALONE : SEVERAL;
        limits = new Block.Limits(Math.min(limits.operations(), operations), limits.bytes());
        block = new Block(plan, limits, phase.multiget(), !isAlone || again, held);
        failures = new Failures(block);
        loop = new Loop(cache, block, failures);
        filled = operations == 0 ? 0 : block.fill(cache, first, operations);
    }

    /** Does the share, in the thread that owns it, and sends its blocks. */
    void run(Records records) throws Exception {
        long before = Usage.ofThread();
        // A thread alone counts the time of the other threads too, while its own clock runs.
        try (Usage others = isAlone ? new Usage(Set.of(Usage.task()), cache.hasPassingThreads()) : null) {
            usage = others;
            int position = 0;
            while (filled > 0 && !isStopped) {
                records.awaitCount();
                int count = workThroughBlock();
                cpu = isAlone ? cpu : Usage.ofThread() - before;
                records.sendBlock(block, count);
                failures.nextBlock();
                if (timed >= limit) {
                    break;
                }
                position += filled;
                if (again && position == operations) {
                    position = 0;
                }
                filled = position == operations ? 0 : block.fill(cache, first + position, operations - position);
            }
        }
    }

    /** The number of operations done; another thread may ask for it. */
    long done() {
        return done;
    }

    /** Ends the share early, for another thread: its record then has no end. */
    void stop() {
        isStopped = true;
    }

    /** Processor time of this thread; where it was alone, of all other threads too. */
    long cpu() {
        return cpu;
    }

    /** The nanoseconds from the first operation to the end of the last. */
    long timed() {
        return timed;
    }

    /** The part of a processor time that can belong to work of this length: all processors give no more in that time. */
    static long possible(long cpu, long elapsed) {
        return Math.min(Math.max(0, cpu), PROCESSORS * elapsed);
    }

    /** Returns the number of operations of the block that are done. */
    private int workThroughBlock() throws Exception {
        int at = 0;
        while (at < block.count && timed < limit && !isStopped) {
            long used = isAlone ? used() : 0;
            long began = System.nanoTime();
            int next = loop.run(at, began + Math.min(limit - timed, SEGMENT_NANOS));
            // The wait for operations still under way is part of the last operation.
            if (cache.finish()) {
                block.end[next - 1] = System.nanoTime();
            }
            long end = block.end[next - 1];
            // A reading has more where the compiler ran on while this thread waited for a processor before the work.
            cpu += isAlone ? possible(used() - used, end - began) : 0;
            if (done == 0) {
                start = began;
            }
            block.segments.add(new Block.Segment(at, began));
            timed = isAlone ? timed + end - began : end - start;
            done += next - at;
            at = next;
        }
        return at;
    }

    private long used() {
        long own = Usage.ofThread();
        return own + usage.ofOthers(own);
    }
}
