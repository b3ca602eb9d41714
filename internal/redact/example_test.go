package redact_test

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/redact"
)

func ExampleArguments() {
	shown := redact.Arguments([]string{"--api-key", "0123456789", "-e", "GITHUB_TOKEN=0123456789", "--port=8080"})
	fmt.Println(strings.Join(shown, " "))
	// Output: --api-key *** -e GITHUB_TOKEN=*** --port=8080
}

func ExampleURL() {
	fmt.Println(redact.URL("https://me:pass@example.com/feed?key=1"))
	// Output: https://***@example.com/feed?key=***
}
