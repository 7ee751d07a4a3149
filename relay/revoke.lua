-- Take an answer back: what it answered is asked again.
-- KEYS[1] the hash of requests  ARGV consumer, the answer, what it answered
if redis.call('HGET', KEYS[1], 'answer:' .. ARGV[1]) ~= ARGV[2] then
	return 0
end
if not redis.call('HGET', KEYS[1], 'ask:' .. ARGV[1]) then
	redis.call('HSET', KEYS[1], 'ask:' .. ARGV[1], ARGV[3])
end
redis.call('HDEL', KEYS[1], 'answer:' .. ARGV[1])
return 1
