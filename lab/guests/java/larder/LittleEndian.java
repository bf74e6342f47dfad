package larder;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** A file of a plan, read from its beginning on: numbers with the lowest byte first. */
final class LittleEndian implements AutoCloseable {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int BUFFER = 1 << 16;

    private final InputStream file;
    private final byte[] buffer = new byte[BUFFER];
    private int at;
    private int end;

    LittleEndian(Path path) throws IOException {
        file = Files.newInputStream(path);
    }

    /** Eight bytes of an array. */
    static long getLong(byte[] bytes, int at) {
        return (long) LONG.get(bytes, at);
    }

    static void putLong(byte[] bytes, int at, long number) {
        LONG.set(bytes, at, number);
    }

    boolean isAtEnd() throws IOException {
        return at == end && !more();
    }

    /** A number of four bytes without sign, which in this language looks negative from 2^31 on. */
    int number() throws IOException {
        return next() | next() << 8 | next() << 16 | next() << 24;
    }

    long longNumber() throws IOException {
        return number() & 0xffff_ffffL | (long) number() << 32;
    }

    byte[] bytes(int length) throws IOException {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) next();
        }
        return bytes;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    private int next() throws IOException {
        if (at == end && !more()) {
            throw new IOException("a file of the plan ends too early");
        }
        return buffer[at++] & 0xff;
    }

    private boolean more() throws IOException {
        at = 0;
        end = Math.max(0, file.read(buffer));
        return end > 0;
    }
}
