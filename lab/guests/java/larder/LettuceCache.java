package larder;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.KeyValue;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.resource.ClientResources;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Lettuce with its synchronous commands: threads of the client do the work, and the caller waits for the answer. */
final class LettuceCache extends Cache {
    /** The client's own limit is a minute, in which a guest would count as hanging. */
    private static final long TIMEOUT_MILLIS = 5_000;

    /** The one client, whose connections share its threads, and the number of connections that it has opened. */
    private record Terms(Order order, RedisServers servers, AbstractRedisClient client, AtomicLong connections) {
        long timeoutMillis() {
            return order.millis("timeout", TIMEOUT_MILLIS);
        }
    }

    private final Terms terms;
    private final StatefulConnection<byte[], byte[]> connection;
    private final RedisClusterCommands<byte[], byte[]> commands;

    private LettuceCache(Terms terms) {
        this.terms = terms;
        // A cluster has the same commands as a server, and spreads those of many keys over its nodes.
        if (terms.client instanceof RedisClusterClient cluster) {
            StatefulRedisClusterConnection<byte[], byte[]> opened = cluster.connect(ByteArrayCodec.INSTANCE);
            connection = opened;
            commands = opened.sync();
        } else {
            StatefulRedisConnection<byte[], byte[]> opened =
                    ((RedisClient) terms.client).connect(ByteArrayCodec.INSTANCE);
            connection = opened;
            commands = opened.sync();
        }
    }

    static Cache open(Order order) throws Exception {
        RedisServers servers = RedisServers.of(order);
        List<RedisURI> nodes = servers.addresses().stream()
                .map(node -> uri(servers, node, order.millis("timeout", TIMEOUT_MILLIS)))
                .toList();
        AbstractRedisClient client =
                servers.isCluster() ? RedisClusterClient.create(nodes) : RedisClient.create(nodes.get(0));
        AtomicLong connections = new AtomicLong();
        client.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress server) {
                connections.incrementAndGet();
            }
        });
        Terms terms = new Terms(order, servers, client, connections);
        LettuceCache cache = new LettuceCache(terms);
        return order.text("connect", "session").equals("operation")
                ? new PerOperation(cache, () -> new LettuceCache(terms), false)
                : cache;
    }

    private static RedisURI uri(RedisServers servers, RedisServers.Address node, long timeoutMillis) {
        RedisURI.Builder uri = RedisURI.builder()
                .withHost(node.host())
                .withPort(node.port())
                .withTimeout(Duration.ofMillis(timeoutMillis))
                .withDatabase(servers.database());
        if (servers.password() != null) {
            // A server with a password and without users knows the user `default`.
            String user = servers.user() == null ? "default" : servers.user();
            uri.withAuthentication(user, servers.password());
        }
        return uri.build();
    }

    @Override
    String title() {
        return titled("Lettuce", RedisClient.class);
    }

    @Override
    Map<String, String> settings() {
        Map<String, String> settings = terms.servers.settings(terms.order, terms.timeoutMillis());
        ClientResources resources = terms.client.getResources();
        settings.put("io_threads", Integer.toString(resources.ioThreadPoolSize()));
        return settings;
    }

    /** What a command answers. */
    private interface Command<T> {
        T send() throws RuntimeException;
    }

    private static <T> T answer(Command<T> command) throws Failure {
        try {
            return command.send();
        } catch (RedisCommandTimeoutException e) {
            throw new Failure("timeout", e.getMessage());
        } catch (RuntimeException e) {
            boolean isLost = e instanceof RedisException && !(e instanceof RedisCommandExecutionException);
            throw RedisServers.explained(e, isLost);
        }
    }

    @Override
    byte[] get(Key key) throws Failure {
        return answer(() -> commands.get(key.bytes()));
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Failure {
        answer(() -> ttlMillis == FOREVER
                ? commands.set(key.bytes(), value)
                : commands.set(key.bytes(), value, SetArgs.Builder.px(ttlMillis)));
    }

    @Override
    boolean delete(Key key) throws Failure {
        return answer(() -> commands.del(key.bytes())) > 0;
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Failure {
        return answer(() -> ttlMillis == FOREVER
                ? commands.persist(key.bytes()) || commands.exists(key.bytes()) > 0
                : commands.pexpire(key.bytes(), ttlMillis));
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        byte[][] names = new byte[to - from + 1][];
        for (int n = from; n <= to; n++) {
            names[n - from] = keys[n].bytes();
        }
        byte[][] found = new byte[names.length][];
        return () -> {
            List<KeyValue<byte[], byte[]>> values = answer(() -> commands.mget(names));
            for (int n = 0; n < names.length; n++) {
                found[n] = values.get(n).getValueOrElse(null);
            }
            return found;
        };
    }

    @Override
    Cache another() {
        return new LettuceCache(terms);
    }

    @Override
    long connections() {
        return terms.connections.getAndSet(0);
    }

    @Override
    void close() {
        connection.close();
    }
}
