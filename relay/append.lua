-- Append entries directly after the expected last one: all of them or none.
-- KEYS[1] stream
-- ARGV    expected last ID, relay, published_at, shard, 1: set groups back, and for each entry its ID
--         and the values of its row's fields as in common/event.h, '' for one that is left out
-- Gives {1, last ID, length}, or {0, actual last ID} when nothing was added.
local ROW = {'id', 'source', 'type', 'subject', 'time', 'traceparent', 'data', 'first_position'}
local FIRST, STEP = 6, #ROW + 1
local key, expected = KEYS[1], ARGV[1]

local last = last_id(key)
if last ~= expected then
	return {0, last}
end
local before = expected
for i = FIRST, #ARGV, STEP do
	if not less(before, ARGV[i]) then
		return redis.error_reply('ERR append: ' .. ARGV[i] .. ' does not follow ' .. before)
	end
	before = ARGV[i]
end

-- The first XADD is the first write: when maxmemory refuses it, nothing has happened, and once it is
-- done the others are not refused.
local tail = {'shard', ARGV[4], 'relay', ARGV[2], 'published_at', ARGV[3]}
for i = FIRST, #ARGV, STEP do
	local entry = {key, ARGV[i]}
	for f = 1, #ROW do
		if ARGV[i + f] ~= '' then
			entry[#entry + 1] = ROW[f]
			entry[#entry + 1] = ARGV[i + f]
		end
	end
	for t = 1, #tail do
		entry[#entry + 1] = tail[t]
	end
	redis.call('XADD', unpack(entry))
end

-- A group beyond the end would never be given what was just added.
if ARGV[5] == '1' then
	for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
		if less(last, field(group, 'last-delivered-id')) then
			redis.call('XGROUP', 'SETID', key, field(group, 'name'), last)
		end
	end
end
return {1, before, redis.call('XLEN', key)}
