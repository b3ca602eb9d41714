package upstream

import "context"

// A callContext ends with a connection. It also has the values of a client's request, such as its
// principal.
type callContext struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
