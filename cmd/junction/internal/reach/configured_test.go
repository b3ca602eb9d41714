package reach_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/launch"
)

func TestConsent(t *testing.T) {
	const file = `{"mcpServers":{"every":{"command":"run-me","args":["--token","${SECRET}"],"env":{"A":"${OTHER}"}}}}`
	f, err := config.Parse("/project/.mcp.json", []byte(file), config.Options{WorkDir: "/project", HomeDir: "/home"})
	if err != nil {
		t.Fatal(err)
	}
	for typed, agreed := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false, "": false} {
		clitest.Alone(t)
		a, seen := clitest.Asking(t, typed)
		err := a.Launch.Consent(t.Context(), launch.Entry{Name: "every", Definition: f.Servers[0]})
		if (err == nil) != agreed {
			t.Errorf("%q: got %v", typed, err)
		}
		for _, want := range []string{"/project/.mcp.json", "run-me", "which is not confined", "It receives: SECRET, OTHER"} {
			if !strings.Contains(seen.String(), want) {
				t.Errorf("%q is not in\n%s", want, seen)
			}
		}
	}
	a, seen := clitest.Asking(t, "")
	a.Launch.Config = []string{".mcp.json"}
	if err := a.Launch.Consent(t.Context(), launch.Entry{Name: "every", Definition: f.Servers[0]}); err != nil || seen.Len() > 0 {
		t.Errorf("a file that was named: got %v and %q", err, seen)
	}
}

func TestInputs(t *testing.T) {
	pick := []config.Option{{Label: "Development", Value: "dev"}, {Label: "Production", Value: "prod"}}
	for _, test := range []struct {
		name, typed string
		input       config.Input
		want        string // empty: an error
	}{
		{"text is taken as it is", "a b\n", config.Input{}, "a b"},
		{"Enter takes the default", "\n", config.Input{Default: "x"}, "x"},
		{"nothing is no answer", "\n", config.Input{}, ""},
		{"the end of the input is no answer", "", config.Input{Default: "x"}, ""},
		{"a password is not shown", "geheim\n", config.Input{Password: true}, "geheim"},
		{"an option has a number", "2\n", config.Input{Options: pick}, "prod"},
		{"an option has a label", "Development\n", config.Input{Options: pick}, "dev"},
		{"an option has a value", "dev\n", config.Input{Options: pick}, "dev"},
		{"a number is text where there are no options", "2\n", config.Input{}, "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, seen := clitest.Asking(t, test.typed)
			got, err := a.Launch.Input(t.Context(), test.input)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v, want %q; the person saw\n%s", got, err, test.want, seen)
			}
		})
	}
}
