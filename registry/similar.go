package registry

import "context"

// A Likeness is a better known name that another one can be taken for.
type Likeness struct {
	Name string // of the better known one
	Why  string // such as "one letter differs", for people
}

// Similar are the better known servers, and packages of servers, that a name looks like, and is not: by a letter or two, or as
// the same name in another owner's namespace. The name is that of a server, or of a package as its registry has it.
func (m *Mirror) Similar(ctx context.Context, name string) ([]Likeness, error) {
	return nil, nil
}
