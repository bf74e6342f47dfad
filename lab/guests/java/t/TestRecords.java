package larder;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Receives the records of a phase of one thread as Larder does, and counts outcomes. Larder alone judges values. */
final class TestRecords {
    final List<Block.Note> notes = new ArrayList<>();
    /** The operations of each block. */
    final List<Integer> blocks = new ArrayList<>();
    private final long[] outcomes = new long[Block.OTHER + 1];
    private final RandomAccessFile records;
    private final RandomAccessFile next;
    private final Thread reader = new Thread(this::read);

    /** Makes the pipes in the folder of a plan, and begins to read. */
    TestRecords(Path folder) throws Exception {
        records = pipe(folder.resolve("records-0"));
        next = pipe(folder.resolve("next-0"));
        // A phase that was given up has no end, for which a test must not wait.
        reader.setDaemon(true);
        reader.start();
    }

    /** Waits for the end of the record. */
    TestRecords whole() throws InterruptedException {
        reader.join();
        return this;
    }

    /** The number of operations with this outcome. */
    long count(byte outcome) {
        return outcomes[outcome];
    }

    /** The number of errors of each kind. */
    Map<String, Integer> errorsByKind() {
        Map<String, Integer> kinds = new TreeMap<>();
        notes.stream().map(TestRecords::words).forEach(words -> kinds.merge(words.split("\n")[0], 1, Integer::sum));
        return kinds;
    }

    static String words(Block.Note note) {
        return new String(note.bytes(), StandardCharsets.UTF_8);
    }

    /** Opened for both, a pipe waits for no other program. */
    private static RandomAccessFile pipe(Path path) throws Exception {
        Files.deleteIfExists(path);
        Check.equal(new ProcessBuilder("mkfifo", path.toString()).start().waitFor(), 0, "mkfifo");
        return new RandomAccessFile(path.toFile(), "rw");
    }

    private void read() {
        try {
            while (Integer.reverseBytes(records.readInt()) == 1) {
                byte[] part = new byte[Integer.reverseBytes(records.readInt())];
                records.readFully(part);
                add(ByteBuffer.wrap(part).order(ByteOrder.LITTLE_ENDIAN));
                next.write('\n');
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void add(ByteBuffer block) {
        int count = block.getInt();
        int segments = block.getInt();
        int noted = block.getInt();
        blocks.add(count);
        block.position(16 * (1 + segments) + Long.BYTES * count);
        for (int n = 0; n < count; n++) {
            outcomes[block.get()]++;
        }
        for (int n = 0; n < noted; n++) {
            int operation = block.getInt();
            int kind = block.getInt();
            int number = block.getInt();
            byte[] bytes = new byte[block.getInt()];
            block.get(bytes);
            notes.add(new Block.Note(operation, kind, number, bytes));
        }
    }
}
