package larder;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/**
 * The record of a thread in a phase: blocks of what came of its operations, and at the end what the thread knows of
 * itself. They go over a pipe to Larder, which counts them. Before the thread goes on with its next block, whose clock
 * runs, it waits for a byte. Meanwhile it makes that block ready, so that it seldom has to wait.
 */
final class Records implements AutoCloseable {
    /** The kinds of parts, and the bytes before those of a part. */
    private static final int OF_BLOCK = 1;

    private static final int OF_END = 2;
    private static final int PART_BYTES = 8;
    /** The bytes of a block before the first segment, of a segment, of an operation, and of a note before its own. */
    private static final int HEAD_BYTES = 16;

    private static final int SEGMENT_BYTES = 16;
    private static final int OPERATION_BYTES = 9;
    private static final int NOTE_BYTES = 16;
    /** The virtual machine copies what is written at once to memory beside its heap, so that is not a whole block. */
    private static final int PIECE = 1 << 16;

    private final OutputStream records;
    private final InputStream next;
    private ByteBuffer buffer = ByteBuffer.allocate(0);
    private boolean isCounting;

    /** Opens the pipes that Larder has made; neither file is made here. */
    private Records(Path records, Path next) throws IOException {
        this.records = Files.newOutputStream(records, StandardOpenOption.WRITE);
        this.next = Files.newInputStream(next);
    }

    /** The record of a thread, over the pipes in the folder of a plan. */
    static Records open(Path folder, int process) throws IOException {
        return new Records(folder.resolve("records-" + process), folder.resolve("next-" + process));
    }

    /** A record that nobody reads, of a rehearsal. */
    static Records unread() throws IOException {
        return new Records(Path.of("/dev/null"), Path.of("/dev/zero"));
    }

    /** Sends what came of the first {@code count} operations of a block. */
    void sendBlock(Block block, int count) throws IOException {
        int length = HEAD_BYTES + SEGMENT_BYTES * block.segments.size() + OPERATION_BYTES * count;
        List<Block.Note> notes = block.notes(count);
        for (Block.Note note : notes) {
            length += NOTE_BYTES + note.bytes().length;
        }
        begin(OF_BLOCK, length);
        buffer.putInt(count).putInt(block.segments.size()).putInt(notes.size()).putInt(0);
        for (Block.Segment segment : block.segments) {
            buffer.putInt(segment.first()).putInt(0).putLong(segment.began());
        }
        buffer.asLongBuffer().put(block.end, 0, count);
        buffer.position(buffer.position() + Long.BYTES * count);
        buffer.put(block.outcome, 0, count);
        for (Block.Note note : notes) {
            buffer.putInt(note.operation()).putInt(note.kind()).putInt(note.number());
            buffer.putInt(note.bytes().length).put(note.bytes());
        }
        write();
        isCounting = true;
    }

    /** Waits until Larder has counted the block that was sent. */
    void awaitCount() throws IOException {
        if (isCounting && next.read() < 0) {
            // Larder has ended, so nobody waits for an answer.
            Runtime.getRuntime().halt(0);
        }
        isCounting = false;
    }

    /** Sends the end of the phase. */
    void sendEnd(Map<String, ?> end) throws IOException {
        awaitCount();
        byte[] text = Json.write(end).getBytes(StandardCharsets.UTF_8);
        begin(OF_END, text.length);
        buffer.put(text);
        write();
    }

    @Override
    public void close() throws IOException {
        records.close();
        next.close();
    }

    private void begin(int kind, int length) {
        if (buffer.capacity() < PART_BYTES + length) {
            buffer = ByteBuffer.allocate(PART_BYTES + length).order(ByteOrder.LITTLE_ENDIAN);
        }
        buffer.clear().putInt(kind).putInt(length);
    }

    private void write() throws IOException {
        int end = buffer.position();
        for (int at = 0; at < end; at += PIECE) {
            records.write(buffer.array(), at, Math.min(PIECE, end - at));
        }
    }
}
