package docgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatHasNoCommentIsNamed(t *testing.T) {
	directory := t.TempDir()
	source := `package a

import "example.com/mcp"

// In is asked.
type In struct {
	At struct {
		// Lat is how far north.
		Lat float64
	}
}

// Fine is found.
func Fine(ctx any, in In) (string, error) { return "", nil }

// Ping says pong.
func Ping(ctx any, in struct{}) (string, error) { return "", nil }

// Generic does anything.
func Generic[T any](ctx any, in In) (T, error) { panic("") }

func wrap(f any) any { return f }

func register(s any) {
	mcp.AddTool(s, "fine", Fine)
	mcp.AddTool(s, "ping", Ping)
	mcp.AddTool(s, "generic", Generic[string])
	mcp.AddTool(s, "wrapped", wrap(Fine))
	mcp.AddTool(s, "literal", func(ctx any, in In) (string, error) { return "", nil })
	mcp.AddToolWith(s, mcp.Tool{Name: "described", Description: "Says it."}, func(ctx any, in In) (string, error) { return "", nil })
}
`
	if err := os.WriteFile(filepath.Join(directory, "a.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Skipped(directory)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Lat in In.At", "comment of Ping", "generic function", "wrapped function", "function literal"}
	if len(got) != len(want) {
		t.Fatalf("%d: %s", len(got), strings.Join(got, "\n"))
	}
	for i, text := range want {
		if !strings.Contains(got[i], text) || !strings.Contains(got[i], "a.go:") {
			t.Errorf("%q does not say %q", got[i], text)
		}
	}
}

func TestLinksAndDeprecationsDoNotGoToTheModel(t *testing.T) {
	source, err := Generate(map[string][]byte{"a.go": []byte("package a\n\n// In is like [One], [*Two.Three] and [pkg.Four], with a[1] and []string.\n//\n// Deprecated: use Out.\ntype In struct{}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if want := "In is like One, Two.Three and pkg.Four, with a[1] and []string."; !strings.Contains(string(source), want) || strings.Contains(string(source), "Deprecated") {
		t.Errorf("generated %s", source)
	}
}
