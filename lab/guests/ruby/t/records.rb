# frozen_string_literal: true

require "json"

# Receives the records of a phase as Larder does, and counts outcomes. Larder alone judges values: of those that are not
# the expected ones, the values of the key that have a number count as hits here, and the others as wrong.
module TestRecords
  OUTCOMES = %w[right missed failed filled unfilled other].freeze

  # Makes the pipes of a plan.
  def self.make_pipes(folder, processes)
    %w[records next].product([*0...processes]) do |name, process|
      path = "#{folder}/#{name}-#{process}"
      File.mkfifo(path) unless File.pipe?(path)
    end
  end

  # Begins to receive the records of all processes, by a thread for each, which stores them in a file.
  def self.receive(folder, phase)
    Dir["#{folder}/records-*"].map do |path|
      process = path[/\d+\z/]
      records, go_on = [path, "#{folder}/next-#{process}"].map { |pipe| File.open(pipe, "r+b") }
      Thread.new do
        parts = "".b
        loop do
          head = records.read(8)
          kind, length = head.unpack("VV")
          parts << head << records.read(length)
          break if kind == 2

          go_on.syswrite("\n")
        end
        File.binwrite("#{folder}/received-#{phase}-#{process}", parts)
      ensure
        [records, go_on].each(&:close)
      end
    end
  end

  # The end of the record in this file, the counts of each of its operations, and its notes. The operations of a process
  # have these names.
  def self.counts(path, names)
    operations = Hash.new { |all, name| all[name] = Hash.new(0) }
    result = { "operations" => operations, "notes" => [] }
    done = 0
    file = File.open(path, "rb")
    while (head = file.read(8))
      kind, length = head.unpack("VV")
      part = file.read(length)
      next result.merge!(JSON.parse(part)) if kind == 2

      outcomes, notes = read_block(part)
      outcomes.each_with_index do |outcome, n|
        name = names[(done + n) % names.length]
        count(operations[name], name, outcome, notes[n])
      end
      done += outcomes.length
      result["notes"].concat(notes.values)
    end
    result
  ensure
    file&.close
  end

  # The outcomes of a block, and by operation its notes: kind, number and bytes.
  def self.read_block(part)
    count, segments, notes = part.unpack("V3")
    at = 16 + 16 * segments + 8 * count
    outcomes = part.unpack("C#{count}", offset: at)
    at += count
    noted = Array.new(notes) do
      n, kind, number, length = part.unpack("V4", offset: at)
      bytes = part.byteslice(at + 16, length)
      at += 16 + length
      [n, [kind, number, bytes]]
    end
    raise "a block of #{part.bytesize} bytes has #{at}" unless at == part.bytesize

    [outcomes.map { |outcome| OUTCOMES.fetch(outcome) }, noted.to_h]
  end

  def self.count(of, name, outcome, note)
    is_right = outcome == "right" || (outcome == "other" && note[0] == 1)
    of["hits"] += 1 if is_right && name.start_with?("get")
    of["succeeded"] += 1 if is_right || outcome == "filled"
    of["wrong"] += 1 if outcome == "other" && !is_right
    of["misses"] += 1 if %w[missed filled unfilled].include?(outcome)
    of["errors"] += 1 if outcome == "failed"
    return unless %w[failed unfilled].include?(outcome)

    of["errors_by_kind"] = {} if of["errors_by_kind"] == 0
    kind = note[2].split("\n", 2).first
    of["errors_by_kind"][kind] = (of["errors_by_kind"][kind] || 0) + 1
  end
  private_class_method :read_block, :count
end
