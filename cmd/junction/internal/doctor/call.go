package doctor

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// authorizedBy describes how the requests to a server with a URL are authorized.
func authorizedBy(ctx context.Context, a *cli.App, s *config.Server) string {
	if HasAuthorization(s.Headers) {
		return "by the Authorization header of its entry"
	}
	if tokens, err := a.Launch.Tokens(launch.OAuthOf(s), nil, nil); err == nil {
		if l, err := tokens.LoginOf(ctx, s.URL); err == nil {
			return "by a login: " + account.DescribeLogin(l, time.Now())
		}
	}
	if len(s.Headers) > 0 {
		return "by the headers of its entry, or not required"
	}
	return "not required"
}

// IsHarmless reports whether a tool can be called as a test. It must be read-only, must not access
// other systems, and must need no arguments.
func IsHarmless(t *mcp.Tool) bool {
	a := t.Annotations
	if !t.Annotations.ReadsOnly() || a.OpenWorldHint == nil || *a.OpenWorldHint || tellsSecrets.MatchString(wordsOf(t.Name)+" "+t.Title+" "+t.Description) {
		return false
	}
	return !reach.NeedsArguments(t)
}

// tellsSecrets matches descriptions of tools that may return secrets, which doctor must not call.
var tellsSecrets = regexp.MustCompile(`(?i)\b(env|envs|environ|environments?|secrets?|tokens?|credentials?|passwords?|api ?keys?|private keys?)\b`)

// wordsOf returns a name with spaces between its words.
func wordsOf(name string) string {
	return strings.NewReplacer("_", " ", "-", " ", ".", " ", "/", " ").Replace(wordEnds.ReplaceAllString(name, "$1 $2"))
}

// wordEnds matches the boundary between two words in camel case.
var wordEnds = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// parameters returns the number of a tool's parameters.
func parameters(t *mcp.Tool) (n int) {
	jsonrpc.EachMember(jsonrpc.Get(t.InputSchema, "properties"), func(_, _ []byte) bool { n++; return true })
	return n
}

// callHarmless calls the harmless tool with the fewest parameters.
func callHarmless(ctx context.Context, client *mcp.Client, tools []mcp.Tool, server string, p *Report) {
	if len(tools) == 0 {
		p.skipped("call", "no tool is safe to try: read-only, without outside access, and without arguments")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reach.CheckTimeout)
	defer cancel()
	least := slices.MinFunc(tools, func(a, b mcp.Tool) int { return cmp.Compare(parameters(&a), parameters(&b)) })
	name, began := least.Name, time.Now()
	result, err := client.CallTool(ctx, name, map[string]any{})
	remedy := "see the details: junction call " + plaintext.ShellWord(server) + " " + plaintext.ShellWord(name) + " -v"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.Fail("call", name+" did not answer within "+reach.CheckTimeout.String(), remedy)
	case err != nil:
		p.Fail("call", name+": "+err.Error(), remedy)
	case result.IsError:
		p.Fail("call", name+" failed: "+result.Text(), remedy)
	default:
		p.Pass("call", "%s, in %v", name, time.Since(began).Round(10*time.Microsecond))
	}
}
