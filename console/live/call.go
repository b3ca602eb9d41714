package live

import "slices"

// A callOf is a call of one process: its id, and the lower half of the call's number. So maps find it fast.
type callOf uint64

func callOfProcess(pid int32, call uint64) callOf {
	return callOf(uint64(uint32(pid))<<32 | call&(1<<32-1))
}

const usualMessages = 6 // of a call over HTTP: with one server, a request, a response and headers on each hop

// A call is what the index has of one call: what all its messages share, though few of them say it.
type call struct {
	client   textsID   // of texts with its client, 0 while none is known
	servers  []textsID // of texts with its servers
	messages []uint64  // their numbers, the oldest first
}

// A recentCall is the last one that was looked for: messages of one call come close to each other.
type recentCall struct {
	key callOf
	*call
}

// find returns a call, or nil.
func (r *Ring) find(key callOf, recent *recentCall) *call {
	if recent.call == nil || recent.key != key {
		*recent = recentCall{key, r.calls[key]}
	}
	return recent.call
}

// callOf returns the call of a message that is added, which may be new; nil where it belongs to none.
func (r *Ring) callOf(e *entry) *call {
	if e.call == 0 {
		return nil
	}
	key := callOfProcess(e.pid, e.call)
	c := r.find(key, &r.joined)
	if c == nil {
		c = &call{messages: make([]uint64, 0, usualMessages)}
		r.calls[key], r.joined.call = c, c
	}
	return c
}

// leads reports whether a call leads to a server.
func (r *Ring) leads(c *call, server string) bool {
	return slices.ContainsFunc(c.servers, func(n textsID) bool { return r.table.of(n).server == server })
}

// leave takes the oldest message out of its call.
func (r *Ring) leave(e *entry) {
	key := callOfProcess(e.pid, e.call)
	c := r.find(key, &r.left)
	if c.messages = c.messages[1:]; len(c.messages) > 0 {
		return
	}
	r.table.release(c.client)
	for _, server := range c.servers {
		r.table.release(server)
	}
	delete(r.calls, key)
	if r.left = (recentCall{}); r.joined.call == c {
		r.joined = recentCall{}
	}
}

// after are the messages of the call behind one, as many as an answer may be away.
func (c *call) after(n uint64) []uint64 {
	i, found := slices.BinarySearch(c.messages, n)
	if found {
		i++
	}
	return c.messages[i:min(i+maxAnswerAway, len(c.messages))]
}
