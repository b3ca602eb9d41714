package rules_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// TestClientsDoNotSeeFolders checks that each kind of refusal names its rule, but not the folder of
// its file.
func TestClientsDoNotSeeFolders(t *testing.T) {
	folder := filepath.Join(string(filepath.Separator)+"srv", "private")
	source := filepath.Join(folder, "policy.json:7")
	for _, tt := range []struct {
		name string
		rule policy.Rule
	}{
		{"a tool that is in no list", policy.Rule{Effect: policy.Deny, Tool: "drop"}},
		{"a tool that is in no list, with a reason", policy.Rule{Effect: policy.Deny, Tool: "drop", Reason: "kept"}},
		{"a call that is denied", policy.Rule{Effect: policy.Deny, Tool: "drop", When: "has(args.Path)"}},
		{"a condition that fails", policy.Rule{Effect: policy.Deny, Tool: "drop", When: "args.none == 1"}},
		{"a call that is asked about", policy.Rule{Effect: policy.Ask, Tool: "drop"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rule.Source = source
			u := new(user)
			both(t, rules.Options{Policy: compiled(t, policy.Allow, tt.rule)}, u, func(t *testing.T, c *mcp.Client, prefix string, calls *atomic.Int32) {
				result, err := c.CallTool(t.Context(), prefix+"drop", map[string]any{"Path": "x"})
				text := strings.Join(u.asked, "\n")
				switch {
				case err != nil:
					text += err.Error()
				case result.IsError:
					text += result.Content[0].Text
				default:
					t.Error("the call is allowed")
				}
				if strings.Contains(text, folder) || !strings.Contains(text, "(policy.json:7)") && tt.rule.Reason == "" {
					t.Errorf("the client sees %q", text)
				}
			})
		})
	}
}
