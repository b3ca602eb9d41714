package command_test

import (
	"fmt"

	"github.com/junction-mcp/junction/mcp/command"
)

// The server gets a secret in its environment, where other users of the machine cannot see it.
// mcp.Dial(ctx, c) connects to it.
func ExampleNew() {
	c := command.New("npx", "-y", "@example/weather-server", "--units", "metric")
	c.Env = []string{"WEATHER_KEY=0123456789"}
	fmt.Println(c)
	// Output: npx -y @example/weather-server --units metric
}

// Arguments that look like secrets are not shown, in errors either.
func ExampleCommand_String() {
	fmt.Println(command.New("weather-server", "--api-key", "0123456789", "https://me:pass@example.com/feed?key=1"))
	// Output: weather-server --api-key *** https://***@example.com/feed?key=***
}
