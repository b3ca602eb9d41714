package valkey

import "github.com/redis/rueidis"

// A script gets the names of all its keys, so that a Cluster can refuse it while it moves the hash slot
// key by key (TRYAGAIN), and executes it where all of them are. They begin with the base of their group,
// such as "{junction/tasks}", so they are in one slot:
//
//	BASE:clock      the last version, token or position
//	BASE:v:KEY      16 hexadecimal digits of the version, and the value
//	BASE:index      the keys of values, in a sorted set
//	BASE:expiry     the keys of values that expire, by their time in milliseconds
//	BASE:l:NAME     the token of a lease
//	BASE:s:KEY      a log: a stream with position-0 as id; v is the value, p the position before it,
//	                b the bytes of all values so far
//	BASE:p:KEY      the last position of a log, and its bytes so far
//
// The server removes what has expired; sweep removes its traces in index and expiry. The keys of values
// that list and sweep find are not among the names that the scripts get. While the slot moves, list fails
// if one of them is elsewhere, and sweep leaves it alone.
//
// The last argument is the base. The others are described with each script.
const common = `
local base = ARGV[#ARGV]
local function tick()
	local now = redis.call('TIME')
	local n = now[1] * 1000000 + now[2]
	local last = tonumber(redis.call('GET', base .. ':clock') or '0')
	if n <= last then n = last + 1 end
	redis.call('SET', base .. ':clock', string.format('%.0f', n), 'EX', 604800)
	return n
end
local function lost(name, token)
	return name ~= '' and redis.call('GET', base .. ':l:' .. name) ~= token
end
local function sweep()
	local now = redis.call('TIME')
	local ms = now[1] * 1000 + math.floor(now[2] / 1000)
	local old = redis.call('ZRANGEBYSCORE', base .. ':expiry', '-inf', ms, 'LIMIT', 0, 20)
	for _, key in ipairs(old) do
		if redis.pcall('EXISTS', base .. ':v:' .. key) == 0 then
			redis.call('ZREM', base .. ':index', key)
			redis.call('ZREM', base .. ':expiry', key)
		end
	end
end
`

// Replies of scripts that are not a number.
const (
	replyLost     = "lost"
	replyConflict = "conflict"
	replyHeld     = "held"
	replyTrimmed  = "trimmed"
)

