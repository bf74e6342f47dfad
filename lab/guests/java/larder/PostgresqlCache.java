package larder;

import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * PostgreSQL by JDBC, with prepared statements, on the table of Larder's own engine. In its columns a deadline is in
 * milliseconds since 1970 by the clock of the client, and a version grows with each change of its row.
 */
final class PostgresqlCache extends Cache {
    private static final String LIVE = " AND (deadline_ms IS NULL OR deadline_ms > ?)";
    /** A statement that the server gave up because of another transaction has no effect, and is repeated. */
    private static final int ATTEMPTS = 5;
    /** The server's codes for a deadlock, and for transactions that cannot be serialized. */
    private static final String DEADLOCK = "40P01";

    private static final String SERIALIZATION_FAILURE = "40001";
    /** Bits of a version that tell sessions apart. */
    private static final int SALT_BITS = 11;

    /** An action on a statement; it sets the parameters. */
    private interface Act<T> {
        T on(PreparedStatement statement) throws SQLException;
    }

    private final Order order;
    private final Properties properties;
    private final AtomicLong connections;
    private final boolean isPerOperation;
    private final long salt = ThreadLocalRandom.current().nextLong(1L << SALT_BITS);
    private final String get;
    private final String getMany;
    private final String set;
    private final String touch;
    private final String delete;
    private final Map<String, PreparedStatement> prepared = new HashMap<>();
    private Connection connection;

    private PostgresqlCache(Order order, boolean isPerOperation, AtomicLong connections) throws Failure {
        this.order = order;
        this.isPerOperation = isPerOperation;
        this.connections = connections;
        properties = properties(order);
        // The engine accepts no name that would need escapes.
        String table = '"' + order.access().get("namespace") + '"';
        get = "SELECT value FROM " + table + " WHERE \"key\" = ?" + LIVE;
        getMany = "SELECT value, \"key\" FROM " + table + " WHERE \"key\" = ANY (?)" + LIVE;
        set = "INSERT INTO " + table + " (\"key\", value, version, deadline_ms, flags) VALUES (?, ?, ?, ?, 0) "
                + "ON CONFLICT (\"key\") DO UPDATE SET value = excluded.value, version = greatest(" + table
                + ".version + 1, excluded.version), flags = excluded.flags, tag = excluded.tag, "
                + "deadline_ms = excluded.deadline_ms";
        touch = "UPDATE " + table + " SET deadline_ms = ? WHERE \"key\" = ?" + LIVE;
        delete = "DELETE FROM " + table + " WHERE \"key\" = ?" + LIVE;
    }

    static Cache open(Order order) throws Exception {
        boolean isPerOperation = order.text("connect", "session").equals("operation");
        PostgresqlCache cache = new PostgresqlCache(order, isPerOperation, new AtomicLong());
        cache.connection();
        return cache;
    }

    static Properties properties(Order order) throws Failure {
        Map<String, String> access = order.access();
        long timeout = order.millis("timeout", 5_000);
        Properties properties = new Properties();
        properties.setProperty("prepareThreshold", "1");
        properties.setProperty("ApplicationName", "larder");
        // A statement that the server gives up has an answer; only a server without an answer is cut off.
        properties.setProperty("socketTimeout", Long.toString(timeout / 1000 + 2));
        properties.setProperty("connectTimeout", Long.toString(Math.max(1, timeout / 1000)));
        String options = "-c statement_timeout=" + timeout;
        if (access.get("synchronous_commit") != null) {
            options += " -c synchronous_commit=" + access.get("synchronous_commit");
        }
        properties.setProperty("options", options);
        String encrypted = "off".equals(access.get("tls")) ? "disable" : "require";
        properties.setProperty("sslmode", sslmode(access.getOrDefault("sslmode", encrypted), access));
        for (String name : new String[] {"user", "password", "sslrootcert"}) {
            if (access.get(name) != null) {
                properties.setProperty(name, access.get(name));
            }
        }
        return properties;
    }

    /**
     * The mode with which the driver checks as libpq does. With {@code require} and a file of authorities libpq checks
     * the certificate against them, but this driver would take any certificate.
     */
    private static String sslmode(String mode, Map<String, String> access) throws Failure {
        boolean hasAuthorities = access.get("sslrootcert") != null;
        if (mode.startsWith("verify-") && !hasAuthorities) {
            throw new Failure("other", "sslmode=" + mode + " needs the authorities to trust: add sslrootcert=FILE");
        }
        return mode.equals("require") && hasAuthorities ? "verify-ca" : mode;
    }

    @Override
    String title() {
        try {
            return "pgJDBC " + connection().getMetaData().getDriverVersion();
        } catch (SQLException | Failure e) {
            return "pgJDBC";
        }
    }

