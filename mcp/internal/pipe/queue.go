package pipe

import (
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A queue holds messages that wait, in the order in which they came.
type queue struct {
	waiting []queued
	bytes   int
}

type queued struct {
	message *jsonrpc.Message
	size    int
}

func (q *queue) len() int { return len(q.waiting) }

// fits reports whether there is room for a message of this size.
func (q *queue) fits(size int) bool {
	return len(q.waiting) == 0 || len(q.waiting) < maxQueued && q.bytes+size <= maxQueuedBytes
}

func (q *queue) push(m *jsonrpc.Message, size int) {
	q.waiting = append(q.waiting, queued{m, size})
	q.bytes += size
}

// pop takes the oldest message, or nil.
func (q *queue) pop() *jsonrpc.Message {
	if len(q.waiting) == 0 {
		return nil
	}
	first := q.waiting[0]
	q.waiting[0] = queued{}
	if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	q.bytes -= first.size
	return first.message
}

// dropNotification makes room by the oldest notification, if there is one.
func (q *queue) dropNotification() bool {
	i := slices.IndexFunc(q.waiting, func(w queued) bool { return w.message.Kind == jsonrpc.Notification })
	if i < 0 {
		return false
	}
	q.bytes -= q.waiting[i].size
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}
