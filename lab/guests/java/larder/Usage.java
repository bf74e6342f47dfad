package larder;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Processor time and memory. A thread of the guest tells its own time, to the nanosecond. The kernel tells the time of
 * each other thread (of clients, the collector, the compiler). Only where other threads come and go all the time, the
 * process's time is taken, which counts in hundredths of a second.
 */
final class Usage implements AutoCloseable {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long PAGE_BYTES = 4096;

    private final List<Task> others = new ArrayList<>();

    /** Watches the threads that exist besides the guest's own ones, which {@link #task} has named. */
    Usage(Set<String> ours, boolean hasPassingThreads) throws IOException {
        if (hasPassingThreads) {
            return;
        }
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            for (Path task : (Iterable<Path>) tasks::iterator) {
                Path file = task.resolve("schedstat");
                if (!ours.contains(task.getFileName().toString()) && Files.isReadable(file)) {
                    others.add(new Task(new RandomAccessFile(file.toFile(), "r")));
                }
            }
        }
    }

    /** The name that the kernel has for this thread. */
    static String task() throws IOException {
        return Path.of("/proc/thread-self").toRealPath().getFileName().toString();
    }

    /** The processor time of this thread so far, in nanoseconds. */
    static long ofThread() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** The time of the other threads so far, in nanoseconds; {@code ofOurs} is the time of the guest's own threads. */
    long ofOthers(long ofOurs) {
        if (others.isEmpty()) {
            return SYSTEM.getProcessCpuTime() - ofOurs;
        }
        long sum = 0;
        for (Task task : others) {
            sum += task.nanos();
        }
        return sum;
    }

    /** Ticks of the process so far: user time, and system time. */
    static long[] ticks() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"), StandardCharsets.ISO_8859_1);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return new long[] {Long.parseLong(fields[11]), Long.parseLong(fields[12])};
        } catch (IOException e) {
            return new long[2];
        }
    }

    static long residentBytes() {
        try {
            return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * PAGE_BYTES;
        } catch (IOException e) {
            return 0;
        }
    }

    @Override
    public void close() throws IOException {
        for (Task task : others) {
            task.file.close();
        }
    }

    /** A thread that is not the guest's own. */
    private static final class Task {
        private final RandomAccessFile file;
        private final byte[] text = new byte[64];
        private long nanos;

        Task(RandomAccessFile file) {
            this.file = file;
        }

        /** The thread's time; after its end, the last one. It creates no garbage, for it is read many times a phase. */
        long nanos() {
            try {
                file.seek(0);
                int count = file.read(text);
                long number = 0;
                for (int i = 0; i < count && text[i] >= '0'; i++) {
                    number = 10 * number + text[i] - '0';
                }
                nanos = Math.max(nanos, number);
                return nanos;
            } catch (IOException e) {
                return nanos;
            }
        }
    }
}
