package reach

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/plaintext"
)

func ServerValues(a *cli.App, _ context.Context) (values []string) {
	_, entries, err := ConfiguredServers(a)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		kind := "ships with junction"
		if d := e.Definition; d != nil {
			kind = plaintext.Line(d.Kind.String()+", "+d.Source, 100)
		}
		values = append(values, e.Name+"\t"+kind)
	}
	return values
}
