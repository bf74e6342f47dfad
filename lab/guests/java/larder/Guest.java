package larder;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** Opens the cache, and carries out the commands. */
final class Guest {
    private static final long ALIVE_NANOS = 1_000_000_000;

    private final Protocol protocol;
    private final Cache cache;
    private final Crew crew;
    private Path folder;
    private Plan plan;
    private boolean isWarm;
    private long told;
    private long last;
    private long evictions;

    private Guest(Protocol protocol, Cache cache) {
        this.protocol = protocol;
        this.cache = cache;
        crew = new Crew(cache);
    }

    /** Opens the cache of open.json and greets; null if the cache is unavailable. */
    static Guest open(Protocol protocol, Path folder) throws IOException {
        try {
            Cache cache = Cache.open(Order.read(folder.resolve("open.json")));
            Map<String, String> settings = new TreeMap<>(cache.settings());
            settings.put("java_options", options());
            settings.put("java_vm", System.getProperty("java.vm.name"));
            settings.put(
                    "warmup",
                    "%d operations, then until compilation ends, at most %d s"
                            .formatted(WarmUp.OPERATIONS, WarmUp.LONGEST_NANOS / 1_000_000_000));
            protocol.answer(Map.of(
                    "protocol", Order.PROTOCOL,
                    "language", "java " + System.getProperty("java.version"),
                    "cache", cache.title(),
                    "settings", settings));
            return new Guest(protocol, cache);
        } catch (Exception | LinkageError e) {
            protocol.answer(Map.of("unavailable", Failure.of(e).text()));
            return null;
        }
    }

    /** Answers commands until there are no more. */
    void serve() throws Exception {
        for (String line = protocol.line(); line != null && !line.equals("end"); line = protocol.line()) {
            try {
                obey(line.split(" ", 2));
            } catch (Failure failure) {
                protocol.answer(failure.answer());
            } catch (IOException | InterruptedException e) {
                throw e;
            } catch (Exception | OutOfMemoryError e) {
                protocol.answer(Failure.of(e).answer());
            }
            protocol.isRunning(false);
        }
        cache.close();
    }

    private void obey(String[] command) throws Exception {
        String rest = command.length > 1 ? command[1] : "";
        switch (command[0]) {
            case "set" -> set(rest.split(" "));
            case "get" -> get(key(rest));
            case "delete" -> found(cache.delete(key(rest)));
            case "touch" -> touch(rest.split(" "));
            case "load" -> load(rest);
            case "run" -> run(Integer.parseInt(rest));
            default -> throw new Failure("protocol", "unknown command: " + String.join(" ", command));
        }
    }

    private void set(String[] arguments) throws Exception {
        Key key = key(arguments[0]);
        byte[] value = protocol.bytes(Integer.parseInt(arguments[1]));
        cache.set(key, value, ttl(arguments[2]));
        protocol.answer(Map.of("stored", true));
    }

    private void get(Key key) throws Exception {
        byte[] value = cache.get(key);
        if (value == null) {
            protocol.answer(Collections.singletonMap("found", null));
        } else {
            protocol.answer(Map.of("found", value.length), value);
        }
    }

    private void touch(String[] arguments) throws Exception {
        found(cache.touch(key(arguments[0]), ttl(arguments[1])));
    }

    private void found(boolean wasThere) throws IOException {
        protocol.answer(Map.of("found", wasThere));
    }

    private void load(String name) throws Exception {
        // The plan before may be as large, so it goes first.
        plan = null;
        folder = Path.of(name);
        try {
            plan = Plan.read(folder);
        } catch (IOException e) {
            throw Failure.of(e);
        }
        cache.expect(plan.ttlMillis != Cache.FOREVER);
        if (!isWarm && plan.phases.stream().anyMatch(Plan.Phase::isMeasured)) {
            WarmUp.run(cache, plan);
            isWarm = true;
        }
        evictions = cache.evictions();
        protocol.answer(evictions < 0 ? Map.of("loaded", true) : Map.of("loaded", true, "evictions", 0));
    }

    private void run(int number) throws Exception {
        if (plan == null) {
            throw new Failure("protocol", "no plan has been loaded");
        }
        if (number < 0 || number >= plan.phases.size()) {
            throw new Failure("protocol", "the plan has no phase " + number);
        }
        protocol.isRunning(true);
        told = System.nanoTime();
        last = 0;
        crew.run(plan, number, folder, this::tell);
        Map<String, Object> ran = new LinkedHashMap<>(Map.of("ran", number));
        if (evictions >= 0) {
            long before = evictions;
            evictions = cache.evictions();
            ran.put("evictions", evictions - before);
        }
        protocol.answer(ran);
    }

    /** Reports the progress once a second. A guest that waits for idle threads does not count as alive. */
    private void tell(long operations) {
        long now = System.nanoTime();
        if (operations == last || now - told < ALIVE_NANOS) {
            return;
        }
        told = now;
        last = operations;
        try {
            protocol.answer(Map.of("alive", operations));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private Key key(String length) throws Exception {
        return Key.of(protocol.bytes(Integer.parseInt(length)));
    }

    private static long ttl(String seconds) {
        return seconds.equals("-") ? Cache.FOREVER : Cache.ttlMillis(Double.parseDouble(seconds));
    }

    /** The options of the virtual machine, without the class path, which does not change how it works. */
    private static String options() {
        return String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments());
    }
}
