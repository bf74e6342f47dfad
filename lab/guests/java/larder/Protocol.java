package larder;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Commands in, answers out. A thread of its own reads the commands, so that the program sees the end of the input
 * during any work.
 */
final class Protocol {
    private static final int PIECE = 65_536;
    private static final byte[] END = {};

    private final InputStream input;
    private final OutputStream output;
    private final BlockingQueue<byte[]> pieces = new ArrayBlockingQueue<>(16);
    private byte[] piece = {};
    private int at;
    private volatile boolean isRunning;
    private volatile boolean hasEnded;

    Protocol(InputStream input, OutputStream output) {
        this.input = input;
        this.output = output;
        Thread reader = new Thread(this::readAll, "commands");
        reader.setDaemon(true);
        reader.start();
    }

    /** The next line without its line feed; null once the input has ended. */
    String line() throws InterruptedException {
        StringBuilder line = new StringBuilder();
        while (at < piece.length || more()) {
            byte next = piece[at++];
            if (next == '\n') {
                return line.toString();
            }
            line.append((char) (next & 0xff));
        }
        return null;
    }

    /** The {@code length} bytes that follow a line. */
    byte[] bytes(int length) throws InterruptedException, Failure {
        byte[] bytes = room(length);
        for (int have = 0; have < length; ) {
            if (at == piece.length && !more()) {
                throw new Failure("protocol", "the input ended within " + length + " announced bytes");
            }
            int count = Math.min(length - have, piece.length - at);
            if (bytes != null) {
                System.arraycopy(piece, at, bytes, have, count);
            }
            have += count;
            at += count;
        }
        if (bytes == null) {
            long heap = Runtime.getRuntime().maxMemory();
            throw new Failure("too_large", length + " bytes do not fit into a heap of " + heap);
        }
        return bytes;
    }

    /** Memory for a value; null without memory. Then the bytes are read all the same, for the next command follows. */
    private static byte[] room(int length) {
        try {
            return new byte[length];
        } catch (OutOfMemoryError e) {
            return null;
        }
    }

    void answer(Map<String, ?> answer) throws IOException {
        answer(answer, END);
    }

    /** Writes one answer, and the bytes that belong to it. */
    void answer(Map<String, ?> answer, byte[] bytes) throws IOException {
        byte[] line = (Json.write(answer) + "\n").getBytes(StandardCharsets.US_ASCII);
        byte[] all = Arrays.copyOf(line, line.length + bytes.length);
        System.arraycopy(bytes, 0, all, line.length, bytes.length);
        output.write(all);
        output.flush();
    }

    /** While running, the end of the input ends this program at once: the program that gave the commands is gone. */
    void isRunning(boolean running) {
        isRunning = running;
        if (running && hasEnded) {
            Runtime.getRuntime().halt(0);
        }
    }

    private boolean more() throws InterruptedException {
        if (piece == END && hasEnded) {
            return false;
        }
        piece = pieces.take();
        at = 0;
        return piece != END;
    }

    private void readAll() {
        byte[] buffer = new byte[PIECE];
        try {
            for (int count = input.read(buffer); count > 0; count = input.read(buffer)) {
                pieces.put(Arrays.copyOf(buffer, count));
            }
            hasEnded = true;
            if (isRunning) {
                Runtime.getRuntime().halt(0);
            }
            pieces.put(END);
        } catch (IOException | InterruptedException e) {
            System.err.println("cannot read commands: " + e.getMessage());
            Runtime.getRuntime().halt(1);
        }
    }
}
