-- Ends the TTL of an existing entry; 0 where there is none. PERSIST alone also says 0 for a key without a TTL, and
-- would leave the lease of an absent key behind for ever.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local found = kept()
if found and not found.value then return 0 end
redis.call('PERSIST', KEYS[1])
return 1
