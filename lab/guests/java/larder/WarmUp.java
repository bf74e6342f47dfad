package larder;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The warm-up before any measurement, until the compiler of the virtual machine is done. The loop itself runs on the
 * measured cache, with a few keys that the plan does not have and that are deleted again. A cache that would remember
 * them all the same names another one ({@link Cache#forWarmUp}).
 */
final class WarmUp {
    static final int OPERATIONS = 20_000;
    static final long LONGEST_NANOS = 2_000_000_000;

    /** After this time without a compilation the compiler counts as done. */
    private static final long STILL_NANOS = 50_000_000;

    private static final long TTL_MILLIS = 60_000;
    private static final int KEYS = 8;
    private static final int MOST_KEYS = 64;
    /** The number of values that are tried for being accepted by the cache. */
    private static final int MOST_LOOKED_AT = 256;
    /** The limit of the stored bytes, so that no other entry is evicted for them. */
    private static final long BYTES = 1 << 20;

    private static final int ROUNDS = 100;

    private final Plan plan;
    private final int[] chosen;
    private final int keys;
    private final int multiget;
    /** Whether the plan has operations of a kind. */
    private final boolean[] has = new boolean[Operations.KINDS];

    private WarmUp(Cache cache, Plan plan) throws Exception {
        this.plan = plan;
        int together = 1;
        for (Plan.Phase phase : plan.phases) {
            together = Math.max(together, phase.multiget());
        }
        for (byte kind : plan.operations.kind()) {
            has[kind] = true;
        }
        multiget = Math.min(together, MOST_KEYS);
        chosen = chosen(cache);
        keys = chosen.length;
    }

    /** Values that fit together into {@code BYTES}, or one value; only values that the cache accepts. */
    private int[] chosen(Cache cache) throws Exception {
        Key key = ownKeys(1)[0];
        int most = Math.max(KEYS, multiget);
        int[] numbers = new int[most];
        int found = 0;
        long bytes = 0;
        int looked = Math.min(plan.values.count(), MOST_LOOKED_AT);
        for (int number = 1; number <= looked && found < most; number++) {
            int length = plan.values.length(number);
            if ((found == 0 || bytes + length <= BYTES) && isTaken(cache, key, number)) {
                numbers[found++] = number;
                bytes += length;
            }
        }
        return Arrays.copyOf(numbers, found);
    }

    private boolean isTaken(Cache cache, Key key, int number) throws Exception {
        try {
            cache.set(key, plan.values.compose(number), cache.hasTtl() ? TTL_MILLIS : Cache.FOREVER);
            cache.delete(key);
            return true;
        } catch (Failure refusal) {
            cache.finish();
            return false;
        }
    }

    /** Warms up for a plan. A failure is only reported, for the plan will meet it too. */
    static void run(Cache cache, Plan plan) throws Exception {
        if (plan.values.count() > 0) {
            Cache own = cache.forWarmUp();
            WarmUp warmUp = new WarmUp(own, plan);
            if (warmUp.keys > 0) {
                warmUp.run(own);
            }
        }
    }

    private void run(Cache cache) throws Exception {
        Plan rehearsal = rehearsal(cache.hasTtl());
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        long began = System.nanoTime();
        long compiled = compiler.getTotalCompilationTime();
        long still = began;
        long done = 0;
        try (Records records = Records.unread()) {
            for (long now = began; now - began < LONGEST_NANOS; now = System.nanoTime()) {
                Phase phase = new Phase(rehearsal, cache, 0, 0);
                phase.run(records);
                done += phase.done();
                if (compiler.getTotalCompilationTime() != compiled) {
                    compiled = compiler.getTotalCompilationTime();
                    still = System.nanoTime();
                }
                if (done >= OPERATIONS && System.nanoTime() - still > STILL_NANOS) {
                    break;
                }
            }
            for (int key = 0; key < keys; key++) {
                cache.delete(rehearsal.keys[key]);
            }
        } catch (Failure failure) {
            System.err.println("warming up: " + failure.text());
        }
    }

    /** A plan with the operations of the phases, on keys of its own. */
    private Plan rehearsal(boolean hasTtl) {
        Key[] own = ownKeys(keys + 1);
        int[] newest = new int[own.length];
        for (int key = 0; key < keys; key++) {
            newest[key] = key + 1;
        }
        List<Byte> kinds = new ArrayList<>(List.of(Operations.SET));
        if (has[Operations.TOUCH]) {
            kinds.add(Operations.TOUCH);
        }
        if (has[Operations.GET]) {
            kinds.add(Operations.GET);
        }
        if (has[Operations.DELETE] || has[Operations.GET_OR_SET]) {
            kinds.add(Operations.DELETE);
        }
        if (has[Operations.GET_OR_SET]) {
            // The first fills, and the second hits.
            kinds.addAll(List.of(Operations.GET_OR_SET, Operations.GET_OR_SET));
        }
        int perRound = kinds.size() * keys + 1;
        Operations operations = Operations.of(ROUNDS * perRound);
        int at = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (byte kind : kinds) {
                for (int key = 0; key < keys; key++) {
                    operations.put(at++, kind, key, key + 1);
                }
            }
            operations.put(at++, Operations.GET, keys, Plan.NOTHING);
        }
        Plan.Phase phase = new Plan.Phase(false, new int[][] {{0, at}}, STILL_NANOS, multiget, false);
        long ttl = plan.ttlMillis == Cache.FOREVER ? TTL_MILLIS : Math.min(plan.ttlMillis, TTL_MILLIS);
        Plan.Terms terms = new Plan.Terms(1, hasTtl ? ttl : Cache.FOREVER, plan.replays, List.of(phase));
        return new Plan(terms, own, newest, plan.values.only(chosen), operations);
    }

    /** Keys that the plan does not have, which begin as its first key does and are as long. */
    private Key[] ownKeys(int count) {
        Set<Key> known = new HashSet<>(Arrays.asList(plan.keys));
        byte[] pattern = plan.keys[0].bytes();
        List<Key> own = new ArrayList<>();
        for (int number = 0; own.size() < count; number++) {
            byte[] end = ("-" + number).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
            int length = Math.max(pattern.length, end.length);
            byte[] bytes = Arrays.copyOf(pattern, length);
            System.arraycopy(end, 0, bytes, length - end.length, end.length);
            Key key = Key.of(bytes);
            if (!known.contains(key)) {
                own.add(key);
            }
        }
        return own.toArray(Key[]::new);
    }
}
