package answer

import (
	"context"
	"net/url"

	"github.com/junction-mcp/junction/internal/form"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// maxURL is the longest address that is shown, in runes. One that cannot be
// shown whole cannot be consented to.
const maxURL = 2_000

// visit asks a person to visit a web page (client/elicitation, URL mode). The
// page is never opened from here.
func visit(ctx context.Context, person *terminal.Person, server string, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	page, err := url.Parse(req.URL)
	if err != nil || page.Host == "" || page.Scheme != "https" && page.Scheme != "http" || len(req.URL) > maxURL {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "url: expected an https or http address of at most %d bytes", maxURL)
	}
	end, err := person.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	person.Printf("\n%s asks you to visit a web page:\n%s\n\n  %s\n\n  host: %s\n", server, message(req.Message, person.Width()),
		plaintext.Line(req.URL, maxURL), plaintext.Line(page.Hostname(), maxURL))
	for _, warning := range form.Doubts(page) {
		person.Printf("  warning: %s\n", warning)
	}
	word, err := Choose(ctx, person, "Junction does not open it; copy the address. Will you visit it? [y]es, [n]o (decline), [c]ancel > ", "",
		"y|yes", "n|no|d|decline|:decline", "c|cancel|:cancel")
	switch word {
	case "n":
		err = errDeclined
	case "c":
		err = errDismissed
	}
	return result(nil, err)
}
