# frozen_string_literal: true

require "socket"

# Real servers for tests and measurements.
module Servers
  # A memcached that lives as long as the block, which gets its address and its process.
  def self.memcached
    address, process = start_memcached
    yield address, process
  ensure
    stop(process) if process
  end

  # Starts a memcached on a port, or on a free one; its address and its process.
  def self.start_memcached(port = nil)
    start(port) { |at| ["memcached", "-l", "127.0.0.1", "-p", at, "-u", "nobody", "-m", "64"] }
  end

  # Starts a Redis on a free port; its address and its process.
  def self.start_redis
    start { |at| ["redis-server", "--bind", "127.0.0.1", "--port", at, "--save", ""] }
  end

  # Starts a server by its command, and waits until it answers.
  def self.start(port = nil)
    port ||= TCPServer.open("127.0.0.1", 0) { |free| free.addr[1] }
    command = yield port.to_s
    # It must hold no pipe of those who wait for the output of the tests.
    process = spawn(*command, out: File::NULL, err: File::NULL)
    begin
      TCPSocket.open("127.0.0.1", port).close
    rescue Errno::ECONNREFUSED
      raise "#{command[0]} has ended" if Process.wait(process, Process::WNOHANG)

      sleep 0.01
      retry
    end
    ["127.0.0.1:#{port}", process]
  rescue Errno::ENOENT
    raise "there is no #{command[0]}; install the package #{command[0]}"
  end
  private_class_method :start

  # The counters of a memcached.
  def self.stats(address)
    TCPSocket.open(*address.split(":")) do |socket|
      socket.write("stats\r\n")
      socket.each_line.take_while { |line| line != "END\r\n" }.to_h { |line| line.split.last(2) }
    end
  end

  # Ends a server.
  def self.stop(process)
    Process.kill(:KILL, process)
    Process.wait(process)
  end
end
