package larder;

import java.util.Arrays;
import java.util.Map;

/**
 * A new client for every operation, with new connections. Programs that open their cache in the method that uses it
 * work like this.
 */
final class PerOperation extends Cache {
    /** Makes a client. */
    interface Source {
        Cache client() throws Exception;
    }

    private final Cache first;
    private final Source source;
    private final boolean hasPassingThreads;

    /** {@code first} tells what all clients have in common; with {@code hasPassingThreads} each has a thread. */
    PerOperation(Cache first, Source source, boolean hasPassingThreads) {
        this.first = first;
        this.source = source;
        this.hasPassingThreads = hasPassingThreads;
        first.connections();
    }

    /** What an operation answers. */
    private interface Act<T> {
        T by(Cache client) throws Exception;
    }

    private <T> T perform(Act<T> act) throws Exception {
        Cache client = operation();
        try {
            return act.by(client);
        } finally {
            client.close();
        }
    }

    @Override
    Cache operation() throws Exception {
        return source.client();
    }

    @Override
    void release(Cache client) {
        client.close();
    }

    @Override
    byte[] get(Key key) throws Exception {
        return perform(client -> client.get(key));
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Exception {
        perform(client -> {
            client.set(key, value, ttlMillis);
            return null;
        });
    }

    @Override
    boolean delete(Key key) throws Exception {
        return perform(client -> client.delete(key));
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Exception {
        return perform(client -> client.touch(key, ttlMillis));
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        Key[] own = Arrays.copyOfRange(keys, from, to + 1);
        return () -> perform(client -> client.request(own, 0, own.length - 1).send());
    }

    @Override
    Cache another() {
        return new PerOperation(first, source, hasPassingThreads);
    }

    @Override
    String title() {
        return first.title();
    }

    @Override
    Map<String, String> settings() throws Exception {
        return first.settings();
    }

    @Override
    long connections() {
        return first.connections();
    }

    @Override
    boolean hasPassingThreads() {
        return hasPassingThreads;
    }
}
