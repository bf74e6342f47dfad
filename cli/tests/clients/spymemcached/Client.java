import java.io.Serializable;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.OperationTimeoutException;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.ops.OperationException;
import net.spy.memcached.ops.StatusCode;
import net.spy.memcached.transcoders.SerializingTranscoder;

/**
 * spymemcached: every method of its client, against the server at the address of the first argument.
 *
 * <p>The second argument is the protocol, {@code text} or {@code binary}. The program prints what differs from
 * memcached and ends with code 1, or prints {@code OK}.
 */
class Client {
    private static final List<String> differences = new ArrayList<>();
    /** The logger is held here, because an unused one forgets its level. */
    private static final Logger log = Logger.getLogger("net.spy");

    private final InetSocketAddress address;
    private final boolean isBinary;
    private final MemcachedClient client;

    private Client(InetSocketAddress address, boolean isBinary) throws Exception {
        this.address = address;
        this.isBinary = isBinary;
        ConnectionFactoryBuilder factory = new ConnectionFactoryBuilder();
        factory.setProtocol(isBinary ? Protocol.BINARY : Protocol.TEXT).setOpTimeout(10_000);
        factory.setMaxReconnectDelay(1).setDaemon(true);
        // The server's limit counts, and not the client's.
        factory.setTranscoder(new SerializingTranscoder(2 << 20));
        client = new MemcachedClient(factory.build(), List.of(address));
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
        log.setLevel(Level.OFF);
        String[] parts = arguments[0].split(":");
        InetSocketAddress address = new InetSocketAddress(parts[0], Integer.parseInt(parts[1]));
        Client client = new Client(address, arguments[1].equals("binary"));
        client.client.flush().get();
        client.store();
        client.compare();
        client.many();
        client.count();
        client.objects();
        client.keysAndSizes();
        client.lifetimes();
        client.others();
        client.client.shutdown(1, TimeUnit.SECONDS);
        System.out.println(differences.isEmpty() ? "OK" : String.join("\n", differences));
        System.exit(differences.isEmpty() ? 0 : 1);
    }

    private static void same(String what, Object got, Object expected) {
        if (!Objects.deepEquals(got, expected)) {
            differences.add(what + ": " + shown(got) + " in place of " + shown(expected));
        }
    }

    private static String shown(Object value) {
        String text = value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
        return text.substring(0, Math.min(200, text.length()));
    }

    private static void fails(String what, Callable<?> call) {
        try {
            differences.add(what + ": " + shown(call.call()) + " in place of an error");
        } catch (Exception error) {
            if (error instanceof OperationTimeoutException) {
                differences.add(what + ": " + error);
            }
        }
    }

