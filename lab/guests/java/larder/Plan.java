package larder;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A plan in memory: keys, the pool that values are cut from, operations, and the phases that they are done in. */
final class Plan {
    /** The value of a get whose key must be absent; without sign larger than the number of any value. */
    static final int NOTHING = 0xffff_ffff;

    /** The work of one phase; {@code shares} has the first operation of each process, and their number. */
    record Phase(boolean isMeasured, int[][] shares, long limitNanos, int multiget, boolean again) {}

    final int processes;
    final long ttlMillis;
    final boolean replays;
    final List<Phase> phases;
    final Key[] keys;
    /** For each key, the number of the value that is stored under it last; 0 where the key has no value. */
    final int[] newest;
    final Values values;
    final Operations operations;
    private final Numbers[] numbers;

    Plan(Terms terms, Key[] keys, int[] newest, Values values, Operations operations) {
        processes = terms.processes;
        ttlMillis = terms.ttlMillis;
        replays = terms.replays;
        phases = terms.phases;
        this.keys = keys;
        this.newest = newest;
        this.values = values;
        this.operations = operations;
        numbers = new Numbers[keys.length];
    }

    /** The contents of a plan besides its operations. */
    record Terms(int processes, long ttlMillis, boolean replays, List<Phase> phases) {}

    @SuppressWarnings("unchecked")
    static Plan read(Path folder) throws Exception {
        var plan = (Map<String, Object>) Json.read(Files.readString(folder.resolve("plan.json")));
        List<Phase> phases = new ArrayList<>();
        for (Map<String, Object> phase : (List<Map<String, Object>>) plan.get("phases")) {
            phases.add(phase(phase));
        }
        Terms terms = new Terms(
                ((Long) plan.get("processes")).intValue(),
                plan.get("ttl_s") instanceof Number seconds ? Cache.ttlMillis(seconds.doubleValue()) : Cache.FOREVER,
                (Boolean) plan.get("replays"),
                phases);
        List<Key> keys = new ArrayList<>();
        List<Integer> newest = new ArrayList<>();
        try (LittleEndian file = new LittleEndian(folder.resolve("keys.bin"))) {
            while (!file.isAtEnd()) {
                newest.add(file.number());
                keys.add(Key.of(file.bytes(file.number())));
            }
        }
        return new Plan(
                terms,
                keys.toArray(Key[]::new),
                newest.stream().mapToInt(number -> number).toArray(),
                Values.read(folder.resolve("values.bin"), Path.of((String) plan.get("pool"))),
                Operations.read(folder.resolve("ops.bin")));
    }

    @SuppressWarnings("unchecked")
    private static Phase phase(Map<String, Object> phase) {
        var shares = (List<List<Long>>) phase.get("shares");
        var limit = (Number) phase.get("time_limit_s");
        return new Phase(
                (Boolean) phase.get("measured"),
                shares.stream().map(share -> share.stream().mapToInt(Math::toIntExact).toArray()).toArray(int[][]::new),
                limit == null ? Long.MAX_VALUE : Math.round(limit.doubleValue() * 1e9),
                ((Long) phase.get("multiget")).intValue(),
                (Boolean) phase.get("again") && limit != null);
    }

    /** The numbers of a key's values. The first thread to look them up keeps them for all threads. */
    Numbers numbersOf(int key) {
        Numbers known = numbers[key];
        if (known == null) {
            known = new Numbers(values, newest[key]);
            numbers[key] = known;
        }
        return known;
    }

    /**
     * The number of the value that the null cache holds when a process begins a phase. It is the value that was set
     * last, or the fill of the first miss; 0 where the cache is empty.
     */
    int heldBefore(int phase, int process) {
        int held = 0;
        for (Phase earlier : phases.subList(0, phase)) {
            int first = earlier.shares[process][0];
            int firstFill = 0;
            int lastSet = 0;
            for (int n = first; n < first + earlier.shares[process][1]; n++) {
                int value = operations.value()[n];
                if (operations.kind()[n] == Operations.SET) {
                    lastSet = value;
                } else if (operations.kind()[n] == Operations.GET_OR_SET && firstFill == 0 && lastSet == 0) {
                    firstFill = value;
                }
            }
            held = lastSet != 0 ? lastSet : held != 0 ? held : firstFill;
        }
        return held;
    }
}
