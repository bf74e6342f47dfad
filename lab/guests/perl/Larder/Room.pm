package Larder::Room;

# The default layout of a cache that keeps its values in rooms of equal size: pages or buckets of a file. Keys do not
# spread evenly, so a room takes several of the largest values.

use v5.36;

use Larder::Failure ();

use constant {
    SIZE_BYTES     => 64 * 1024 * 1024,
    VALUES_IN_ROOM => 8,
};

# The bytes that all rooms together hold.
sub all_bytes ($order) { return $order->{options}{size} // $order->{room_bytes} // SIZE_BYTES }

# The bytes that one room needs, with `$before_room` bytes before it and `$before_value` bytes before each value.
sub needed_bytes ($order, $before_room, $before_value) {
    return $before_room + VALUES_IN_ROOM * (($order->{largest_bytes} // 0) + $before_value);
}

# The failure of a value that is too large; `$room` describes the room in words.
sub too_large ($key, $value, $room) {
    my $bytes = length($key) + length $value;
    return Larder::Failure->new(too_large => "key and value of $bytes bytes do not fit into $room");
}

1;
