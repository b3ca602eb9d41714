package revision

import (
	"encoding/json"
	"sync"
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
