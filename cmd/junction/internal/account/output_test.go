package account_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// A value of which help does not have the fields is not written.
func TestOnlyListedVariablesAreWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &cli.App{IO: cli.IO{Stdout: &out}}
	a.Flags.Written = []any{account.SecretsShown{}}
	if err := a.PrintJSON(account.LoginsShown{}); err == nil || out.Len() > 0 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	if err := a.PrintJSON(account.SecretsShown{Secrets: []string{"a"}}); err != nil || out.String() != `{"secrets":["a"]}`+"\n" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}
