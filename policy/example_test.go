package policy_test

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/policy"
)

func Example() {
	file, err := policy.Parse("policy.json", []byte(`{
		"rules": [
			// Within my project files may be written.
			{"name": "project", "effect": "allow", "server": "files", "tool": "write_file", "when": "under(args.path, '/home/ada/project')"},
			{"name": "careful", "effect": "ask", "server": "files", "when": "annotations.idempotent"},
			{"name": "no shell", "effect": "deny", "tool": "*shell*", "reason": "commands run in a terminal"},
		],
	}`), policy.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := policy.Compile(file.Rules, policy.Options{Default: file.Default, DefaultSource: file.DefaultSource})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range []policy.Input{
		{Server: "files", Tool: "write_file", Arguments: []byte(`{"path": "/home/ada/project/notes.txt"}`)},
		{Server: "files", Tool: "write_file", Arguments: []byte(`{"path": "/home/ada/project/../.bashrc"}`)},
		{Server: "system", Tool: "run_shell"},
	} {
		d := p.Decide(context.Background(), in)
		fmt.Printf("%s by %s\n", d.Effect, d.Rule)
	}
	fmt.Println("hidden:", p.Hides("system", "run_shell", policy.Annotations{}))
	// Output:
	// allow by "project" (policy.json:4)
	// ask by "default" (built-in)
	// deny by "no shell" (policy.json:6)
	// hidden: true
}

func ExampleSuggest() {
	in := policy.Input{Server: "files", Tool: "write_file", Arguments: []byte(`{"path": "/home/ada/notes.txt", "text": "hi"}`)}
	for _, scope := range []policy.Scope{
		{Reach: policy.ThisTool},
		{Under: map[string]string{"path": "/home/ada"}, Free: []string{"text"}},
		{Reach: policy.ThisServer, Effect: policy.Deny},
	} {
		rule, err := policy.Suggest(in, scope)
		fmt.Println(&rule, err)
	}
	// Output:
	// allow tool "write_file" of server "files" <nil>
	// allow tool "write_file" of server "files" when under(args.path, "/home/ada") && args.all(name, name in ["path", "text"]) <nil>
	// deny tool "*" of server "files" <nil>
}