    /** The code of the answer to a change. */
    private static StatusCode code(OperationFuture<?> change) throws Exception {
        try {
            change.get();
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof OperationException)) {
                throw error;
            }
        }
        return change.getStatus().getStatusCode();
    }

    /** Waits for a connection: the client ends its own after an error, and makes another one. */
    private void awaitServer() throws Exception {
        for (int i = 0; i < 200 && client.getAvailableServers().isEmpty(); i++) {
            Thread.sleep(50);
        }
    }

    private void store() throws Exception {
        same("get of an absent key", client.get("k"), null);
        same("replace of an absent key", client.replace("k", 0, "v").get(), false);
        same("append to an absent key", client.append("k", "v").get(), false);
        same("prepend to an absent key", client.prepend("k", "v").get(), false);
        same("set", client.set("k", 0, "middle").get(), true);
        same("add of a present key", client.add("k", 0, "v").get(), false);
        same("add", client.add("added", 0, "v").get(), true);
        same("append", client.append("k", " end").get(), true);
        same("prepend", client.prepend("k", "start ").get(), true);
        same("get", client.get("k"), "start middle end");
        same("replace", client.replace("k", 0, "new").get(), true);
        same("asyncGet", client.asyncGet("k").get(), "new");
        same("set: an empty value", client.set("empty", 0, "").get(), true);
        same("an empty value", client.get("empty"), "");
    }

    private void compare() throws Exception {
        same("gets of an absent key", client.gets("absent"), null);
        CASValue<Object> got = client.gets("k");
        same("gets", got.getValue(), "new");
        same("cas", client.cas("k", got.getCas(), "newer"), CASResponse.OK);
        same("cas with an old version", client.cas("k", got.getCas(), "v"), CASResponse.EXISTS);
        same("cas of an absent key", client.cas("absent", got.getCas(), "v"), CASResponse.NOT_FOUND);
        same("the value after all", client.get("k"), "newer");
        got = client.asyncGets("k").get();
        same("asyncCAS", client.asyncCAS("k", got.getCas(), "newest").get(), CASResponse.OK);
        if (isBinary) {
            // The text protocol has no append with a version: the client ignores it.
            same("append with an old version", client.append(got.getCas(), "k", "v").get(), false);
        }
    }

    private void many() throws Exception {
        Map<String, Object> values = new HashMap<>();
        List<OperationFuture<Boolean>> sets = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            values.put("many" + i, String.valueOf(i).repeat(i));
            sets.add(client.set("many" + i, 0, values.get("many" + i)));
        }
        for (OperationFuture<Boolean> set : sets) {
            same("a set of many", set.get(), true);
        }
        List<String> keys = new ArrayList<>(values.keySet());
        keys.add("absent");
        same("getBulk", client.getBulk(keys), values);
        same("asyncGetBulk", client.asyncGetBulk(keys).get(), values);
        for (int i = 0; i < 50; i++) {
            same("delete", client.delete("many" + i).get(), true);
            values.remove("many" + i);
        }
        same("getBulk after delete", client.getBulk(keys), values);
    }

    private void count() throws Exception {
        same("incr of an absent key", client.incr("number", 1), -1L);
        same("decr of an absent key", client.decr("number", 1), -1L);
        same("incr with a first value", client.incr("number", 1, 10), 10L);
        same("incr", client.incr("number", 5), 15L);
        same("decr", client.decr("number", 4), 11L);
        same("decr with a first value", client.decr("first", 1, 7, 100), 7L);
        same("asyncIncr", client.asyncIncr("number", 1).get(), 12L);
        same("asyncDecr", client.asyncDecr("number", 1).get(), 11L);
        same("decr below zero", client.decr("number", 100), 0L);
        same("a word", client.set("word", 0, "word").get(), true);
        // The client does not tell this error from an absent key.
        same("incr of a word", client.incr("word", 1), -1L);
        awaitServer();
        same("the word after incr", client.get("word"), "word");
    }

    private void objects() throws Exception {
        List<Serializable> objects = List.of("wért–値", true, 42, -1L, (byte) 7, 1.5, 1.5f, new Date(1),
            new byte[] {0, 13, 10, -1}, new ArrayList<>(List.of(1, "two")), new TreeMap<>(Map.of("a", 1)),
            "long ".repeat(50_000));
        for (Serializable object : objects) {
            String name = "an object of " + object.getClass();
            same("a set of " + name, client.set("object", 0, object).get(), true);
            same(name, client.get("object"), object);
        }
    }

    private void keysAndSizes() throws Exception {
        String key = "k".repeat(250);
        same("set: a key of 250 bytes", client.set(key, 0, "long").get(), true);
        same("a key of 250 bytes", client.get(key), "long");
        fails("a key of 251 bytes", () -> client.get(key + "k"));
        same("set: a key in Unicode", client.set("schlüssel–鍵", 0, "v").get(), true);
        same("a key in Unicode", client.get("schlüssel–鍵"), "v");
        byte[] large = new byte[1 << 20];
        for (int i = 0; i < large.length; i++) {
            // These bytes cannot be compressed much.
            large[i] = (byte) (i * 2_654_435_761L >> 13);
        }
        SerializingTranscoder plain = new SerializingTranscoder(2 << 20);
        plain.setCompressionThreshold(2 << 20);
        byte[] fitting = Arrays.copyOf(large, large.length - 1024);
        same("a large value", client.set("large", 0, fitting, plain).get(), true);
        same("its bytes", client.get("large", plain), fitting);
        StatusCode refused = code(client.set("large", 0, Arrays.copyOf(large, large.length + 1), plain));
        same("a value that is too large", refused == StatusCode.SUCCESS, false);
        awaitServer();
        same("the key of a value that was too large", client.get("large"), null);
        same("set: the client after it", client.set("k", 0, "v").get(), true);
        same("the client after it", client.get("k"), "v");
    }

    private void lifetimes() throws Exception {
        // An entry of memcached with a TTL of one second may end at once, at the next tick of its clock.
        for (String key : List.of("short", "touched", "gat")) {
            same("set of " + key, client.set(key, 2, "v").get(), true);
        }
        int now = (int) (System.currentTimeMillis() / 1000);
        same("set: a date", client.set("date", now + 100, "v").get(), true);
        same("a date", client.get("date"), "v");
        same("set: a date in the past", client.set("date", now - 100, "v").get(), true);
        same("a date in the past", client.get("date"), null);
        same("touch", client.touch("touched", 100).get(), true);
        same("touch of an absent key", client.touch("absent", 100).get(), false);
        List<String> left = new ArrayList<>(List.of("touched"));
        if (isBinary) {
            // The client has these with the binary protocol only.
            same("getAndTouch", client.getAndTouch("gat", 100).getValue(), "v");
            same("getAndTouch of an absent key", client.getAndTouch("absent", 100), null);
            left.add(0, "gat");
        }
        Thread.sleep(3200);
        Map<String, Object> got = new TreeMap<>(client.getBulk("short", "touched", "gat"));
        same("what has not expired", new ArrayList<>(got.keySet()), left);
    }

    private void others() throws Exception {
        SocketAddress server = client.getAvailableServers().iterator().next();
        same("getVersions", client.getVersions().get(server).startsWith("1."), true);
        Map<String, String> stats = client.getStats().get(server);
        List<String> counters = List.of("pid", "uptime", "curr_items", "cmd_get", "get_hits");
        same("getStats", stats.keySet().containsAll(counters), true);
        same("getStats of settings", client.getStats("settings").get(server).containsKey("maxconns"), true);
        same("delete", client.delete("k").get(), true);
        same("delete of an absent key", client.delete("k").get(), false);
        if (!isBinary) {
            // The client sends no delay with the binary protocol.
            same("flush later", client.flush(100).get(), true);
            same("get before the flush", client.get("added"), "v");
        }
        same("flush", client.flush().get(), true);
        same("get after flush", client.get("added"), null);
        same("the address", server.toString().endsWith(":" + address.getPort()), true);
    }
}
