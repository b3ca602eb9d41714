package upstream

import "context"

// A callContext has the time of a connection, and in addition the values of a client's request, such as whose it is.
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
