package httplink

import (
	"errors"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A request that has arrived and is given up long afterwards is known to have arrived.
func TestArrivedRequestsAreReported(t *testing.T) {
	e, err := New("http://a.example/mcp", Options{})
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan struct{})
	close(arrived)
	late := 0
	for range 1_000 {
		if errors.Is(e.AwaitArrival(errors.New("given up"), 10, arrived, -time.Second), link.ErrMayArrive) {
			late++
		}
	}
	if late > 0 {
		t.Errorf("of 1000 requests that had arrived %d may still arrive", late)
	}
}
