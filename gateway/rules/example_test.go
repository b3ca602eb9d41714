package rules_test

import (
	"context"
	"fmt"
	"log"

	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

func Example() {
	s := mcp.NewServer("files", "1")
	mcp.AddTool(s, "delete", func(_ context.Context, in struct{ Path string }) (string, error) { return "deleted", nil })
	p, err := policy.Compile([]policy.Rule{{Effect: policy.Deny, When: "args.Path.startsWith('/etc')", Reason: "not in /etc"}}, policy.Options{Default: policy.Allow})
	if err != nil {
		log.Fatal(err)
	}
	ruled := rules.Middleware(rules.Options{Policy: func(context.Context) *policy.Policy { return p }})
	result, err := mcp.NewClient(ruled(s)).CallTool(context.Background(), "delete", map[string]string{"Path": "/etc/hosts"})
	fmt.Println(result.Content[0].Text, err)
	// Output: not allowed: not in /etc <nil>
}
