package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/junction-mcp/junction/model"
)

// IDs hands out the ids of calls. Those of some servers are missing, or begin anew
// with every message, or are the same for several calls.
type IDs struct {
	taken map[string]bool
	turn  int
	next  int
}

// NewIDs knows the ids of the conversation.
func NewIDs(req *model.Request) *IDs {
	i := &IDs{taken: map[string]bool{}, turn: len(req.Messages)}
	for m := range req.Messages {
		for _, c := range req.Messages[m].Calls() {
			i.taken[c.ID] = true
		}
	}
	return i
}

// Unique returns the id, or one made from its place in the conversation.
func (i *IDs) Unique(id string) string {
	for id == "" || i.taken[id] {
		id = fmt.Sprintf("call_%d_%d", i.turn, i.next)
		i.next++
	}
	i.taken[id] = true
	return id
}

// ShortID is the id of a call where a provider takes only so many bytes: calls of
// another provider can be in the conversation.
func ShortID(id string, most int) string {
	if len(id) <= most {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