var (
	// putScript has the arguments key, value, TTL in milliseconds or 0, lease, token, and the old
	// version or "any".
	putScript = rueidis.NewLuaScript(common + `
local key, value, ttl, old = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[6]
if lost(ARGV[4], ARGV[5]) then return 'lost' end
if old ~= 'any' and redis.call('GETRANGE', base .. ':v:' .. key, 0, 15) ~= old then return 'conflict' end
local version = string.format('%016x', tick())
if ttl > 0 then
	redis.call('SET', base .. ':v:' .. key, version .. value, 'PX', ttl)
	local now = redis.call('TIME')
	redis.call('ZADD', base .. ':expiry', now[1] * 1000 + math.floor(now[2] / 1000) + ttl, key)
else
	redis.call('SET', base .. ':v:' .. key, version .. value)
	redis.call('ZREM', base .. ':expiry', key)
end
redis.call('ZADD', base .. ':index', 0, key)
sweep()
return version
`)
	// deleteScript has the arguments key, lease and token.
	deleteScript = rueidis.NewLuaScript(common + `
if lost(ARGV[2], ARGV[3]) then return 'lost' end
redis.call('DEL', base .. ':v:' .. ARGV[1])
redis.call('ZREM', base .. ':index', ARGV[1])
redis.call('ZREM', base .. ':expiry', ARGV[1])
return 'ok'
`)
	// listScript has the arguments start and end of the keys as ZRANGE BYLEX has them, the largest
	// number of entries and of their bytes. It replies with the last key that it has seen, or "" at
	// the end, and then keys and values.
	listScript = rueidis.NewLuaScript(common + `
local limit, room = tonumber(ARGV[3]), tonumber(ARGV[4])
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local keys = redis.call('ZRANGE', base .. ':index', ARGV[1], ARGV[2], 'BYLEX', 'LIMIT', 0, limit)
local reply = {''}
for i, key in ipairs(keys) do
	local value = redis.call('GET', base .. ':v:' .. key)
	if value then
		reply[#reply + 1] = key
		reply[#reply + 1] = value
		room = room - #value
	else
		local expiry = tonumber(redis.call('ZSCORE', base .. ':expiry', key) or 'inf')
		if expiry > ms + 1 then return redis.error_reply('TRYAGAIN the value of a listed key is elsewhere') end
	end
	if i == limit or room <= 0 then
		reply[1] = key
		break
	end
end
return reply
`)
	// acquireScript has the arguments name and TTL in milliseconds.
	acquireScript = rueidis.NewLuaScript(common + `
local lease = base .. ':l:' .. ARGV[1]
if redis.call('EXISTS', lease) == 1 then return 'held' end
local token = string.format('%.0f', tick())
redis.call('SET', lease, token, 'PX', ARGV[2])
return token
`)
	// renewScript has the arguments name, token and TTL in milliseconds.
	renewScript = rueidis.NewLuaScript(common + `
if lost(ARGV[1], ARGV[2]) then return 'lost' end
redis.call('PEXPIRE', base .. ':l:' .. ARGV[1], ARGV[3])
return 'ok'
`)
	// releaseScript has the arguments name and token.
	releaseScript = rueidis.NewLuaScript(common + `
if not lost(ARGV[1], ARGV[2]) then redis.call('DEL', base .. ':l:' .. ARGV[1]) end
return 'ok'
`)
	// appendScript has the arguments key, value, TTL in milliseconds or 0, lease and token.
	appendScript = rueidis.NewLuaScript(common + `
local stream, head, ttl = base .. ':s:' .. ARGV[1], base .. ':p:' .. ARGV[1], tonumber(ARGV[3])
if lost(ARGV[4], ARGV[5]) then return 'lost' end
local position = string.format('%.0f', tick())
local before, bytes = string.format('%.0f', position - 1), 0
local last = redis.call('GET', head)
if last then
	local p, b = string.match(last, '(%d+) (%d+)')
	before, bytes = p, tonumber(b)
	if tonumber(position) <= tonumber(p) then position = string.format('%.0f', p + 1) end
else
	redis.call('DEL', stream)
end
bytes = string.format('%.0f', bytes + #ARGV[2])
redis.call('XADD', stream, position .. '-0', 'v', ARGV[2], 'p', before, 'b', bytes)
if ttl > 0 then
	redis.call('SET', head, position .. ' ' .. bytes, 'PX', ttl)
	redis.call('PEXPIRE', stream, ttl)
else
	redis.call('SET', head, position .. ' ' .. bytes)
	redis.call('PERSIST', stream)
end
return position
`)
	// readScript has the arguments key, position, and the largest number of records and of their
	// bytes. It replies with positions and values.
	readScript = rueidis.NewLuaScript(common + `
local stream, after, limit, room = base .. ':s:' .. ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local last = redis.call('GET', base .. ':p:' .. ARGV[1])
if not last then
	if after ~= '0' then return 'trimmed' end
	return {}
end
local reply, from = {}, '(' .. after .. '-0'
if limit == 0 then return reply end
repeat
	local next = redis.call('XRANGE', stream, from, '+', 'COUNT', 1)[1]
	if not next then break end
	local position, value, before = string.match(next[1], '%d+'), next[2][2], next[2][4]
	if #reply == 0 and after ~= '0' and tonumber(before) > tonumber(after) then return 'trimmed' end
	reply[#reply + 1] = position
	reply[#reply + 1] = value
	room = room - #value
	from = '(' .. next[1]
until #reply == 2 * limit or room <= 0
if #reply == 0 and after ~= '0' and tonumber(string.match(last, '%d+')) > tonumber(after) then return 'trimmed' end
return reply
`)
	// trimScript has the arguments key, count, bytes, age in microseconds, lease and token.
	trimScript = rueidis.NewLuaScript(common + `
local stream, head = base .. ':s:' .. ARGV[1], base .. ':p:' .. ARGV[1]
local count, bytes, age = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if lost(ARGV[5], ARGV[6]) then return 'lost' end
local last = redis.call('GET', head)
if count < 0 or not last then
	redis.call('DEL', stream, head)
	return 'ok'
end
if count > 0 then redis.call('XTRIM', stream, 'MAXLEN', count) end
if age > 0 then
	local now = redis.call('TIME')
	redis.call('XTRIM', stream, 'MINID', string.format('%.0f', now[1] * 1000000 + now[2] - age + 1))
end
if bytes > 0 then
	local all = tonumber(string.match(last, '%d+ (%d+)'))
	repeat
		local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
		if not first or all - (tonumber(first[2][6]) - #first[2][2]) <= bytes then break end
		redis.call('XDEL', stream, first[1])
	until false
end
return 'ok'
`)
)
