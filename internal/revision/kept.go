package revision

import (
	"encoding/json"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Kept contains the own members of a result that is sent to many clients, such as a list, and their
// forms in older revisions. Each form is computed when it is first needed, and only from these
// members. A Kept must not be copied.
type Kept struct {
	JSON  json.RawMessage // must not be changed
	forms [len(table) - 1]func() []byte
}

// Keep returns a Kept with the own members of a result of a method. If the members need no change
// for a revision, its form is the form of the next revision. If a lowering panics, it panics again
// for each client.
func Keep(method string, members json.RawMessage) *Kept {
	k := &Kept{JSON: members}
	for i := range k.forms {
		k.forms[i] = sync.OnceValue(func() []byte { return table[i+1].without(k.formAt(i+1), method) })
	}
	return k
}

// KeepCall is [Keep] for the result of a tool with the indexed members. If their structured content
// shows that the newest legacy form is the same, no form has to be looked for in a long result.
func KeepCall(result json.RawMessage, members *jsonrpc.Members) *Kept {
	k := Keep("tools/call", result)
	if value := members.Get("structuredContent"); value == nil || isObject(value) {
		k.forms[len(k.forms)-1] = func() []byte { return result }
	}
	return k
}

// Holds reports whether members are the members of k, in the same memory.
func (k *Kept) Holds(members json.RawMessage) bool {
	return len(members) == len(k.JSON) && (len(members) == 0 || &members[0] == &k.JSON[0])
}

// form returns the members in the form of the revision.
func (k *Kept) form(r *Revision) []byte {
	i := len(table) - 1
	for &table[i] != r {
		i--
	}
	return k.formAt(i)
}

func (k *Kept) formAt(i int) []byte {
	if i == len(k.forms) {
		return k.JSON
	}
	return k.forms[i]()
}
