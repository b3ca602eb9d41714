package rules_test

import (
	"context"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

func TestCompletionsAndSkillsAreDecidedByTheirTarget(t *testing.T) {
	const (
		prompt   = `{"ref":{"type":"ref/prompt","name":"plan"},"argument":{"name":"day","value":"m"}}`
		template = `{"ref":{"type":"ref/resource","uri":"file:///private/{name}"},"argument":{"name":"name","value":"a"}}`
		folder   = `{"uri":"file:///private/skill"}`
	)
	deny := func(when string) policy.Rule { return policy.Rule{Effect: policy.Deny, When: when} }
	for _, test := range []struct {
		name           string
		rule           policy.Rule
		method, params string
		want           string // a part of the error; empty if the request passes
	}{
		{"a prompt that is denied is not completed", deny(`method == "prompts/get"`), "completion/complete", prompt, "not allowed"},
		{"a rule about resources says nothing of it", deny(`method == "resources/read"`), "completion/complete", prompt, ""},
		{"a template that is denied is not completed", deny(`method == "resources/read" && resource.startsWith("file:///private/")`), "completion/complete", template, "not allowed"},
		{"another one is", deny(`method == "resources/read" && resource.startsWith("file:///other/")`), "completion/complete", template, ""},
		{"a rule about completions holds", deny(`method == "completion/complete"`), "completion/complete", template, "not allowed"},
		{"users cannot be asked about a completion", policy.Rule{Effect: policy.Ask, When: `method == "resources/read"`}, "completion/complete", template, "users cannot be asked about completion/complete"},
		{"a skill is a resource", deny(`method == "resources/read" && resource.startsWith("file:///private/")`), "skills/get", folder, "not allowed"},
		{"so is a folder", deny(`resource == "file:///private/skill"`), "resources/directory/read", folder, "not allowed"},
		{"a skill that no rule is about is let through", deny(`resource == "x"`), "skills/get", folder, ""},
		{"the default is for tools", policy.Rule{Effect: policy.Deny, Tool: "x"}, "completion/complete", prompt, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			passed := false
			h := rules.Middleware(rules.Options{Server: "files", Policy: compiled(t, policy.Deny, test.rule)})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
				passed = true
				return mcp.Result{}, nil
			}))
			_, err := h.Handle(t.Context(), mcp.NewRequest(test.method, []byte(test.params)))
			if passed != (test.want == "") || (err == nil) != passed || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("passed: %v, error: %v", passed, err)
			}
		})
	}
}
