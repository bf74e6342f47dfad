package larder;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.Pool;

/** Jedis: each command takes a connection out of the client's pool, and the caller's own thread does the work. */
final class JedisCache extends Cache {
    /** The servers, the client's settings for them, and the number of connections that closed clients had opened. */
    private record Terms(Order order, RedisServers servers, JedisClientConfig config, AtomicLong connections) {
        UnifiedJedis connect() {
            List<HostAndPort> nodes = servers.addresses().stream()
                    .map(node -> new HostAndPort(node.host(), node.port()))
                    .toList();
            return servers.isCluster()
                    ? RedisClusterClient.builder()
                            .nodes(nodes.stream().collect(Collectors.toSet()))
                            .clientConfig(config)
                            .build()
                    : RedisClient.builder().hostAndPort(nodes.get(0)).clientConfig(config).build();
        }
    }

    private final Terms terms;
    private final UnifiedJedis client;
    private long told;

    private JedisCache(Terms terms) {
        this.terms = terms;
        client = terms.connect();
    }

    static Cache open(Order order) throws Exception {
        RedisServers servers = RedisServers.of(order);
        int timeout = (int) order.millis("timeout", Protocol.DEFAULT_TIMEOUT);
        JedisClientConfig config = DefaultJedisClientConfig.builder()
                .timeoutMillis(timeout)
                .user(servers.user())
                .password(servers.password())
                .database(servers.database())
                .build();
        Terms terms = new Terms(order, servers, config, new AtomicLong());
        JedisCache cache = new JedisCache(terms);
        cache.connect();
        return order.text("connect", "session").equals("operation")
                ? new PerOperation(cache, () -> new JedisCache(terms), false)
                : cache;
    }

    /** Asks the servers for anything, because the pool connects at its first command. */
    private void connect() throws Failure {
        answer(() -> client.exists("larder"));
    }

    @Override
    String title() {
        return titled("Jedis", UnifiedJedis.class);
    }

    @Override
    Map<String, String> settings() {
        return terms.servers.settings(terms.order, terms.config.getSocketTimeoutMillis());
    }

    /** What a command answers. */
    private interface Command<T> {
        T send() throws RuntimeException;
    }

    private static <T> T answer(Command<T> command) throws Failure {
        try {
            return command.send();
        } catch (RuntimeException e) {
            throw RedisServers.explained(e, e instanceof JedisConnectionException);
        }
    }

    @Override
    byte[] get(Key key) throws Failure {
        return answer(() -> client.get(key.bytes()));
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Failure {
        answer(() -> ttlMillis == FOREVER
                ? client.set(key.bytes(), value)
                : client.set(key.bytes(), value, SetParams.setParams().px(ttlMillis)));
    }

    @Override
    boolean delete(Key key) throws Failure {
        return answer(() -> client.del(key.bytes())) > 0;
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Failure {
        return answer(() -> ttlMillis == FOREVER
                ? client.persist(key.bytes()) > 0 || client.exists(key.bytes())
                : client.pexpire(key.bytes(), ttlMillis) > 0);
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        byte[][] names = new byte[to - from + 1][];
        for (int n = from; n <= to; n++) {
            names[n - from] = keys[n].bytes();
        }
        return terms.servers.isCluster() ? () -> pipelined(names) : () -> answer(() -> together(names));
    }

    private byte[][] together(byte[][] names) {
        return client.mget(names).toArray(byte[][]::new);
    }

    /** A command of a cluster has keys of one slot only, so each key is a command, and all are sent at once. */
    private byte[][] pipelined(byte[][] names) throws Failure {
        return answer(() -> {
            try (AbstractPipeline pipeline = client.pipelined()) {
                List<Response<byte[]>> answers =
                        Arrays.stream(names).map(pipeline::get).toList();
                pipeline.sync();
                return answers.stream().map(Response::get).toArray(byte[][]::new);
            }
        });
    }

    @Override
    Cache another() throws Failure {
        JedisCache another = new JedisCache(terms);
        another.connect();
        return another;
    }

    @Override
    long connections() {
        long opened = opened();
        long more = opened - told + terms.connections.getAndSet(0);
        told = opened;
        return more;
    }

    /** The connections that the pools of this client have opened. */
    private long opened() {
        if (client instanceof RedisClusterClient cluster) {
            return cluster.getClusterNodes().values().stream().mapToLong(Pool::getCreatedCount).sum();
        }
        return ((RedisClient) client).getPool().getCreatedCount();
    }

    @Override
    void close() {
        terms.connections.addAndGet(opened());
        client.close();
    }
}
