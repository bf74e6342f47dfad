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
    private static final int HEADER = Header.BYTES;
    /** The seed of the values. */
    private static final String SEED = "00000000c0ffee07";

    private static final int SPAN = 131_072;

    final Path folder = folder();
    private final byte[] pool = new byte[240_000];
    private final Header origin = new Header(SEED, SPAN, pool);
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
        int at = origin.offset(key, number);
        byte[] header = origin.of(key, number, length);
        byte[] recipe = new byte[36];
        little(recipe).putInt(at).putInt(length).putInt(newest[key]).put(header);
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
        plan.put("seed", SEED);
        plan.put("span", SPAN);
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

    /** Runs all phases, and returns the result of the last. */
    @SuppressWarnings("unchecked")
    Map<String, Object> run(Cache cache) throws Exception {
        Plan plan = read();
        Judge judge = new Judge(plan);
        Crew crew = new Crew(cache);
        for (int phase = 0; phase < phases.size(); phase++) {
            crew.run(plan, judge, phase, folder, operations -> {});
        }
        Path file = folder.resolve("ran-" + (phases.size() - 1) + "-0.json");
        return (Map<String, Object>) Json.read(Files.readString(file));
    }

    /** Runs all phases, and returns the result of the last about one operation. */
    @SuppressWarnings("unchecked")
    Map<String, Object> found(Cache cache, String operation) throws Exception {
        return ((Map<String, Map<String, Object>>) run(cache).get("operations")).get(operation);
    }

    private static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
