package up

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// IssuerSuffix is the end of the name of the header with the issuer of a user. Its beginning is the
// userHeader of the entry.
const IssuerSuffix = "-Issuer"

// A user identifies the caller for whom a connection sends requests.
type user struct{ issuer, subject string }

// userOf returns the user of a request to a server with a userHeader.
func userOf(_ context.Context, req *mcp.Request) (any, error) {
	if req.Principal == nil {
		return nil, errors.New("the server gets the name of its user, and this caller has none: authenticate callers (junction up --auth)")
	}
	return user{req.Principal.Issuer, req.Principal.Subject}, nil
}

// Target returns the target of a connection to a server, as [launch.Launcher.Target] does. If the
// entry has a userHeader, requests name the user of the connection. Those of the gateway itself,
// which read the lists, name none.
func (s Source) Target(ctx context.Context, e launch.Entry, start *gateway.Start) (launch.Target, error) {
	of, is := start.Whose().(user)
	if !is {
		return s.Launcher.Target(ctx, e)
	}
	return s.Launcher.TargetWith(ctx, e, func(resolved *config.Server, header http.Header) (*http.Client, error) {
		header.Set(e.Definition.UserHeader, headerText(of.subject))
		header.Set(e.Definition.UserHeader+IssuerSuffix, headerText(of.issuer))
		return s.Launcher.AuthorizedAs(resolved, header)
	})
}

// headerText returns a text as the value of a header. Bytes that a header cannot have, spaces and the
// percent sign are percent-encoded, so that different texts have different values.
func headerText(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
