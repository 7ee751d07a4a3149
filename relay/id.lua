-- Put in front of the scripts that compare stream IDs: two decimal numbers of up to 64 bits, which a
-- Lua number cannot hold.
local function less(a, b)
	if #a == #b and string.find(a, '-', 1, true) == string.find(b, '-', 1, true) then
		return a < b -- digit by digit
	end
	local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
	local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
	if a_ms == b_ms then
		a_ms, b_ms = a_seq, b_seq
	end
	if #a_ms ~= #b_ms then
		return #a_ms < #b_ms
	end
	return a_ms < b_ms
end

-- The value after a name in a flat reply of XINFO: fields move between versions.
local function field(reply, name)
	for i = 1, #reply, 2 do
		if reply[i] == name then
			return reply[i + 1]
		end
	end
end

local function last_id(key)
	if redis.call('EXISTS', key) == 0 then
		return '0-0'
	end
	return field(redis.call('XINFO', 'STREAM', key), 'last-generated-id')
end

