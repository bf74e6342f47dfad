package Larder::Room;

# How a cache that keeps its values in rooms of equal size, pages or buckets of a file, is laid out where nobody said.
# Keys do not spread evenly, so a room takes several of the largest values.

use v5.36;

use Larder::Failure ();

use constant {
    SIZE_BYTES     => 64 * 1024 * 1024,
    VALUES_IN_ROOM => 8,
};

# How much all rooms together hold.
sub all_bytes ($order) { return $order->{options}{size} // $order->{room_bytes} // SIZE_BYTES }

# How much one needs, with so much before it and before each value.
sub needed_bytes ($order, $before_room, $before_value) {
    return $before_room + VALUES_IN_ROOM * (($order->{largest_bytes} // 0) + $before_value);
}

# Why a value was not taken: what there is room for, in words.
sub too_large ($key, $value, $room) {
    my $bytes = length($key) + length $value;
    return Larder::Failure->new(too_large => "key and value of $bytes bytes do not fit into $room");
}

1;
