package larder;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Keeps its values, for all threads; a test may look into it and break it. */
class MapCache extends Cache {
    final Map<Key, byte[]> entries = new ConcurrentHashMap<>();

    @Override
    String title() {
        return "a map";
    }

    @Override
    Map<String, String> settings() {
        return Map.of();
    }

    @Override
    byte[] get(Key key) throws Exception {
        return entries.get(key);
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Exception {
        entries.put(key, value);
    }

    @Override
    boolean delete(Key key) throws Exception {
        return entries.remove(key) != null;
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Exception {
        return entries.containsKey(key);
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        return () -> {
            byte[][] found = new byte[to - from + 1][];
            for (int n = from; n <= to; n++) {
                found[n - from] = get(keys[n]);
            }
            return found;
        };
    }

    @Override
    Cache another() {
        return this;
    }
}
