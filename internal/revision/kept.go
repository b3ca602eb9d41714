package revision

import (
	"encoding/json"
	"sync"
)

// Kept holds the own members of a result for many clients, such as a list, with their forms for
// older revisions. A form is made once, when it is first needed, from the members alone, and is
// freed with them. A Kept must not be copied.
type Kept struct {
	JSON   json.RawMessage // must not be changed
	method string
	forms  [len(table) - 1]struct {
		once sync.Once
		json []byte // JSON itself, or that of the next revision, if nothing had to be removed
	}
}

// Keep returns the members of a result of a method as a Kept.
func Keep(method string, members json.RawMessage) *Kept { return &Kept{JSON: members, method: method} }

// Holds reports whether members are those of k, in the same memory.
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
	f := &k.forms[i]
	f.once.Do(func() { f.json = table[i+1].without(k.formAt(i+1), k.method) })
	return f.json
}
