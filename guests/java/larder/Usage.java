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
 * Processor time and memory. What a thread of ours took it tells itself, to the nanosecond. What the others took (those
 * of clients, of the collector, of the compiler) the kernel tells of each; only where they come and go all the time the
 * process is asked, which counts in hundredths of a second.
 */
final class Usage implements AutoCloseable {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long PAGE_BYTES = 4096;

    private final List<Task> others = new ArrayList<>();

    /** For the threads that there are besides ours, which {@link #task} has named. */
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

    /** What this thread has taken so far, in nanoseconds. */
    static long ofThread() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** What other threads than ours have taken so far, which have taken {@code ofOurs}, in nanoseconds. */
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

    /** Ticks of the process so far: of its own, and of the system for it. */
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

    /** A thread that is not ours. */
    private static final class Task {
        private final RandomAccessFile file;
        private final byte[] text = new byte[64];
        private long nanos;

        Task(RandomAccessFile file) {
            this.file = file;
        }

        /** Without garbage, for this is asked many times a phase. Of one that is gone, what it last was. */
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
