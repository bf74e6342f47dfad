package larder;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * The threads that share the work of a phase, each with a client of its own, as in a usual program of this language.
 * All threads begin together.
 */
final class Crew {
    /** The longest wait for a worker, before the progress is reported. */
    private static final long WAIT_MILLIS = 250;

    private final List<Cache> caches = new ArrayList<>();

    Crew(Cache first) {
        caches.add(first);
    }

    /** Runs a phase, and calls {@code tell} with the operations of all threads several times a second. */
    void run(Plan plan, int phase, Path folder, LongConsumer tell) throws Exception {
        while (caches.size() < plan.processes) {
            caches.add(caches.get(0).another());
        }
        // Some caches share a counter, so no thread may begin before all counters are at 0.
        caches.forEach(Cache::connections);
        List<Worker> workers = new ArrayList<>();
        CountDownLatch start = new CountDownLatch(1);
        try {
            for (int process = 0; process < plan.processes; process++) {
                Phase share = new Phase(plan, caches.get(process), phase, process);
                workers.add(new Worker(share, caches.get(process), Records.open(folder, process), process, start));
            }
            long[] ticks = Usage.ticks();
            long ofOthers = work(workers, start, tell);
            double systemShare = systemShare(ticks, Usage.ticks());
            long timed = Math.max(1, workers.stream().mapToLong(worker -> worker.phase.timed()).sum());
            for (Worker worker : workers) {
                // The other threads worked for each worker as long as it worked itself.
                double share = (double) worker.phase.timed() / timed;
                worker.sendEnd(worker.phase.cpu() + Math.round(Math.max(0, ofOthers) * share), systemShare);
            }
        } finally {
            for (Worker worker : workers) {
                worker.records.close();
            }
        }
    }

    /** Runs the threads to their end; returns the processor time of other threads, which no worker counts. */
    private static long work(List<Worker> workers, CountDownLatch start, LongConsumer tell) throws Exception {
        Set<String> tasks = new ConcurrentSkipListSet<>();
        for (Worker worker : workers) {
            worker.start(tasks);
        }
        for (Worker worker : workers) {
            worker.isReady.await();
        }
        if (workers.size() == 1) {
            start.countDown();
            attend(workers, tell);
            return 0;
        }
        boolean hasPassingThreads = workers.get(0).cache.hasPassingThreads();
        try (Usage usage = new Usage(tasks, hasPassingThreads)) {
            long before = usage.ofOthers(0);
            start.countDown();
            attend(workers, tell);
            return usage.ofOthers(workers.stream().mapToLong(worker -> worker.phase.cpu()).sum()) - before;
        }
    }

    /** Waits until all threads are done. The first failure ends all of them. */
    private static void attend(List<Worker> workers, LongConsumer tell) throws Exception {
        Failure failure = null;
        for (Worker worker : workers) {
            while (!worker.isOver.await(WAIT_MILLIS, TimeUnit.MILLISECONDS)) {
                tell.accept(workers.stream().mapToLong(each -> each.phase.done()).sum());
                if (workers.stream().anyMatch(each -> each.failure != null)) {
                    workers.forEach(each -> each.phase.stop());
                }
            }
            failure = failure == null ? worker.named(workers.size()) : failure;
        }
        if (failure != null) {
            throw failure;
        }
    }

    private static double systemShare(long[] before, long[] after) {
        long system = after[1] - before[1];
        long all = after[0] - before[0] + system;
        return all > 0 ? (double) system / all : 0;
    }

    /** One of the threads. */
    private static final class Worker {
        final Phase phase;
        final Cache cache;
        final Records records;
        final CountDownLatch isReady = new CountDownLatch(1);
        final CountDownLatch isOver = new CountDownLatch(1);
        volatile Failure failure;
        private final int process;
        private final CountDownLatch start;

        Worker(Phase phase, Cache cache, Records records, int process, CountDownLatch start) {
            this.phase = phase;
            this.cache = cache;
            this.records = records;
            this.process = process;
            this.start = start;
        }

        void start(Set<String> tasks) {
            Thread thread = new Thread(() -> run(tasks), "process " + process);
            thread.setDaemon(true);
            thread.start();
        }

        /** The failure that ended the thread, with the thread's number where there are several. */
        Failure named(int of) {
            return failure == null || of == 1
                    ? failure
                    : new Failure(failure.kind(), "process " + (process + 1) + " of " + of + ": " + failure.text());
        }

        /** Sends the end of the thread's record, with this processor time. */
        void sendEnd(long cpuNanos, double systemShare) throws IOException {
            long possible = Phase.possible(cpuNanos, phase.timed());
            long system = Math.round(possible * systemShare);
            records.sendEnd(Map.of(
                    "cpu_user_ns", possible - system,
                    "cpu_system_ns", system,
                    "rss_bytes", Usage.residentBytes(),
                    "connections", cache.connections(),
                    "tiers", List.of()));
        }

        private void run(Set<String> tasks) {
            try {
                tasks.add(Usage.task());
                isReady.countDown();
                start.await();
                phase.run(records);
            } catch (Exception | OutOfMemoryError e) {
                failure = Failure.of(e);
            } finally {
                isReady.countDown();
                isOver.countDown();
            }
        }
    }
}
