package docs_test

import (
	"flag"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/fields/fieldstest"
	"github.com/junction-mcp/junction/traffic"
)

var update = flag.Bool("update", false, "write the tables of fields")

func TestPagesHaveTheFieldsOfLinesAndMessages(t *testing.T) {
	fieldstest.Page(t, "gateway.md", "| member of a line | is |", fields.Of[audit.Record]().Markdown(), *update)
	fieldstest.Page(t, "gateway.md", "| flag | chooses |", fields.ParamsOf[audit.Filter]().Markdown("--"), *update)
	fieldstest.Page(t, "gateway.md", "| event | is | members of its line |", audit.EventsMarkdown(), *update)
	fieldstest.Page(t, "cli.md", "| member of an object of `--json` | is |", fields.Of[traffic.Event]().Markdown(), *update)
}
