package larder;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The contents of open.json: the cache, its options, the addresses of its servers, and further settings that a client
 * needs (null where they are not set).
 */
record Order(String cache, Map<String, Object> options, List<String> servers, Map<String, String> access) {
    /** The version of the protocol that is spoken here. */
    static final long PROTOCOL = 3;

    @SuppressWarnings("unchecked")
    static Order read(Path file) throws Exception {
        var open = (Map<String, Object>) Json.read(Files.readString(file));
        if (!open.get("protocol").equals(PROTOCOL)) {
            throw new Failure("protocol", "this guest speaks protocol " + PROTOCOL + ", not " + open.get("protocol"));
        }
        var options = (Map<String, Object>) open.get("options");
        var access = (Map<String, String>) open.get("access");
        return new Order(
                (String) open.get("cache"),
                options == null ? Map.of() : options,
                (List<String>) open.get("servers"),
                access == null ? new HashMap<>() : access);
    }

    /** The text of an option; {@code otherwise} where it is not set. */
    String text(String name, String otherwise) {
        return options.get(name) instanceof String text ? text : otherwise;
    }

    /** The number of an option; {@code otherwise} where it is not set. */
    long number(String name, long otherwise) {
        return options.get(name) instanceof Number number ? number.longValue() : otherwise;
    }

    /** Whether an option is on. */
    boolean isOn(String name) {
        return Boolean.TRUE.equals(options.get(name));
    }

    /** An option in seconds, as milliseconds; {@code otherwise} where it is not set. */
    long millis(String name, long otherwise) {
        return options.get(name) instanceof Number seconds ? Math.round(seconds.doubleValue() * 1000) : otherwise;
    }
}
