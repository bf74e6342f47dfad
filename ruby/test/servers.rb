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
    port ||= TCPServer.open("127.0.0.1", 0) { |free| free.addr[1] }
    command = ["memcached", "-l", "127.0.0.1", "-p", port.to_s, "-u", "nobody", "-m", "64"]
    # It must hold no pipe of those who wait for the output of the tests.
    process = spawn(*command, out: File::NULL, err: File::NULL)
    begin
      TCPSocket.open("127.0.0.1", port).close
    rescue Errno::ECONNREFUSED
      raise "memcached has ended" if Process.wait(process, Process::WNOHANG)

      sleep 0.01
      retry
    end
    ["127.0.0.1:#{port}", process]
  rescue Errno::ENOENT
    raise "there is no memcached; install the package memcached"
  end

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
