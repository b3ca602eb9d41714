package secrets_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway/secrets"
	"github.com/junction-mcp/junction/mcp"
)

// token looks like one of GitHub.
func token() string { return "ghp_" + strings.Repeat("a1B2", 9) }

func posting() *mcp.Server {
	s := mcp.NewServer("board", "1")
	mcp.AddTool(s, "post", func(_ context.Context, in struct{ Text string }) (string, error) { return "posted " + in.Text, nil })
	mcp.AddTool(s, "config", func(context.Context, struct{}) (string, error) { return "TOKEN=" + token(), nil })
	return s
}

func Example() {
	h := secrets.Middleware(secrets.Options{Arguments: true, Results: true})(posting())
	_, err := mcp.Call[string](context.Background(), mcp.NewClient(h), "post", map[string]any{"Text": "my token is " + token()})
	fmt.Println(strings.Contains(err.Error(), "the arguments hold a secret"))
	// Output: true
}

func TestSecretsAreLetThroughAsTheOptionsSay(t *testing.T) {
	for _, test := range []struct {
		options secrets.Options
		tool    string
		text    string
		want    string // in the result or in the error
		refused bool
	}{
		{secrets.Options{Arguments: true, Results: true}, "post", "hello", "posted hello", false},
		{secrets.Options{Arguments: true}, "post", token(), "not sent: the arguments hold a secret", true},
		{secrets.Options{Results: true}, "config", "", "withheld: the result holds a secret", true},
		{secrets.Options{Arguments: true}, "config", "", token(), false},
		{secrets.Options{}, "post", token(), token(), false},
	} {
		var arguments any
		if test.text != "" {
			arguments = map[string]any{"Text": test.text}
		}
		got, err := mcp.Call[string](t.Context(), mcp.NewClient(secrets.Middleware(test.options)(posting())), test.tool, arguments)
		if err != nil {
			got = err.Error()
		}
		if (err != nil) != test.refused || !strings.Contains(got, test.want) {
			t.Errorf("%+v %s: got %q, %v", test.options, test.tool, got, err)
		}
		if test.refused && strings.Contains(got, token()) {
			t.Errorf("the error repeats the secret: %s", got)
		}
	}
}
