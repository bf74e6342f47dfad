# frozen_string_literal: true

require_relative "support"

# What a process sends of the operations of a phase.
class PhaseTest < Case
  def test_operations_of_one_kind_may_be_followed_by_others
    made = plan(%w[first second])
    first, second = made.value(0, 50), made.value(1, 50)
    made.phase([[:set, 0, first]])
    made.phase([[:get, 0, first]] * 4096 + [[:set, 1, second], [:get, 1, second]])
    _, (ran,) = guest("hash").run(made)
    assert_equal([4097, 0], counts(ran["operations"]["get"], :hits, :misses))
    assert_equal([1], counts(ran["operations"]["set"], :succeeded))
  end

  def test_each_of_several_processes_prepares_many_operations_at_once
    made = plan(%w[key], processes: 2)
    made.phase([[:set, 0, made.value(0, 50)]] * 150_000, [])
    (ran,) = guest("null").run(made)
    assert_equal([150_000, 0], ran.map { |one| one["operations"]["set"]["succeeded"] })
  end

  def test_of_many_large_values_that_are_wrong_the_beginnings_are_told
    made = plan(%w[key])
    made.phase([[:get, 0, made.value(0, 50)]] * 3)
    guest = guest("hash")
    wrong = "x" * (6 << 20)
    guest.set("key", wrong)
    (ran,), = guest.run(made)
    assert_equal([2, wrong.bytesize] * 3, ran["notes"].flat_map { |note| note.first(2) })
    assert_equal([wrong, wrong, "x" * 64], ran["notes"].map(&:last))
    assert_equal([3], counts(ran["operations"]["get"], :wrong))
  end

  def test_only_the_first_error_of_a_process_is_told_in_words
    need_library("active_support")
    made = plan(%w[large])
    large = made.value(0, 1_200_000)
    made.phase([[:set, 0, large], [:get_or_set, 0, large], [:set, 0, large]])
    (ran,), = guest("memorystore", options: { size: 1 << 20 }).run(made)
    words = "too_large\nkey and value of 1200005 bytes are larger than largest_entry, 786192 bytes"
    assert_equal([words, "too_large", "too_large"], ran["notes"].map(&:last))
    assert_equal([0, 2], counts(ran["operations"]["set"], :succeeded, :errors))
    assert_equal([1, 0], counts(ran["operations"]["get_or_set"], :misses, :errors))
  end
end
