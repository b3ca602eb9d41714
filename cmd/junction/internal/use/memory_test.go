package use_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/launch"
)

func TestOneThatIsConnectedAnswers(t *testing.T) {
	a := &cli.App{Place: clitest.PlaceOf(t)}
	s := use.ListedServer{Entry: launch.Entry{Name: "slow"}, Listing: use.Listing{Err: fmt.Errorf("server %q: tools/list: %w", "slow", context.DeadlineExceeded)}}
	if got := use.FailureLine(a, s); got != `server "slow": tools/list: no response in time` {
		t.Error(got)
	}
	if s.IsSilent() {
		t.Error("it answered")
	}
	s.Listing.Err = &cli.ConnectError{Cause: s.Listing.Err}
	if !s.IsSilent() {
		t.Error("it did not answer")
	}
}
