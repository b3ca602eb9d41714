package httplink

import "context"

// Within returns a context that ends with the context link, which must have no values, and that has
// the values of the context caller.
func Within(link, caller context.Context) context.Context { return &linkContext{link, caller} }

type linkContext struct {
	context.Context // of the link
	caller          context.Context
}

// Value implements [context.Context]. The value of link takes precedence, as package context finds
// the parent to cancel by a value.
func (c *linkContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.caller.Value(key)
}
