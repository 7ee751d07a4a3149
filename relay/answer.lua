-- Answer a consumer's request for a replay, if it still asks for the same.
-- KEYS[1] the hash of requests  ARGV consumer, what it asked, the answer
if redis.call('HGET', KEYS[1], 'ask:' .. ARGV[1]) ~= ARGV[2] then
	return 0
end
redis.call('HSET', KEYS[1], 'answer:' .. ARGV[1], ARGV[3])
redis.call('HDEL', KEYS[1], 'ask:' .. ARGV[1])
return 1
