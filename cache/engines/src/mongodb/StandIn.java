// Starts mongo-java-server, which keeps everything in memory, in place of a MongoDB that is not installed.
//
// Its own main method listens on one fixed port, and calls itself older than today's drivers accept. It knows neither
// TLS nor unacknowledged writes. This main method can do all of that:
//
//     java -jar mongo-java-server.jar PORT [CERTIFICATE KEY]
//
// PORT 0 is any free port. The files are in PEM. The first line of output names the server and its address.

import de.bwaldvogel.mongo.MongoBackend;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.wire.MongoDatabaseHandler;
import de.bwaldvogel.mongo.wire.MongoExceptionHandler;
import de.bwaldvogel.mongo.wire.MongoWireMessageEncoder;
import de.bwaldvogel.mongo.wire.MongoWireProtocolHandler;
import de.bwaldvogel.mongo.wire.MongoWireReplyEncoder;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.ReferenceCountUtil;
import java.io.File;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

public final class StandIn {
    /**
     * The oldest version that today's drivers speak with; the server does not claim the abilities of newer versions.
     */
    record Version(List<Integer> getVersionArray, int getWireVersion) implements MongoVersion {
        static final Version OLDEST = new Version(List.of(4, 4, 0), 9);
    }

    /**
     * Writes that are marked as "more to come" want no answer. The server does not know the mark and always answers. So
     * the mark is taken off on the way in, and the answer thrown away on the way out.
     */
    static final class Unanswered extends LengthFieldBasedFrameDecoder {
        private static final int RESPONSE_TO = 8;
        private static final int REQUEST_ID = 4;
        private static final int OP_CODE = 12;
        private static final int FLAGS = 16;
        private static final int OP_MSG = 2013;
        private static final int MORE_TO_COME = 2;

        private final Set<Integer> requests = new HashSet<>();

        Unanswered() {
            super(ByteOrder.LITTLE_ENDIAN, Integer.MAX_VALUE, 0, 4, -4, 0, true);
        }

        @Override
        protected Object decode(ChannelHandlerContext context, ByteBuf in) throws Exception {
            ByteBuf frame = (ByteBuf) super.decode(context, in);
            if (frame != null && frame.readableBytes() > FLAGS + 4) {
                int start = frame.readerIndex();
                int flags = frame.getIntLE(start + FLAGS);
                if (frame.getIntLE(start + OP_CODE) == OP_MSG && (flags & MORE_TO_COME) != 0) {
                    requests.add(frame.getIntLE(start + REQUEST_ID));
                    frame.setIntLE(start + FLAGS, flags & ~MORE_TO_COME);
                }
            }
            return frame;
        }

        ChannelOutboundHandlerAdapter answers() {
            return new ChannelOutboundHandlerAdapter() {
                @Override
                public void write(ChannelHandlerContext context, Object answer, ChannelPromise done) {
                    if (answer instanceof ByteBuf bytes && bytes.readableBytes() >= FLAGS
                            && requests.remove(bytes.getIntLE(bytes.readerIndex() + RESPONSE_TO))) {
                        ReferenceCountUtil.release(answer);
                        done.setSuccess();
                    } else {
                        context.write(answer, done);
                    }
                }
            };
        }
    }

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        SslContext tls = arguments.length < 3
                ? null
                : SslContextBuilder.forServer(new File(arguments[1]), new File(arguments[2])).build();
        MongoBackend backend = new MemoryBackend().version(Version.OLDEST);
        // The server writes its own documents out, not copies. A second thread could change them meanwhile, and a
        // reader would see neither the old document nor the new.
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        ChannelGroup channels = new DefaultChannelGroup(group.next());
        ServerBootstrap server = new ServerBootstrap()
                .group(group)
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    public void initChannel(SocketChannel channel) {
                        if (tls != null) {
                            channel.pipeline().addLast(tls.newHandler(channel.alloc()));
                        }
                        Unanswered unanswered = new Unanswered();
                        channel.pipeline().addLast(
                                unanswered,
                                unanswered.answers(),
                                new MongoWireReplyEncoder(),
                                new MongoWireMessageEncoder(),
                                new MongoWireProtocolHandler(),
                                new MongoDatabaseHandler(backend, channels),
                                new MongoExceptionHandler());
                    }
                });
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", port);
        address = (InetSocketAddress) server.bind(address).sync().channel().localAddress();
        System.out.println("mongo-java-server " + version() + " listens on 127.0.0.1:" + address.getPort());
    }

    /** What the name of its archive tells: mongo-java-server-core-1.46.0.jar. */
    private static String version() {
        String archive = MongoServer.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        String name = archive.substring(archive.lastIndexOf('/') + 1).replace(".jar", "");
        return name.substring(name.lastIndexOf('-') + 1);
    }
}
