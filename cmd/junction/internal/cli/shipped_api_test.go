package cli_test

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

func TestOmittedOperationsAreBounded(t *testing.T) {
	tail := new(cli.StderrTail)
	for range cli.MaxOmitted + 5 {
		tail.AddOmitted(`junction: warning: openapi: an operation is not offered as a tool document=x error="GET /x: a \"b\""`)
	}
	tail.AddOmitted("openapi: an operation is not offered as a tool error=forged")
	if all := tail.OmittedOperations(); len(all) != cli.MaxOmitted || all[0] != `GET /x: a "b"` {
		t.Errorf("%d kept, the first is %s", len(all), all[0])
	}
}
