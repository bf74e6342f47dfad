package larder;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes small plans as Larder does, and runs them by a crew on a cache. */
final class TestPlan {
    /** The values begin in the first bytes of the pool. */
    private static final int SPAN = 131_072;

    final Path folder = folder();
    private final byte[] pool = new byte[240_000];
    private final List<String> keys;
    private final int[] newest;
    private final List<byte[]> values = new ArrayList<>();
    private final List<int[]> operations = new ArrayList<>();
    private final List<Object> phases = new ArrayList<>();

    TestPlan(String... keys) {
        this.keys = List.of(keys);
        newest = new int[keys.length];
        for (int i = 0; i < pool.length; i++) {
            pool[i] = (byte) (i * 7919 + i / 256);
        }
    }

    private static Path folder() {
        try {
            return Files.createTempDirectory("larder-java-test");
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Adds a value under the key of this index, and returns its number. */
    int value(int key, int length) {
        int number = values.size() + 1;
        byte[] recipe = new byte[36];
        little(recipe)
                .putInt(number * 7919 % SPAN)
                .putInt(length)
                .putInt(newest[key])
                // The program only needs headers that differ. Larder composes others, and alone reads them.
                .putInt(key)
                .putInt(number);
        values.add(recipe);
        newest[key] = number;
        return number;
    }

    /** Adds a phase of these operations, `{kind, key, value}` each, of one process. */
    TestPlan phase(Map<String, Object> options, int[]... all) {
        Object shares = List.of(List.of(operations.size(), all.length));
        operations.addAll(List.of(all));
        Map<String, Object> phase = new LinkedHashMap<>();
        phase.put("measured", true);
        phase.put("time_limit_s", null);
        phase.put("multiget", 1);
        phase.put("again", false);
        phase.put("shares", shares);
        phase.putAll(options);
        phases.add(phase);
        return this;
    }

    /** The plan as the program reads it. */
    Plan read() throws Exception {
        Map<String, Object> plan = new LinkedHashMap<>();
        plan.put("pool", folder.resolve("pool.bin").toString());
        plan.put("processes", 1);
        plan.put("ttl_s", null);
        plan.put("replays", false);
        plan.put("phases", phases);
        Files.writeString(folder.resolve("plan.json"), Json.write(plan));
        Files.write(folder.resolve("pool.bin"), pool);
        ByteBuffer names = little(new byte[1 << 20]);
        for (int key = 0; key < newest.length; key++) {
            byte[] name = keys.get(key).getBytes(StandardCharsets.UTF_8);
            names.putInt(newest[key]).putInt(name.length).put(name);
        }
        Files.write(folder.resolve("keys.bin"), Arrays.copyOf(names.array(), names.position()));
        ByteBuffer recipes = little(new byte[36 * values.size()]);
        values.forEach(recipes::put);
        Files.write(folder.resolve("values.bin"), recipes.array());
        ByteBuffer records = little(new byte[16 * operations.size()]);
        for (int[] operation : operations) {
            records.putInt(operation[0]).putInt(operation[1]).putInt(operation[2]).putInt(operation[1]);
        }
        Files.write(folder.resolve("ops.bin"), records.array());
        return Plan.read(folder);
    }

    /** Runs the phase, and returns its record. */
    TestRecords run(Cache cache) throws Exception {
        TestRecords records = new TestRecords(folder);
        new Crew(cache).run(read(), 0, folder, operations -> {});
        return records.whole();
    }

    private static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
