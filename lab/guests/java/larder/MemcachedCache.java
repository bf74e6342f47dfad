package larder;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;
import net.spy.memcached.BuildInfo;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Locator;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.ConnectionObserver;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.DefaultHashAlgorithm;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.ops.OperationException;
import net.spy.memcached.transcoders.Transcoder;

/** spymemcached: one client object for all operations, or with {@code connect=operation} a new one for each. */
class MemcachedCache extends Cache {
    /** Beyond this limit the protocol takes a TTL for a point in time. */
    private static final long LONGEST_TTL_SECONDS = 30 * 24 * 60 * 60;

    private static final Transcoder<byte[]> RAW = new Raw();

    /** The servers, the client's settings for them, and the number of connections opened to them. */
    private record Terms(Order order, List<InetSocketAddress> servers, ConnectionFactory factory, AtomicLong connections) {
        MemcachedClient connect() throws IOException {
            return new MemcachedClient(factory, servers);
        }
    }

    /** The longest wait for the new connection to a server that has refused a value. */
    private static final long BACK_NANOS = 10_000_000_000L;

    private final Terms terms;
    private final MemcachedClient client;
    /** An answer was an error, after which the client makes a new connection on its own thread. */
    private boolean isReconnecting;

    private MemcachedCache(Terms terms) throws IOException {
        this.terms = terms;
        client = terms.connect();
    }

    static Cache open(Order order) throws Exception {
        // The client's own logger would report every connection.
        System.setProperty("net.spy.log.LoggerImpl", SpyLogger.class.getName());
        List<InetSocketAddress> servers = new ArrayList<>();
        for (String server : order.servers()) {
            servers.add(address(server));
        }
        AtomicLong connections = new AtomicLong();
        Terms terms = new Terms(order, servers, factory(order, connections), connections);
        MemcachedCache cache = new MemcachedCache(terms);
        cache.awaitServers();
        return order.text("connect", "session").equals("operation")
                ? new PerOperation(cache, () -> new MemcachedCache(terms), true)
                : cache;
    }

    private static InetSocketAddress address(String server) throws Failure {
        if (server.startsWith("/")) {
            throw new Failure("other", "spymemcached cannot use a Unix socket; leave out `socket`");
        }
        int colon = server.lastIndexOf(':');
        String host = server.substring(0, colon).replaceAll("^\\[|]$", "");
        return new InetSocketAddress(host, Integer.parseInt(server.substring(colon + 1)));
    }

    private static ConnectionFactory factory(Order order, AtomicLong connections) {
        ConnectionObserver observer = new ConnectionObserver() {
            @Override
            public void connectionEstablished(SocketAddress server, int reconnections) {
                connections.incrementAndGet();
            }

            @Override
            public void connectionLost(SocketAddress server) {}
        };
        ConnectionFactoryBuilder builder = new ConnectionFactoryBuilder()
                .setDaemon(true)
                .setInitialObservers(List.of(observer))
                .setOpTimeout(order.millis("timeout", DefaultConnectionFactory.DEFAULT_OPERATION_TIMEOUT))
                .setProtocol(order.text("protocol", "text").equals("binary") ? Protocol.BINARY : Protocol.TEXT);
        if (order.text("hashing", "modulo").equals("ketama")) {
            builder.setLocatorType(Locator.CONSISTENT).setHashAlg(DefaultHashAlgorithm.KETAMA_HASH);
        }
        return builder.build();
    }

    /** Waits until the client has connected to all servers, which it does on its own thread. */
    private Map<SocketAddress, String> awaitServers() throws Failure {
        Map<SocketAddress, String> versions = client.getVersions();
        for (InetSocketAddress server : terms.servers) {
            if (!versions.containsKey(server)) {
                throw new Failure("io", "no answer from " + server.getHostString() + ":" + server.getPort());
            }
        }
        return versions;
    }

    @Override
    String title() {
        return "spymemcached " + BuildInfo.VERSION;
    }

