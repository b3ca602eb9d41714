package httplink

import (
	"context"
	"errors"
	"testing"
)

func TestWithinEndsWithTheLinkAndHasTheValuesOfTheCaller(t *testing.T) {
	type key struct{}
	over := errors.New("the link is over")
	link, end := context.WithCancelCause(context.Background())
	caller, giveUp := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	ctx, cancel := context.WithCancelCause(Within(link, caller))
	defer cancel(nil)
	giveUp()
	if ctx.Err() != nil || ctx.Value(key{}) != "value" {
		t.Errorf("the caller gave up: %v, and the value is %v", ctx.Err(), ctx.Value(key{}))
	}
	end(over)
	if <-ctx.Done(); context.Cause(ctx) != over {
		t.Errorf("it ended with %v", context.Cause(ctx))
	}
}