    @Override
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("connect", order.text("connect", "session"));
        settings.put("prepare_threshold", properties.getProperty("prepareThreshold"));
        settings.put("timeout", order.millis("timeout", 5_000) + " ms");
        return settings;
    }

    @Override
    byte[] get(Key key) throws Exception {
        return perform(get, statement -> {
            statement.setBytes(1, key.bytes());
            statement.setLong(2, System.currentTimeMillis());
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getBytes(1) : null;
            }
        });
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Exception {
        perform(set, statement -> {
            statement.setBytes(1, key.bytes());
            statement.setBytes(2, value);
            statement.setLong(3, System.currentTimeMillis() * 1000 << SALT_BITS | salt);
            setDeadline(statement, 4, ttlMillis);
            return statement.executeUpdate();
        });
    }

    @Override
    boolean delete(Key key) throws Exception {
        return perform(delete, statement -> {
            statement.setBytes(1, key.bytes());
            statement.setLong(2, System.currentTimeMillis());
            return statement.executeUpdate();
        }) > 0;
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Exception {
        return perform(touch, statement -> {
            setDeadline(statement, 1, ttlMillis);
            statement.setBytes(2, key.bytes());
            statement.setLong(3, System.currentTimeMillis());
            return statement.executeUpdate();
        }) > 0;
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        Map<Key, Integer> places = new HashMap<>();
        byte[][] names = new byte[to - from + 1][];
        int[] same = new int[names.length];
        for (int n = 0; n < names.length; n++) {
            names[n] = keys[from + n].bytes();
            Integer before = places.putIfAbsent(keys[from + n], n);
            same[n] = before == null ? n : before;
        }
        return () -> perform(getMany, statement -> {
            byte[][] found = new byte[names.length][];
            Array array = statement.getConnection().createArrayOf("bytea", names);
            statement.setArray(1, array);
            statement.setLong(2, System.currentTimeMillis());
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found[places.get(new Key(rows.getBytes(2), null))] = rows.getBytes(1);
                }
            }
            for (int n = 0; n < same.length; n++) {
                found[n] = found[same[n]];
            }
            return found;
        });
    }

    @Override
    Cache another() throws Exception {
        PostgresqlCache another = new PostgresqlCache(order, isPerOperation, connections);
        another.connection();
        return another;
    }

    /** A connection of its own for one operation, as in a program that connects in the method that reads. */
    @Override
    Cache operation() throws Exception {
        return isPerOperation ? new PostgresqlCache(order, false, connections) : this;
    }

    @Override
    void release(Cache client) {
        if (client != this) {
            client.close();
        }
    }

    @Override
    long connections() {
        return connections.getAndSet(0);
    }

    @Override
    void close() {
        disconnect();
    }

    private static void setDeadline(PreparedStatement statement, int at, long ttlMillis) throws SQLException {
        if (ttlMillis == FOREVER) {
            statement.setNull(at, Types.BIGINT);
        } else {
            statement.setLong(at, System.currentTimeMillis() + ttlMillis);
        }
    }

    /** Runs a statement, which stays prepared as long as the connection lives. */
    private <T> T perform(String sql, Act<T> act) throws Exception {
        if (isPerOperation) {
            PostgresqlCache client = new PostgresqlCache(order, false, connections);
            try {
                return client.perform(sql, act);
            } finally {
                client.close();
            }
        }
        for (int attempt = 1; ; attempt++) {
            try {
                PreparedStatement statement = prepared.get(sql);
                if (statement == null) {
                    statement = connection().prepareStatement(sql);
                    prepared.put(sql, statement);
                }
                return act.on(statement);
            } catch (SQLException e) {
                boolean isAgain = DEADLOCK.equals(e.getSQLState()) || SERIALIZATION_FAILURE.equals(e.getSQLState());
                if (!isAgain || attempt == ATTEMPTS) {
                    throw explained(e);
                }
            }
        }
    }

    private Connection connection() throws Failure {
        if (connection == null) {
            try {
                String database = order.access().getOrDefault("database", "");
                String name = java.net.URLEncoder.encode(database, StandardCharsets.UTF_8);
                String server = order.servers().get(0);
                if (server.startsWith("/")) {
                    throw new Failure("other", "JDBC cannot use a Unix socket; leave out `socket`");
                }
                connection = DriverManager.getConnection("jdbc:postgresql://" + server + "/" + name, properties);
                connections.incrementAndGet();
            } catch (SQLException e) {
                throw explained(e);
            }
        }
        return connection;
    }

    /** A connection that has failed is not used again, unless the server only answered with an error. */
    private Failure explained(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        boolean isLost = state.isEmpty() || state.startsWith("08") || state.startsWith("57P") || e.getCause() != null;
        if (isLost) {
            disconnect();
        }
        return new Failure(kindOf(state, e), e.getMessage());
    }

    private static String kindOf(String state, SQLException e) {
        return switch (state) {
            case "57014" -> "timeout";
            case "53100", "53200" -> "full";
            case "54000" -> "too_large";
            default -> {
                Failure cause = Failure.of(e);
                boolean isLost = state.startsWith("08") || state.startsWith("57P");
                yield cause.kind().equals("other") && isLost ? "io" : cause.kind();
            }
        };
    }

    private void disconnect() {
        prepared.clear();
        Connection lost = connection;
        connection = null;
        if (lost != null) {
            try {
                lost.close();
            } catch (SQLException e) {
                System.err.println("closing a connection: " + e.getMessage());
            }
        }
    }
}
