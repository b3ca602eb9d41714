package secrets_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway/secrets"
	"github.com/junction-mcp/junction/mcp"
)

// token returns a text in the form of a token of GitHub.
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
	fmt.Println(strings.Contains(err.Error(), "the arguments have a secret"))
	// Output: true
}

func TestSecretsAreLetThroughAsTheOptionsSay(t *testing.T) {
	for _, test := range []struct {
		options secrets.Options
		tool    string
		text    string
		want    string // a part of the result or of the error
		refused bool
	}{
		{secrets.Options{Arguments: true, Results: true}, "post", "hello", "posted hello", false},
		{secrets.Options{Arguments: true}, "post", token(), "not sent: the arguments have a secret", true},
		{secrets.Options{Results: true}, "config", "", "withheld: the result has a secret", true},
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

func TestSecretsInLongTextsAreHeldBack(t *testing.T) {
	long := strings.Repeat("an ordinary line\n", 1<<16)
	s := mcp.NewServer("board", "1")
	called := false
	mcp.AddTool(s, "post", func(_ context.Context, in struct{ Text string }) (string, error) {
		called = true
		return in.Text, nil
	})
	for _, test := range []struct {
		options secrets.Options
		want    string
		called  bool
	}{
		{secrets.Options{Arguments: true}, "not sent: the arguments have a secret (GitHub token)", false},
		{secrets.Options{Results: true}, "withheld: the result has a secret (GitHub token)", true},
	} {
		called = false
		_, err := mcp.Call[string](t.Context(), mcp.NewClient(secrets.Middleware(test.options)(s)), "post", map[string]any{"Text": long + token()})
		if err == nil || !strings.Contains(err.Error(), test.want) || called != test.called {
			t.Errorf("%+v: got %v, called %v", test.options, err, called)
		}
	}
	h := secrets.Middleware(secrets.Options{Arguments: true, Results: true})(s)
	if got, err := mcp.Call[string](t.Context(), mcp.NewClient(h), "post", map[string]any{"Text": long}); err != nil || got != long {
		t.Errorf("without a secret %d bytes came back, %v", len(got), err)
	}
}

func TestProgressTokensAreNotSecrets(t *testing.T) {
	const params = `{"name":"config","_meta":{"progressToken":"3f6c1d2e-9b7a-4c58-8e21-0d9f6a7b5c43"}}`
	h := secrets.Middleware(secrets.Options{Arguments: true})(posting())
	result, err := h.Handle(t.Context(), mcp.NewRequest("tools/call", []byte(params)))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := result.Encoded(); err != nil || !strings.Contains(string(body), token()) {
		t.Errorf("got %s, %v", body, err)
	}
}
