package gateway

import (
	"context"
	"testing"
)

// TestAListWaitsForNoLaterChange reports a change of the list each time that it is read.
func TestAListWaitsForNoLaterChange(t *testing.T) {
	p := newPending()
	p.add(1)
	p.take()
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(context.WithoutCancel(t.Context()), 1)
	}()
	<-p.hurry // it waits
	p.add(1)
	p.done()
	<-read
}