    @Override
    Map<String, String> settings() throws Failure {
        Map<String, String> settings = new TreeMap<>();
        settings.put("connect", terms.order.text("connect", "session"));
        settings.put("hashing", terms.factory.createLocator(List.of()).getClass().getSimpleName());
        settings.put("protocol", terms.order.text("protocol", "text"));
        settings.put("servers", String.join(", ", terms.order.servers()));
        settings.put("server_version", String.join(", ", awaitServers().values()));
        settings.put("timeout", terms.factory.getOperationTimeout() + " ms");
        return settings;
    }

    @Override
    byte[] get(Key key) throws Exception {
        try {
            return client.get(key.asText(), RAW);
        } catch (RuntimeException e) {
            throw explained(e);
        }
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Exception {
        OperationFuture<Boolean> answer = client.set(key.asText(), expiry(ttlMillis), value, RAW);
        if (!is(answer)) {
            String said = answer.getStatus().getMessage();
            throw new Failure(kindOf(said), "the server did not store the value: " + said);
        }
    }

    @Override
    boolean delete(Key key) throws Exception {
        return is(client.delete(key.asText()));
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Exception {
        return is(client.touch(key.asText(), expiry(ttlMillis)));
    }

    @Override
    Request request(Key[] keys, int from, int to) throws Exception {
        List<String> names = new ArrayList<>();
        for (int n = from; n <= to; n++) {
            names.add(keys[n].asText());
        }
        byte[][] found = new byte[names.size()][];
        return () -> send(names, found);
    }

    @Override
    Cache another() throws Exception {
        MemcachedCache another = new MemcachedCache(terms);
        another.awaitServers();
        return another;
    }

    /** Waits for a lost connection to come back: otherwise the next phase would wait for it. */
    @Override
    boolean finish() {
        if (!isReconnecting) {
            return false;
        }
        long began = System.nanoTime();
        while (client.getVersions().size() < terms.servers.size() && System.nanoTime() - began < BACK_NANOS) {
            Thread.yield();
        }
        isReconnecting = false;
        return true;
    }

    @Override
    long connections() {
        return terms.connections.getAndSet(0);
    }

    @Override
    void close() {
        client.shutdown();
    }

    private byte[][] send(List<String> names, byte[][] found) throws Exception {
        try {
            Map<String, byte[]> values = client.getBulk(names, RAW);
            for (int n = 0; n < found.length; n++) {
                found[n] = values.get(names.get(n));
            }
            return found;
        } catch (RuntimeException e) {
            throw explained(e);
        }
    }

    private boolean is(OperationFuture<Boolean> answer) throws Exception {
        try {
            return answer.get();
        } catch (Exception e) {
            throw explained(e);
        }
    }

    /** The protocol has whole seconds, rounded up here: a fraction of a second would become no TTL. */
    private static int expiry(long ttlMillis) {
        long seconds = (ttlMillis + 999) / 1000;
        long expiry = seconds > LONGEST_TTL_SECONDS ? System.currentTimeMillis() / 1000 + seconds : seconds;
        return (int) Math.min(expiry, Integer.MAX_VALUE);
    }

    /** The true cause of a client's error: a server's refusal, or a lost connection. */
    private Failure explained(Exception caught) {
        for (Throwable cause = caught; cause != null; cause = cause.getCause()) {
            if (cause instanceof OperationException refusal) {
                isReconnecting = true;
                String said = refusal.toString();
                return new Failure(kindOf(said), said);
            }
            if (cause instanceof CancellationException) {
                return new Failure("io", "the connection to the server was lost");
            }
        }
        return Failure.of(caught);
    }

    private static String kindOf(String said) {
        String words = said.toLowerCase(java.util.Locale.ROOT);
        if (words.contains("too large")) {
            return "too_large";
        }
        return words.contains("out of memory") ? "full" : "other";
    }

    /** Values as they are: no serialization, no compression, no flags. */
    private static final class Raw implements Transcoder<byte[]> {
        @Override
        public boolean asyncDecode(CachedData data) {
            return false;
        }

        @Override
        public CachedData encode(byte[] value) {
            return new CachedData(0, value, getMaxSize());
        }

        @Override
        public byte[] decode(CachedData data) {
            return data.getData();
        }

        /** The server's limit counts, so the client sets no limit. */
        @Override
        public int getMaxSize() {
            return Integer.MAX_VALUE;
        }
    }
}
