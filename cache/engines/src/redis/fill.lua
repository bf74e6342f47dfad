-- Stores the last argument, with the option of a TTL before it, if the lease ARGV[1] is in force. Nil where it is not.
-- SET replaces the hash. Where memory is full, SET is refused; a DEL before it would let it pass.
local found = kept()
if not found or found.lease ~= ARGV[1] or now() > found.over then return false end
return redis.call('SET', KEYS[1], ARGV[#ARGV], unpack(ARGV, 2, #ARGV - 1))
