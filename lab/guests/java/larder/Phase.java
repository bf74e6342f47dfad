package larder;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One thread's share of a phase: blocks are made ready, worked through, counted. A thread alone stops its clock while
 * it prepares and counts. Each of several threads keeps its clock running, because the other threads have the cache to
 * themselves meanwhile. So each of them prepares and counts as much at once as memory allows, mostly everything.
 */
final class Phase {
    /** The limits of a block. For a thread alone: as much as stays in a processor's cache. */
    private static final Block.Limits ALONE = new Block.Limits(16_384, 4 << 20);

    private static final Block.Limits SEVERAL = new Block.Limits(262_144, 64 << 20);
    private static final long PROCESSORS = Runtime.getRuntime().availableProcessors();
    /** The longest segment of the loop; between segments the progress is published. */
    private static final long SEGMENT_NANOS = 250_000_000;

    private final Plan plan;
    private final Cache cache;
    private final int number;
    private final int process;
    private final boolean isAlone;
    private final int first;
    private final int operations;
    private final long limit;
    private final boolean again;
    private final Block block;
    private final Failures failures;
    private final Loop loop;
    private final Count count;
    private int filled;
    private Usage usage;
    private long start;
    private long timed;
    private long cpu;
    private volatile long done;
    private volatile boolean isStopped;

    Phase(Plan plan, Cache cache, Judge judge, int number, int process) throws Exception {
        Plan.Phase phase = plan.phases.get(number);
        this.plan = plan;
        this.cache = cache;
        this.number = number;
        this.process = process;
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
        failures = new Failures(judge, block);
        loop = new Loop(cache, block, judge, failures);
        count = new Count(phase.operations(), phase.multiget());
        filled = operations == 0 ? 0 : block.fill(cache, first, operations);
    }

    /** Does the share, in the thread that owns it. */
    void run() throws Exception {
        if (isAlone) {
            usage = new Usage(Set.of(Usage.task()), cache.hasPassingThreads());
        } else {
            cpu -= Usage.ofThread();
        }
        int position = 0;
        while (filled > 0 && !isStopped) {
            workThroughBlock();
            count.add(block);
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
        if (isAlone) {
            usage.close();
        } else {
            cpu += Usage.ofThread();
        }
    }

    /** The number of operations done; another thread may ask for it. */
    long done() {
        return done;
    }

    /** Ends the share early, for another thread: there is no result then. */
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

    private void workThroughBlock() throws Exception {
        int at = 0;
        while (at < block.count && timed < limit && !isStopped) {
            long used = isAlone ? used() : 0;
            long began = System.nanoTime();
            int next = loop.run(at, began + Math.min(limit - timed, SEGMENT_NANOS));
            // The wait for operations still under way is part of the last operation.
            if (cache.finish()) {
                block.end[next - 1] = System.nanoTime();
            }
            // A reading has more where the compiler ran on while this thread waited for a processor before the work.
            cpu += isAlone ? possible(used() - used, block.end[next - 1] - began) : 0;
            if (done == 0) {
                start = began;
            }
            long elapsed = isAlone ? timed : began - start;
            block.segments.add(new Block.Segment(at, next - 1, began, elapsed));
            timed = elapsed + block.end[next - 1] - began;
            done += next - at;
            at = next;
        }
    }

    private long used() {
        long own = Usage.ofThread();
        return own + usage.ofOthers(own);
    }

    /** Writes the result with this processor time to a file, which gets its name when it is complete. */
    void writeResult(Path folder, long cpuNanos, double systemShare) throws Exception {
        long system = Math.round(cpuNanos * systemShare);
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("start_ns", start);
        result.put("wall_ns", timed);
        result.put("cpu_user_ns", cpuNanos - system);
        result.put("cpu_system_ns", system);
        result.put("rss_bytes", Usage.residentBytes());
        result.put("connections", cache.connections());
        result.put("failed", failures.notStored());
        result.put("first_error", count.firstError());
        result.put("tiers", List.of());
        result.put("operations", count.over(timed));
        Path file = folder.resolve("ran-" + number + "-" + process + ".json");
        Path part = folder.resolve(file.getFileName() + ".part");
        Files.writeString(part, Json.write(result));
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
