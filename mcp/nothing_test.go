package mcp_test

import (
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestNilArgumentsPanicWithTheirNames(t *testing.T) {
	for _, test := range []struct {
		want string
		call func()
	}{
		{"mcp: NewClient: the handler h is nil", func() { mcp.NewClient(nil) }},
		{"mcp: Dial: the transport t is nil", func() { mcp.Dial(t.Context(), nil) }},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("got %v, want %s", got, test.want)
				}
			}()
			test.call()
		}()
	}
}
