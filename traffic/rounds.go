package traffic

import (
	"bytes"
	"hash/maphash"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxRounds is the largest number of stored calls that may have another round. The next round of a
// dropped call gets a new number.
const maxRounds = 4_096

// rounds finds the call that a request continues, by the state that a modern client returns.
type rounds struct {
	mu     sync.Mutex
	seed   maphash.Seed
	calls  map[uint64]uint64 // number of the call, by the hash of the state
	hashes [maxRounds]uint64 // keys of calls, oldest first
	next   int
}

// add stores the state in a response that requests another round.
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

// call returns the number of the call that a request continues, or 0 for a new call.
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
