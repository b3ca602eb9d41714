package up

import (
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// HintStdio tells a person what a silent terminal waits for.
func HintStdio(a *cli.App, f Front) {
	if f.Stdio && a.Person != nil {
		a.Screen.Printf("Serving on standard input and output, for a client to start; --http 127.0.0.1:7717 serves at an address.\n")
	}
}
