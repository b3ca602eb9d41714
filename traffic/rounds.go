package traffic

import (
	"bytes"
	"hash/maphash"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxRounds is how many calls are remembered that may have another round; of one that is forgotten the next round has a
// number of its own.
const maxRounds = 4_096

// rounds know which call the next round belongs to, by the state that a modern client brings back.
type rounds struct {
	mu     sync.Mutex
	seed   maphash.Seed
	calls  map[uint64]uint64 // by the hash of the state
	hashes [maxRounds]uint64 // in the order in which they came
	next   int
}

// add remembers the state of a response that asks for another round.
func (r *rounds) add(response []byte, call uint64) {
	if !bytes.Contains(response, []byte(`"input_required"`)) {
		return
	}
	state, is := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(response, "result"), "requestState"))
	if !is {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.seed, r.calls = maphash.MakeSeed(), map[uint64]uint64{}
	}
	hash := maphash.String(r.seed, state)
	delete(r.calls, r.hashes[r.next])
	r.hashes[r.next], r.calls[hash] = hash, call
	r.next = (r.next + 1) % maxRounds
}

// call is the number of the call that a request goes on with; 0 for a new one.
func (r *rounds) call(request []byte) uint64 {
	if !bytes.Contains(request, []byte(`"requestState"`)) {
		return 0
	}
	state, is := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(request, "params"), "requestState"))
	if !is {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		return 0
	}
	return r.calls[maphash.String(r.seed, state)]
}
