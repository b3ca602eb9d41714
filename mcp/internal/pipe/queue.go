package pipe

import (
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A queue contains waiting messages in the order of their arrival.
type queue struct {
	waiting []queued
	bytes   int
}

// A queued is a message for Receive. If call is not nil, it is the response to that call, which
// must not overtake earlier messages of the server.
type queued struct {
	message *jsonrpc.Message
	size    int
	call    *Call
}

func (q *queue) len() int { return len(q.waiting) }

// fits reports whether there is room for a message of this size.
func (q *queue) fits(size int) bool {
	return len(q.waiting) == 0 || len(q.waiting) < maxQueued && q.bytes+size <= maxQueuedBytes
}

func (q *queue) push(w queued) {
	q.waiting = append(q.waiting, w)
	q.bytes += w.size
}

// pop removes and returns the oldest entry. It reports false if the queue is empty.
func (q *queue) pop() (queued, bool) {
	if len(q.waiting) == 0 {
		return queued{}, false
	}
	first := q.waiting[0]
	q.waiting[0] = queued{}
	if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	q.bytes -= first.size
	return first, true
}

// dropNotification removes the oldest notification, and reports whether there was one.
func (q *queue) dropNotification() bool {
	i := slices.IndexFunc(q.waiting, func(w queued) bool { return w.call == nil && w.message.Kind == jsonrpc.Notification })
	if i < 0 {
		return false
	}
	q.bytes -= q.waiting[i].size
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}
