package httplink

import "context"

// Within returns a context that ends with that of a link, which has no values, and has the values
// of the caller's.
func Within(link, caller context.Context) context.Context { return &linkContext{link, caller} }

type linkContext struct {
	context.Context // of the link
	caller          context.Context
}

// Value implements [context.Context]. The link's value comes first: package context finds the
// parent to cancel this way.
func (c *linkContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.caller.Value(key)
}
