-- Ends the lease ARGV[1]; 0 where it is not in force.
local found = kept()
if not found or found.lease ~= ARGV[1] or now() > found.over then return 0 end
if found.value then redis.call('HDEL', KEYS[1], 'l', 'u') else redis.call('DEL', KEYS[1]) end
return 1
