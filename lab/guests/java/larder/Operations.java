package larder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The operations of a plan: an array for each of their fields. */
record Operations(byte[] kind, int[] key, int[] value, int[] under) {
    static final byte GET = 0;
    static final byte SET = 1;
    static final byte GET_OR_SET = 2;
    static final byte DELETE = 3;
    static final byte TOUCH = 4;
    static final int KINDS = 5;

    private static final int BYTES = 16;

    /** Room for {@code count} operations. */
    static Operations of(int count) {
        return new Operations(new byte[count], new int[count], new int[count], new int[count]);
    }

    static Operations read(Path file) throws IOException {
        int count = Math.toIntExact(Files.size(file) / BYTES);
        Operations operations = of(count);
        try (LittleEndian records = new LittleEndian(file)) {
            for (int i = 0; i < count; i++) {
                operations.kind[i] = (byte) records.number();
                operations.key[i] = records.number();
                operations.value[i] = records.number();
                operations.under[i] = records.number();
            }
        }
        return operations;
    }

    void put(int at, byte kindOfIt, int keyOfIt, int valueOfIt) {
        kind[at] = kindOfIt;
        key[at] = keyOfIt;
        value[at] = valueOfIt;
        under[at] = keyOfIt;
    }
}
